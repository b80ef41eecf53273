import type { Environment } from '../../shared/catalog/realm';
import type { ApiRequest, DocumentVersion } from '../../shared/http/route';
import { LRUCache } from '../../shared/kernel/cache';
import type { StoreId } from '../../shared/kernel/ids';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';

/** A view version whose changes can be counted. */
export interface CountedView {
  readonly reader: DocumentReader & Required<Pick<DocumentReader, 'generation'>>;
  /** Different for every opened version of every environment, and never used again. */
  readonly epoch: number;
}

/** A read that is about to be made, with the generation from before it. */
export interface Reading {
  readonly view: CountedView;
  readonly stores: readonly StoreId[];
  readonly generation: number;
}

/** What must be unchanged for an answer to be valid. */
export interface Basis {
  readonly epoch: number;
  readonly stores: readonly StoreId[];
  /** The generation of the stores at which the answer was last known to be valid. */
  readonly generation: number;
  /** Undefined if the answer was made from more than one document. */
  readonly made_from: DocumentVersion | undefined;
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
    const reader = await this.views[environment].current();
    if (!reader || !canCount(reader)) return undefined;
    const epoch = this.epochs.get(reader) ?? ++this.last_epoch;
    this.epochs.set(reader, epoch);
    return { reader, epoch };
  }

  /** Returns the basis with the current generation if the answer is valid, otherwise undefined. */
  async confirm(basis: Basis, view: CountedView): Promise<Basis | undefined> {
    if (basis.epoch !== view.epoch) return undefined;
    const generation = await view.reader.generation(basis.stores);
    if (generation === basis.generation) return basis;
    const { made_from } = basis;
    if (made_from === undefined) return undefined;
    const stored = await view.reader.get(made_from.collection, made_from.id, ['json']);
    const is_same = stored?.position === made_from.position;
    return is_same && (await this.isActive(view, made_from.store_id)) ? { ...basis, generation } : undefined;
  }

  /** Call it before the read. Returns undefined if the answer depends on no store of the principal. */
  async begin(view: CountedView, request: ApiRequest): Promise<Reading | undefined> {
    const stores = storesOf(request);
    return stores.length === 0
      ? undefined
      : { view, stores, generation: await view.reader.generation(stores) };
  }

  /**
   * Call it after the read has succeeded. Returns the basis of its answer if nothing has changed meanwhile. `made_from`: the
   * document that the answer was made from, if it was only one.
   */
  async end(
    { view, stores, generation }: Reading,
    made_from: DocumentVersion | undefined,
  ): Promise<Basis | undefined> {
    const shown = made_from ? [made_from.store_id] : stores;
    const [now, ...are_active] = await Promise.all([
      view.reader.generation(stores),
      ...shown.map((store_id) => this.isActive(view, store_id)),
    ]);
    const is_valid = now === generation && are_active.every(Boolean);
    return is_valid ? { epoch: view.epoch, stores, generation, made_from } : undefined;
  }

  /**
   * Returns whether the store is active now. A read by id uses a status that is up to a second old, but an answer stays
   * in the cache for longer.
   */
  private async isActive({ reader, epoch }: CountedView, store_id: StoreId): Promise<boolean> {
    const generation = await reader.generation([store_id]);
    const at = `${epoch}:${generation}`;
    if (this.active.get(store_id) === at) return true;
    const store = await reader.get('stores', store_id, ['json']);
    if (store?.document?.keys.status !== 'active') return false;
    if (!Number.isNaN(generation)) this.active.set(store_id, at);
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
function storesOf({ params, query, principal: { stores } }: ApiRequest): readonly StoreId[] {
  const requested = query.store_id?.[0];
  if (requested !== undefined) return stores.filter((store_id) => store_id === requested.toLowerCase());
  return params.id === undefined ? stores.slice(0, 1) : stores;
}
