import { endLongTurn } from '../../shared/kernel/async';

/**
 * Runs `work` for each item, in order and at most `concurrency` at the same time. Concurrent writes can share a commit of
 * the log. Between items, other work of the process can run (`endLongTurn`). After the first failure or an abort it starts
 * no more items, waits for the running ones, and rethrows the failure.
 */
export async function runPool<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  let running = 0;
  let onEnd = (): void => {};
  const nextEnd = (): Promise<void> =>
    new Promise((resolve) => {
      onEnd = resolve;
    });
  const start = async (item: Item): Promise<void> => {
    running++;
    try {
      await work(item);
    } catch (error) {
      failure ??= { error };
    }
    running--;
    onEnd();
  };
  try {
    for await (const item of items) {
      while (running >= concurrency) await nextEnd();
      await endLongTurn();
      if (failure || signal?.aborted) break;
      void start(item);
    }
  } finally {
    while (running > 0) await nextEnd();
  }
  if (failure) throw failure.error;
}
