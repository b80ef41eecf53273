import type { Environment } from '../../shared/catalog/realm';
import type { Principal } from '../../shared/http/request';
import { queryParameters } from '../../shared/http/validation';
import { LRUCache } from '../../shared/kernel/cache';
import type { StoreId } from '../../shared/kernel/ids';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import type { Asked, CollectionById } from './asked';

/** A view version whose changes can be counted. */
export interface CountedView {
  readonly reader: DocumentReader & Required<Pick<DocumentReader, 'generation'>>;
  /** Different for every opened version of every environment, and never used again. */
  readonly epoch: number;
}

/** The document that an answer was made from. */
export interface Source {
  readonly collection: CollectionById;
  readonly id: string;
  /** No other content of the document ever has the same position. */
  readonly position: bigint;
  readonly store_id: StoreId;
}

/** What must be unchanged for an answer to be valid. */
export interface Basis {
  readonly epoch: number;
  readonly stores: readonly StoreId[];
  /** The generation of the stores at which the answer was last known to be valid. */
  readonly generation: number;
  /** Undefined if the answer was made from more than one document. */
  readonly source: Source | undefined;
}

/** A read that is about to be made, with the generation from before it. */
export interface Reading {
  readonly view: CountedView;
  readonly asked: Asked;
  readonly stores: readonly StoreId[];
  readonly generation: number;
}

const STORES_MAX = 10_000;

/**
 * Tells whether answers are still what a read would return now (docs/decisions/0026-edge-cache.md).
 *
 * An answer is made from documents of the principal's stores. It is valid while the generation of these stores is the
 * same. If the generation has grown, an answer that was made from one document is still valid if that document has the
 * same position and its store is active.
 */
export class Validity {
  private readonly views: Readonly<Record<Environment, ActiveView>>;
  private readonly epochs = new WeakMap<DocumentReader, number>();
  private last_epoch = 0;
  /** The epoch and generation at which a store was found active. */
  private readonly active = new LRUCache<string, string>({ max: STORES_MAX });

  constructor(views: Readonly<Record<Environment, ActiveView>>) {
    this.views = views;
  }

  /** Returns the active version. Undefined if there is none, or if its store cannot count changes. */
  async currentView(environment: Environment): Promise<CountedView | undefined> {
    return this.counted(await this.views[environment].current());
  }

  /** Does the same without waiting. Also returns undefined if the active version must be read first. */
  currentViewNow(environment: Environment): CountedView | undefined {
    return this.counted(this.views[environment].peek());
  }

  private counted(reader: DocumentReader | undefined): CountedView | undefined {
    if (!reader || !canCount(reader)) return undefined;
    let epoch = this.epochs.get(reader);
    if (epoch === undefined) {
      epoch = ++this.last_epoch;
      this.epochs.set(reader, epoch);
    }
    return { reader, epoch };
  }

  /**
   * Returns the basis with the current generation if the answer is valid, otherwise undefined. Waits only if the
   * generation has grown or the store has to be asked for it.
   */
  confirm(basis: Basis, view: CountedView): Basis | undefined | Promise<Basis | undefined> {
    if (basis.epoch !== view.epoch) return undefined;
    const generation = view.reader.generation(basis.stores);
    return generation === basis.generation ? basis : this.confirmAgain(basis, view, generation);
  }

  private async confirmAgain(
    basis: Basis,
    view: CountedView,
    counting: number | Promise<number>,
  ): Promise<Basis | undefined> {
    const generation = await counting;
    if (generation === basis.generation) return basis;
    const { source } = basis;
    if (source === undefined) return undefined;
    const stored = await view.reader.get(source.collection, source.id, ['json']);
    const is_valid = stored?.position === source.position && (await this.isActive(view, source.store_id));
    return is_valid ? { ...basis, generation } : undefined;
  }

  /** Call it before the read. Returns undefined if the answer depends on no store of the principal. */
  async begin(
    view: CountedView,
    asked: Asked,
    url: string,
    principal: Principal,
  ): Promise<Reading | undefined> {
    const stores = storesOf(asked, url, principal);
    if (stores.length === 0) return undefined;
    return { view, asked, stores, generation: await view.reader.generation(stores) };
  }

  /**
   * Call it after the read has succeeded. Returns the basis of its answer if nothing has changed meanwhile. Reads the
   * generation after it has waited for the document: otherwise the position could be newer than the answer.
   */
  async end({ view, asked, stores, generation }: Reading): Promise<Basis | undefined> {
    const source = asked.document_of && (await this.sourceOf(view, asked));
    if (asked.document_of && !source) return undefined;
    for (const store_id of source ? [source.store_id] : stores)
      if (!(await this.isActive(view, store_id))) return undefined;
    const is_same = (await view.reader.generation(stores)) === generation;
    return is_same ? { epoch: view.epoch, stores, generation, source } : undefined;
  }

  private async sourceOf({ reader }: CountedView, asked: Asked): Promise<Source | undefined> {
    const { document_of: collection, id } = asked;
    if (collection === undefined || id === undefined) return undefined;
    const stored = await reader.get(collection, id, ['json']);
    const store_id = stored?.document?.keys.store_id as StoreId | undefined;
    return stored && store_id && { collection, id, position: stored.position, store_id };
  }

  /**
   * Returns whether the store is active now. The app reads by id with a status that is up to a second old, but an answer
   * stays in the cache for longer.
   */
  private async isActive({ reader, epoch }: CountedView, store_id: StoreId): Promise<boolean> {
    const generation = await reader.generation([store_id]);
    const at = `${epoch}:${generation}`;
    if (this.active.get(store_id) === at) return true;
    const store = await reader.get('stores', store_id, ['json']);
    if (store?.document?.keys.status !== 'active') return false;
    this.active.set(store_id, at);
    return true;
  }
}

function canCount(reader: DocumentReader): reader is CountedView['reader'] {
  return reader.generation !== undefined;
}

/**
 * Returns the stores whose documents the answer may contain: the one in the query, else the first of the token, else for
 * a resource by its id each store of the token.
 */
function storesOf({ id }: Asked, url: string, { stores }: Principal): readonly StoreId[] {
  const requested = queryParameters(url).store_id?.[0];
  if (requested !== undefined) return stores.filter((store_id) => store_id === requested.toLowerCase());
  return id === undefined ? stores.slice(0, 1) : stores;
}
