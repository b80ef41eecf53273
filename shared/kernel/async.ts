import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Waits for `ms` milliseconds. Resolves early when `signal` aborts; never rejects. */
export async function pause(
  ms: number,
  signal?: AbortSignal,
  /** False: the process may end while this waits. */
  { ref = true } = {},
): Promise<void> {
  await sleep(ms, undefined, { ref, signal }).catch(() => undefined);
}

/**
 * Settles as `work` does. After `timeout_ms`, or when `signal` aborts, settles with what `onTimeout` returns or throws;
 * `work` goes on and its outcome is then ignored.
 *
 * @example await withTimeout(store.check(), 1_000, () => undefined)
 */
export async function withTimeout<Result, Late>(
  work: Promise<Result>,
  timeout_ms: number,
  onTimeout: () => Late,
  signal?: AbortSignal,
): Promise<Result | Late> {
  let stop = (): void => {};
  const late = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeout_ms);
    const abort = (): void => resolve();
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', abort);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  try {
    return await Promise.race([work, late.then(onTimeout)]);
  } finally {
    stop();
  }
}

/** Returns how long to wait after so many failures in a row (1 or more): `first_ms`, doubled each time up to `max_ms`. */
export function backoff(first_ms: number, max_ms: number): (failures: number) => number {
  return (failures) => Math.min(first_ms * 2 ** (failures - 1), max_ms);
}

/** Returns a random time from half to one and a half of `ms`, so that those who collided do not collide again. */
export function withJitter(ms: number): number {
  return ms * (0.5 + Math.random());
}

/** Runs at most `at_once` pieces of work at a time. The others wait, and start in the order in which they came. */
export class Semaphore {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(at_once: number) {
    this.free = at_once;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.free === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.free--;
    try {
      return await work();
    } finally {
      // The place is handed to the next one, or given up.
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }
}

interface Batch<Item, Result> {
  readonly items: Item[];
  readonly results: Promise<readonly Result[]>;
}

/**
 * Loads together what is asked for under one key within one turn of the event loop, so that simultaneous requests cost
 * one round trip. A lone request does not wait for others.
 */
export class Batcher<Item, Result> {
  private readonly loadAll: (items: readonly Item[]) => Promise<readonly Result[]>;
  private readonly items_max: number;
  /** Batches that still take items, by key. */
  private readonly open = new Map<string, Batch<Item, Result>>();

  /** `loadAll` returns a result per item, in order. Where it rejects, so does every `load` of the batch. */
  constructor(
    loadAll: (items: readonly Item[]) => Promise<readonly Result[]>,
    items_max = Number.POSITIVE_INFINITY,
  ) {
    this.loadAll = loadAll;
    this.items_max = items_max;
  }

  async load(key: string, item: Item): Promise<Result> {
    const batch = this.open.get(key) ?? this.begin(key);
    const index = batch.items.push(item) - 1;
    if (batch.items.length === this.items_max) this.open.delete(key);
    return (await batch.results)[index]!;
  }

  private begin(key: string): Batch<Item, Result> {
    const items: Item[] = [];
    const results = nextTurn().then(() => {
      // After a full batch, the key may belong to the next one.
      if (this.open.get(key) === batch) this.open.delete(key);
      return this.loadAll(items);
    });
    const batch: Batch<Item, Result> = { items, results };
    this.open.set(key, batch);
    return batch;
  }
}
