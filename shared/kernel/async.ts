import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Waits for `ms` milliseconds. Resolves early when `signal` aborts; never rejects. */
export async function pause(
  ms: number,
  signal?: AbortSignal,
  /** `ref: false` lets the process exit during the wait. */
  { ref = true } = {},
): Promise<void> {
  await sleep(ms, undefined, { ref, signal }).catch(() => undefined);
}

/** Waits until all promises have ended. Then resolves to their values, or rejects as the first of them that has failed. */
export async function allEnded<Promises extends readonly unknown[] | []>(
  promises: Promises,
): Promise<{ -readonly [Index in keyof Promises]: Awaited<Promises[Index]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** How long large pieces of work hold one turn of the event loop, besides their last steps. */
const TURN_MS = 4;
/** When `endLongTurn` was first called in the current turn of the event loop, by `performance.now()`. */
let turn_started_ms: number | undefined;
/** The callers that wait for a turn. The caller that has waited longest is first. */
const waiting_for_turn: (() => void)[] = [];

/**
 * Lets other work of the process run if the current turn of the event loop has lasted for `TURN_MS` since the first call
 * in it. All callers share the turn: otherwise several requests, or several steps of one, would each hold it for as long.
 * Whoever waits longest continues first, so that a long search does not hold up the short ones.
 */
export async function endLongTurn(): Promise<void> {
  await longTurn();
}

/**
 * Returns undefined if the current turn is short, and otherwise the promise that `endLongTurn` waits for. Use it in
 * work that runs many times at once: with `await endLongTurn()`, all runs find a short turn before the first continues.
 *
 * @example const turn = longTurn();
 *   if (turn) await turn;
 */
export function longTurn(): Promise<void> | undefined {
  if (turn_started_ms === undefined) startTurn();
  if (performance.now() - turn_started_ms! <= TURN_MS) return undefined;
  return new Promise<void>((resolve) => waiting_for_turn.push(resolve));
}

function startTurn(): void {
  turn_started_ms = performance.now();
  setImmediate(() => {
    turn_started_ms = undefined;
    const resume = waiting_for_turn.shift();
    if (!resume) return;
    startTurn();
    resume();
  });
}

/**
 * Settles as `work` does. After `timeout_ms`, or when `signal` aborts, settles with what `onTimeout` returns or
 * throws; `work` continues, and its outcome is ignored.
 *
 * @example await withTimeout(records.check(), 1_000, () => undefined)
 */
export function withTimeout<Result, Fallback>(
  work: Promise<Result>,
  timeout_ms: number,
  onTimeout: () => Fallback,
  signal?: AbortSignal,
): Promise<Result | Fallback> {
  return withSilenceLimit(() => work, timeout_ms, onTimeout, signal);
}

/**
 * Settles as `work` does. If `work` does not call `onProgress` for `timeout_ms`, or when `signal` aborts, settles with
 * what `onTimeout` returns or throws.
 */
export async function withSilenceLimit<Result, Fallback>(
  work: (onProgress: () => void) => Promise<Result>,
  timeout_ms: number,
  onTimeout: () => Fallback,
  signal?: AbortSignal,
): Promise<Result | Fallback> {
  let onProgress = (): void => {};
  let cleanUp = (): void => {};
  let ended = false;
  const timeout = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeout_ms);
    const onAbort = (): void => resolve();
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', onAbort);
    // `refresh` would start a timer again that was cleared.
    onProgress = () => void (ended || timer.refresh());
    cleanUp = () => {
      ended = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  });
  try {
    return await Promise.race([work(onProgress), timeout.then(onTimeout)]);
  } finally {
    cleanUp();
  }
}

/**
 * Returns a function that takes the number of consecutive failures (1 or more) and returns the time to wait in
 * milliseconds: `first_ms`, doubled with each failure up to `max_ms`.
 */
export function backoff(first_ms: number, max_ms: number): (failures: number) => number {
  return (failures) => Math.min(first_ms * 2 ** (failures - 1), max_ms);
}

/**
 * Returns a random time between 0.5 and 1.5 times `ms`. If several processes failed because they wrote at the same time,
 * they then retry at different times.
 */
export function withJitter(ms: number): number {
  return ms * (0.5 + Math.random());
}

