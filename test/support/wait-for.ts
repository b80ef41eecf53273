import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 5;
/** Reached only where something is broken: the busiest machine is not to reach it. */
const LIMIT_MS = 120_000;

/**
 * Five times what is promised (5 s until a caller is told that a server is away or silent): a call that hangs is found,
 * and a busy machine is not taken for one. What is promised is measured by `npm run bench` and by hand.
 */
export const TOLD_MS_MAX = 25_000;
/** Ten times what is promised (2 s until all is as before after a server's return), for the same reason. */
export const BACK_MS_MAX = 20_000;

/**
 * Asks `check` until it answers with something true-ish, and gives that. Throws after `timeout_ms` (two minutes by
 * default), with the last error of `check` as its cause where it threw.
 */
export async function waitFor<Result>(
  check: () => Result | Promise<Result>,
  options: { timeout_ms?: number; what?: string } = {},
): Promise<Exclude<Awaited<Result>, false | null | undefined | 0 | ''>> {
  const timeout_ms = options.timeout_ms ?? LIMIT_MS;
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
