import type { Environment } from '../../shared/catalog/realm';
import type { ActiveStore } from '../../shared/catalog/store/document';
import type { Answer, ApiRequest, DocumentVersion } from '../../shared/http/route';
import { LRUCache } from '../../shared/kernel/cache';
import type { StoreId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import { activeStore } from '../query/read';

/** A view version whose changes can be counted. Every opened version has a reader of its own. */
export type CountedReader = DocumentReader & Required<Pick<DocumentReader, 'generation'>>;

/** A read that is about to be made. */
export interface Reading {
  readonly reader: CountedReader;
  readonly stores: readonly StoreId[];
  /** The generation of the stores from before the read. */
  readonly generation: number;
}

type Dependencies = Pick<Answer, 'made_from' | 'as'>;

/** What must be unchanged for an answer to be valid. Its generation is the last one at which the answer was valid. */
export interface Basis extends Reading {
  /** Undefined if the answer was made from more than one document. */
  readonly made_from: DocumentVersion | undefined;
  /** The store on whose settings the answer depends. Undefined if it depends on none. */
  readonly store: ActiveStore | undefined;
}

const STORES_MAX = 10_000;

/** An active store, as it was at a generation. */
interface StoreAt extends Omit<Reading, 'stores'> {
  readonly store: ActiveStore;
}

/**
 * Tells whether answers are still what a read would return now (docs/decisions/0026-edge-cache.md).
 *
 * An answer is made from documents of the principal's stores. It is valid while the generation of these stores is the
 * same. If the generation has grown, an answer that was made from one document is still valid if that document has the
 * same position and its store is active, with the same settings.
 */
export class Validity {
  private readonly views: Readonly<Record<Environment, ActiveView>>;
  /** The reader and the generation with which a store was found active. */
  private readonly active = new LRUCache<StoreId, StoreAt>({ max: STORES_MAX });

  constructor(views: Readonly<Record<Environment, ActiveView>>) {
    this.views = views;
  }

  /** Returns the active version. Undefined if there is none, or if its store cannot count changes. */
  async currentReader(environment: Environment): Promise<CountedReader | undefined> {
    const reader = await this.views[environment].current();
    return reader && canCount(reader) ? reader : undefined;
  }

  /** Returns the basis with the current generation if the answer is valid, otherwise undefined. */
  async confirm(basis: Basis, reader: CountedReader): Promise<Basis | undefined> {
    if (basis.reader !== reader) return undefined;
    const generation = await reader.generation(basis.stores);
    if (generation === basis.generation) return basis;
    const { made_from, store } = basis;
    if (made_from === undefined) return undefined;
    const stored = await reader.get(made_from.collection, made_from.id, ['json']);
    const is_same = stored?.position === made_from.position;
    return is_same && (await this.isShown(reader, made_from.store_id, store))
      ? { ...basis, generation }
      : undefined;
  }

  /** Call it before the read. Returns undefined if the answer depends on no store of the principal. */
  async begin(reader: CountedReader, request: ApiRequest): Promise<Reading | undefined> {
    const stores = storesOf(request);
    return stores.length === 0 ? undefined : { reader, stores, generation: await reader.generation(stores) };
  }

  /**
   * Call it after the read has succeeded. Returns the basis of its answer if nothing has changed meanwhile.
   */
  async end(reading: Reading, { made_from, as }: Dependencies): Promise<Basis | undefined> {
    const { reader, stores, generation } = reading;
    const store = as?.store;
    const shown = made_from ? [made_from.store_id] : stores;
    const [now, ...are_shown] = await Promise.all([
      reader.generation(stores),
      ...shown.map((store_id) => this.isShown(reader, store_id, store)),
    ]);
    const is_valid = now === generation && are_shown.every(Boolean);
    return is_valid ? { ...reading, made_from, store } : undefined;
  }

  /**
   * Returns whether the store is active now, and has the settings on which an answer depends. A read uses a status and
   * settings that are up to a second old, but an answer stays in the cache for longer.
   */
  private async isShown(
    reader: CountedReader,
    store_id: StoreId,
    shown: ActiveStore | undefined,
  ): Promise<boolean> {
    const store = await this.storeAt(reader, store_id);
    return store !== undefined && (shown?.id !== store_id || isSameValue(store, shown));
  }

  private async storeAt(reader: CountedReader, store_id: StoreId): Promise<ActiveStore | undefined> {
    const generation = await reader.generation([store_id]);
    const known = this.active.get(store_id);
    if (known?.reader === reader && known.generation === generation) return known.store;
    const store = await activeStore(reader, store_id);
    if (!store) return undefined;
    this.active.set(store_id, { reader, generation, store });
    return store;
  }
}

function canCount(reader: DocumentReader): reader is CountedReader {
  return reader.generation !== undefined;
}

/**
 * Returns the stores whose documents the answer may contain: the store in the query. Without it, the token's first store,
 * or for a resource by its id each store of the token.
 */
function storesOf({ params, query, principal: { stores } }: ApiRequest): readonly StoreId[] {
  const requested = query.store_id?.[0];
  if (requested !== undefined) return stores.filter((store_id) => store_id === requested.toLowerCase());
  return params.id === undefined ? stores.slice(0, 1) : stores;
}
