interface Entry<Value> {
  readonly loading: Promise<Value | undefined>;
  readonly read_at_ms: number;
}

/**
 * What was read lately, for at most `ttl_ms` from the start of the read, so that it is never older than that. Reads of
 * one key at one time are one read. What is not there and what failed is asked for again; the oldest of more than
 * `entries_max` are forgotten.
 */
export class ShortCache<Value> {
  private readonly options: {
    readonly ttl_ms: number;
    readonly entries_max: number;
    readonly now: () => number;
    readonly load: (key: string) => Promise<Value | undefined>;
    readonly onLookup?: ((hit: boolean) => void) | undefined;
  };
  private readonly entries = new Map<string, Entry<Value>>();

  constructor(options: ShortCache<Value>['options']) {
    this.options = options;
  }

  async get(key: string): Promise<Value | undefined> {
    const now_ms = this.options.now();
    const known = this.entries.get(key);
    const age_ms = known === undefined ? Number.NaN : now_ms - known.read_at_ms;
    // A clock that was set back makes an age negative: then the entry is not believed either.
    const hit = known !== undefined && age_ms >= 0 && age_ms < this.options.ttl_ms;
    this.options.onLookup?.(hit);
    return hit ? known.loading : this.load(key, now_ms);
  }

  private load(key: string, now_ms: number): Promise<Value | undefined> {
    const entry: Entry<Value> = { loading: this.options.load(key), read_at_ms: now_ms };
    this.entries.delete(key);
    this.entries.set(key, entry);
    if (this.entries.size > this.options.entries_max) this.forget(this.entries.keys().next().value!);
    const forgetThis = (): void => {
      if (this.entries.get(key) === entry) this.forget(key);
    };
    entry.loading.then((value) => {
      if (value === undefined) forgetThis();
    }, forgetThis);
    return entry.loading;
  }

  private forget(key: string): void {
    this.entries.delete(key);
  }
}
