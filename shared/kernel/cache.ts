import { LRUCache } from 'lru-cache';

/** A map that evicts the least recently used entries above `max`. */
export { LRUCache };

interface Entry<Value> {
  readonly loading: Promise<Value | undefined>;
  readonly read_at_ms: number;
}

/**
 * Caches reads for `ttl_ms`, measured from when the read started, so that a value is never older than that.
 * Concurrent reads of a key share one load. Does not cache failures or undefined. Evicts the least recently used
 * entries above `entries_max`.
 */
export class TtlCache<Value> {
  private readonly options: {
    readonly ttl_ms: number;
    readonly entries_max: number;
    /** Unix milliseconds. */
    readonly now: () => number;
    readonly load: (key: string) => Promise<Value | undefined>;
    /** Called for each look-up, for metrics. `hit` is true if the value was cached. */
    readonly onLookup?: ((hit: boolean) => void) | undefined;
  };
  private readonly entries: LRUCache<string, Entry<Value>>;

  constructor(options: TtlCache<Value>['options']) {
    this.options = options;
    this.entries = new LRUCache({ max: options.entries_max });
  }

  /** Returns the cached value of `key`, or loads it. */
  get(key: string): Promise<Value | undefined> {
    const { now, load, onLookup } = this.options;
    const now_ms = now();
    const cached = this.entries.get(key);
    const age_ms = cached === undefined ? Number.NaN : now_ms - cached.read_at_ms;
    // If the clock was set back, the age is negative and the real age of the entry is unknown. So it is loaded again.
    const is_fresh = age_ms >= 0 && age_ms < this.options.ttl_ms;
    onLookup?.(is_fresh);
    if (cached && is_fresh) return cached.loading;
    const entry: Entry<Value> = { loading: load(key), read_at_ms: now_ms };
    this.entries.set(key, entry);
    const evict = (): void => {
      if (this.entries.peek(key) === entry) this.entries.delete(key);
    };
    entry.loading.then((value) => value === undefined && evict(), evict);
    return entry.loading;
  }

  /** The next `get` of `key` loads its value. */
  delete(key: string): void {
    this.entries.delete(key);
  }
}
