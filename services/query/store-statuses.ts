import type { CacheObserver } from '../../shared/http/metrics';
import { LRUCache } from '../../shared/kernel/cache';
import type { DocumentReader } from '../../shared/ports/document-reader';

const REMEMBERED_MS = 1_000;
const STORES_REMEMBERED_MAX = 10_000;

/**
 * Which stores are active, at most a second old, for reads by id, which need nothing else of the store.
 * Only "active" is remembered: a store that opens is open at once.
 */
export class StoreStatuses {
  private readonly now: () => number;
  private readonly onCache: CacheObserver | undefined;
  private readonly active_until_ms = new LRUCache<string, number>({ max: STORES_REMEMBERED_MAX });

  /** `now`: Unix milliseconds. */
  constructor(now: () => number, onCache?: CacheObserver) {
    this.now = now;
    this.onCache = onCache;
  }

  /** `fresh` asks the document in any case. False where there is no such store. */
  async isActive(version: DocumentReader, store_id: string, fresh = false): Promise<boolean> {
    const known = !fresh && (this.active_until_ms.get(store_id) ?? 0) > this.now();
    this.onCache?.('read_store', known);
    if (known) return true;
    const looked_at_ms = this.now();
    const store = await version.get('stores', store_id);
    const active = store?.document?.keys.status === 'active';
    if (active) this.active_until_ms.set(store_id, looked_at_ms + REMEMBERED_MS);
    else this.active_until_ms.delete(store_id);
    return active;
  }
}
