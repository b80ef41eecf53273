/** Limits of what `runPool` works on at the same time. A single item may be longer than `length_max`. */
export interface PoolLimits<Item> {
  readonly items_max: number;
  /** Default: no limit. */
  readonly length_max?: number;
  /** Returns the length of an item, in the unit of `length_max`. */
  readonly lengthOf?: (item: Item) => number;
}

/**
 * Runs `work` for each item, in order and within `limits` concurrently. Concurrent writes can share a commit of the log.
 * After the first failure or an abort it starts no more items, waits for the running ones, and rethrows the failure.
 */
export async function runPool<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  { items_max, length_max = Number.POSITIVE_INFINITY, lengthOf = () => 0 }: PoolLimits<Item>,
  work: (item: Item) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  let [running, running_length] = [0, 0];
  let onEnd = (): void => {};
  const nextEnd = (): Promise<void> =>
    new Promise((resolve) => {
      onEnd = resolve;
    });
  const start = async (item: Item, length: number): Promise<void> => {
    running++;
    running_length += length;
    try {
      await work(item);
    } catch (error) {
      failure ??= { error };
    }
    running--;
    running_length -= length;
    onEnd();
  };
  try {
    for await (const item of items) {
      const length = lengthOf(item);
      while (running >= items_max || (running > 0 && running_length + length > length_max)) await nextEnd();
      if (failure || signal?.aborted) break;
      void start(item, length);
    }
  } finally {
    while (running > 0) await nextEnd();
  }
  if (failure) throw failure.error;
}
