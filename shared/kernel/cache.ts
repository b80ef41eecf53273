import { LRUCache } from 'lru-cache';

/** A map that evicts the least recently used entries above `max`. */
export { LRUCache };

interface Entry<Value> {
  readonly loading: Promise<Value | undefined>;
  readonly read_at_ms: number;
}

/**
 * Caches reads for `ttl_ms`, measured from when the read started, so that a value is never older than that. Concurrent
 * reads of a key share one load. Failures and undefined are not kept. Evicts the least recently used of more than
 * `entries_max`.
 */
export class TtlCache<Value> {
  private readonly options: {
    readonly ttl_ms: number;
    readonly entries_max: number;
    /** Unix milliseconds. */
    readonly now: () => number;
    readonly load: (key: string) => Promise<Value | undefined>;
    readonly onLookup?: ((hit: boolean) => void) | undefined;
  };
  private readonly entries: LRUCache<string, Entry<Value>>;

  constructor(options: TtlCache<Value>['options']) {
    this.options = options;
    this.entries = new LRUCache({ max: options.entries_max });
  }

  async get(key: string): Promise<Value | undefined> {
    const now_ms = this.options.now();
    const known = this.entries.get(key);
    const age_ms = known === undefined ? Number.NaN : now_ms - known.read_at_ms;
    // The age is negative where the clock was set back: the entry's real age is then unknown.
    const hit = known !== undefined && age_ms >= 0 && age_ms < this.options.ttl_ms;
    this.options.onLookup?.(hit);
    return hit ? known.loading : this.load(key, now_ms);
  }

  private load(key: string, now_ms: number): Promise<Value | undefined> {
    const entry: Entry<Value> = { loading: this.options.load(key), read_at_ms: now_ms };
    this.entries.set(key, entry);
    const evict = (): void => {
      if (this.entries.peek(key) === entry) this.entries.delete(key);
    };
    entry.loading.then((value) => {
      if (value === undefined) evict();
    }, evict);
    return entry.loading;
  }
}
