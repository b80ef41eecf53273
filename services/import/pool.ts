/**
 * Runs `work` for each item, in order and at most `limit` concurrently. Concurrent writes can share a commit of the log.
 * After the first failure or an abort it starts no more items, waits for the running ones, and rethrows the failure.
 */
export async function runPool<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const item of items) {
      if (failure || signal?.aborted) break;
      const started: Promise<void> = work(item)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(started));
      running.add(started);
      if (running.size >= limit) await Promise.race(running);
    }
  } finally {
    await Promise.all(running);
  }
  if (failure) throw failure.error;
}
