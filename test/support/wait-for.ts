import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 5;

/**
 * Asks `check` until it answers with something true-ish, and gives that. Throws after `timeout_ms` (5 s by
 * default), with the last error of `check` as its cause where it threw.
 */
export async function waitFor<Result>(
  check: () => Result | Promise<Result>,
  options: { timeout_ms?: number; what?: string } = {},
): Promise<Exclude<Awaited<Result>, false | null | undefined | 0 | ''>> {
  const timeout_ms = options.timeout_ms ?? 5_000;
  const deadline_ms = Date.now() + timeout_ms;
  let last: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer) return answer as Exclude<Awaited<Result>, false | null | undefined | 0 | ''>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() >= deadline_ms) {
      throw new Error(`waited ${timeout_ms} ms in vain for ${options.what ?? 'a condition'}`, {
        cause: last,
      });
    }
    await sleep(POLL_MS);
  }
}
