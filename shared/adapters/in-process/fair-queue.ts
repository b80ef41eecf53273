interface Owner<Item> {
  /** Virtual time at which the owner's next item may start, in milliseconds. */
  start_ms: number;
  readonly items: Map<string, Item>;
}

/**
 * Items that wait, in a fair order over their owners: each owner with waiting items gets the same share of the
 * processing time, however many items it has and however long each takes (start-time fair queueing, Goyal et al. 1996).
 * The items of one owner keep their order.
 *
 * An owner's next item starts when its earlier items would have ended if the owner had had its share of the time. `take`
 * returns the item with the earliest start.
 */
export class FairQueue<Item> {
  private readonly owners = new Map<string, Owner<Item>>();
  /** Start of the item that was taken last. An owner does not save up time while it has no waiting items. */
  private now_ms = 0;
  private processing = 0;
  private waiting = 0;

  constructor(private readonly size_max: number) {}

  /**
   * Adds an item, unless one with this key waits. If the queue is full, drops the newest item of the owner with the most
   * items, which may be this one.
   */
  add(owner_key: string, key: string, item: Item): void {
    const owner = this.owners.get(owner_key) ?? { start_ms: this.now_ms, items: new Map<string, Item>() };
    if (owner.items.has(key)) return;
    this.owners.set(owner_key, owner);
    owner.start_ms = Math.max(owner.start_ms, this.now_ms);
    owner.items.set(key, item);
    this.waiting++;
    if (this.waiting > this.size_max) this.dropNewest();
  }

  has(owner_key: string, key: string): boolean {
    return this.owners.get(owner_key)?.items.has(key) ?? false;
  }

  /** Removes and returns the next item. Call `end` when it has been processed. */
  take(): Item | undefined {
    let next: [string, Owner<Item>] | undefined;
    for (const entry of this.owners)
      if (entry[1].items.size > 0 && (!next || entry[1].start_ms < next[1].start_ms)) next = entry;
    if (!next) return undefined;
    const [owner_key, owner] = next;
    const [key, item] = owner.items.entries().next().value!;
    owner.items.delete(key);
    this.waiting--;
    this.processing++;
    this.now_ms = owner.start_ms;
    // Moves the owner to the end. `take` then prefers, among owners with the same start, the one that waited longest.
    this.owners.delete(owner_key);
    this.owners.set(owner_key, owner);
    return item;
  }

  /** Records how long an item was processed. */
  end(owner_key: string, duration_ms: number): void {
    this.processing--;
    const owner = this.owners.get(owner_key);
    if (owner) owner.start_ms += duration_ms;
    const is_idle = this.waiting === 0 && this.processing === 0;
    for (const [key, { items, start_ms }] of this.owners)
      if (items.size === 0 && (is_idle || start_ms <= this.now_ms)) this.owners.delete(key);
  }

  clear(): void {
    for (const { items } of this.owners.values()) items.clear();
    this.waiting = 0;
  }

  private dropNewest(): void {
    const [largest] = [...this.owners.values()].sort((a, b) => b.items.size - a.items.size);
    if (largest?.items.delete([...largest.items.keys()].at(-1)!)) this.waiting--;
  }
}
