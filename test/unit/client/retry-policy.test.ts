import { CatalogConnectionError } from '../../../shared/client';
import type { HttpResponse, Outcome } from '../../../shared/client/exchange';
import { withRetries } from '../../../shared/client/retry-policy';
import { HandClock } from '../../support/hand-clock';

const LOST: Outcome = { lost: new CatalogConnectionError('connection closed') };
const OK = answer(200);

function answer(status: number, headers: Record<string, string> = {}, code?: string): HttpResponse {
  const body = code === undefined ? undefined : { code: status, status: 'error', error: { code } };
  return { status, headers: new Headers(headers), body };
}

/** Runs `withRetries` with attempts that have these outcomes in turn. All later attempts have the last outcome. */
async function run(outcomes: readonly Outcome[], settings: { retries?: number; total_ms?: number } = {}) {
  const clock = new HandClock(1_000_000);
  let sent = 0;
  const attempt = async (): Promise<Outcome> => outcomes[Math.min(sent++, outcomes.length - 1)]!;
  const policy = { clock, random: () => 0.5, retries: 4, total_ms: 60_000, ...settings };
  const outcome = await withRetries(attempt, policy);
  return { outcome, sent, waits_ms: clock.waits_ms };
}

describe('outcomes that are final', () => {
  test.each([200, 201, 304, 400, 401, 403, 404, 409, 412, 413])('%i is not retried', async (status) => {
    const { outcome, sent } = await run([answer(status)]);
    expect([outcome, sent]).toEqual([answer(status), 1]);
  });
});

describe('outcomes that are retried', () => {
  test.each([
    ['a lost response', LOST],
    ['500', answer(500)],
    ['502 of a gateway', answer(502)],
    ['503', answer(503)],
  ])('%s is retried after waits that double, at most `retries` times', async (_name, failure) => {
    expect(await run([failure, failure, OK])).toEqual({ outcome: OK, sent: 3, waits_ms: [187.5, 375] });
    expect(await run([failure])).toEqual({ outcome: failure, sent: 5, waits_ms: [187.5, 375, 750, 1_500] });
    expect(await run([failure], { retries: 0 })).toMatchObject({ sent: 1, waits_ms: [] });
  });

  test('a 503 is not retried before its Retry-After', async () => {
    const { waits_ms } = await run([answer(503, { 'retry-after': '2' }), OK]);
    expect(waits_ms).toEqual([2_062.5]);
  });

  test('a 429 is retried until total_ms is used up, independently of `retries`', async () => {
    const refused = answer(429, { 'retry-after': '2' });
    const no_retries = await run([refused, refused, refused, OK], { retries: 0 });
    expect(no_retries).toEqual({ outcome: OK, sent: 4, waits_ms: [2_125, 2_125, 2_125] });
    const short_total = await run([refused], { total_ms: 5_000 });
    expect(short_total).toEqual({ outcome: refused, sent: 3, waits_ms: [2_125, 2_125] });
  });

  test('a 429 without Retry-After is retried at X-RateLimit-Reset', async () => {
    const refused = answer(429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1003' });
    expect((await run([refused, OK])).waits_ms).toEqual([3_125]);
  });

  test('a write is retried while an earlier request with its idempotency key is still running', async () => {
    const locked = answer(409, { 'retry-after': '1' }, 'RESOURCE_LOCKED');
    expect(await run([LOST, locked, OK])).toEqual({ outcome: OK, sent: 3, waits_ms: [187.5, 1_125] });
  });
});

test('a lost response that is final is not retried', async () => {
  const final = { ...LOST, is_final: true } as const;
  expect(await run([final])).toEqual({ outcome: final, sent: 1, waits_ms: [] });
});

test('a Retry-After longer than total_ms is not waited for', async () => {
  const refused = answer(429, { 'retry-after': '86400' });
  expect(await run([refused])).toEqual({ outcome: refused, sent: 1, waits_ms: [] });
});
