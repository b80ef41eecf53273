import { TtlCache } from '../kernel/cache';
import { ACTIVE_TTL_MS, type ActiveView, type DocumentReader } from '../ports/document-reader';
import type { ViewStore } from '../ports/view-store';

/** Caches the active version for half a second, so that a read does not look it up each time. */
export class CachedActiveView implements ActiveView {
  private readonly store: ViewStore;
  private readonly cache: TtlCache<DocumentReader>;

  constructor(store: ViewStore, now: () => number = Date.now) {
    this.store = store;
    this.cache = new TtlCache({ ttl_ms: ACTIVE_TTL_MS, entries_max: 1, now, load: () => this.load() });
  }

  get partition_count(): number {
    return this.store.partition_count;
  }

  current(): Promise<DocumentReader | undefined> {
    return this.cache.get('active');
  }

  /** The cast is safe: the store returns documents exactly as the projection wrote them. */
  private async load(): Promise<DocumentReader | undefined> {
    const active = (await this.store.versions()).find(({ status }) => status === 'active');
    return active && ((await this.store.open(active.version)) as unknown as DocumentReader);
  }
}
