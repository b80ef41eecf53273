/** A map of at most `entries_max`: what was neither asked for nor put in for longest is forgotten. */
export class LruMap<Key, Value extends NonNullable<unknown> | null> {
  private readonly entries_max: number;
  /** In the order of last use. */
  private readonly entries = new Map<Key, Value>();

  constructor(entries_max: number) {
    this.entries_max = entries_max;
  }

  get(key: Key): Value | undefined {
    const known = this.entries.get(key);
    if (known === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, known);
    return known;
  }

  set(key: Key, value: Value): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size > this.entries_max) this.entries.delete(this.entries.keys().next().value as Key);
  }

  clear(): void {
    this.entries.clear();
  }
}