/** Runs at most `concurrency` pieces of work at the same time. The rest start in the order of the `run` calls. */
export class Semaphore {
  private free_slots: number;
  private readonly waiting: (() => void)[] = [];

  constructor(concurrency: number) {
    this.free_slots = concurrency;
  }

  /** Runs `work` as soon as a slot is free. Settles as `work` does. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.free_slots === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.free_slots--;
    try {
      return await work();
    } finally {
      // Gives the slot directly to the next waiting call. If the slot became free first, a later call could take it.
      const next = this.waiting.shift();
      if (next) next();
      else this.free_slots++;
    }
  }
}

/**
 * Shares reads of one value: one read runs at a time. Calls that arrive meanwhile wait for the next one, which all of them
 * share. They cannot use the running read, because it may not see what was written before their call.
 */
export class SharedRead<Result> {
  private running: Promise<Result> | undefined;
  private next: Promise<Result> | undefined;
  private last: { readonly result: Result; readonly began_ms: number } | undefined;

  /**
   * Returns the result of `read`, or of a read of another call that began at most `max_age_ms` ago. If the read before it
   * fails, rejects with the same error without another try, which would take as long again.
   */
  get(max_age_ms: number, read: () => Promise<Result>): Promise<Result> {
    if (this.last && performance.now() - this.last.began_ms < max_age_ms)
      return Promise.resolve(this.last.result);
    this.next ??= this.readAfter(this.running, read);
    return this.next;
  }

  private async readAfter(before: Promise<Result> | undefined, read: () => Promise<Result>): Promise<Result> {
    const failure = await before?.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    this.running = this.next;
    this.next = undefined;
    try {
      if (failure) throw failure.error;
      const began_ms = performance.now();
      const result = await read();
      this.last = { result, began_ms };
      return result;
    } finally {
      this.running = undefined;
    }
  }
}

interface Batch<Item, Result> {
  readonly items: Item[];
  readonly results: Promise<readonly Result[]>;
}

/**
 * Loads the items of one key that `load` receives within one turn of the event loop as one batch, so that simultaneous
 * requests cost one round trip. No item waits longer than that turn.
 */
export class Batcher<Item, Result> {
  /** Batches that still accept items, by key. */
  private readonly open_batches = new Map<string, Batch<Item, Result>>();

  /** `loadAll` returns one result per item, in the same order. If it rejects, every `load` of the batch rejects. */
  constructor(
    private readonly loadAll: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly items_max = Number.POSITIVE_INFINITY,
  ) {}

  /** Returns the result of `item`. Loads it with the other items of the same key. */
  async load(key: string, item: Item): Promise<Result> {
    const batch = this.open_batches.get(key) ?? this.openBatch(key);
    const index = batch.items.push(item) - 1;
    if (batch.items.length === this.items_max) this.open_batches.delete(key);
    return (await batch.results)[index]!;
  }

  private openBatch(key: string): Batch<Item, Result> {
    const items: Item[] = [];
    const results = nextTurn().then(() => {
      // If this batch became full, `open_batches` may already contain the next batch of this key.
      if (this.open_batches.get(key) === batch) this.open_batches.delete(key);
      return this.loadAll(items);
    });
    const batch: Batch<Item, Result> = { items, results };
    this.open_batches.set(key, batch);
    return batch;
  }
}

/** The size of the first page, when the size of the items is unknown. */
const FIRST_PAGE_ITEMS = 32;

/**
 * Chooses how many items a page has, so that a page has about `length_max` characters at most, and `items_max` items. A
 * page of a fixed number of large items could need more memory than the process has.
 */
export class PageSize {
  private size: number;

  constructor(private readonly limits: { readonly items_max: number; readonly length_max: number }) {
    this.size = Math.min(FIRST_PAGE_ITEMS, limits.items_max);
  }

  /** Number of items of the next page. */
  get items(): number {
    return this.size;
  }

  /** Reports the last page: its number of items, and their characters together. */
  report(items: number, length: number): void {
    if (items === 0) return;
    const { items_max, length_max } = this.limits;
    const fitting = Math.floor((length_max * items) / Math.max(1, length));
    this.size = Math.max(1, Math.min(items_max, this.size * 2, fitting));
  }
}
