import { CatalogConnectionError } from '../../../shared/client';
import type { Answer, Outcome } from '../../../shared/client/exchange';
import { patiently } from '../../../shared/client/patience';
import { HandClock } from '../../support/hand-clock';

const LOST: Outcome = { lost: new CatalogConnectionError('cut') };
const OK = answer(200);

function answer(status: number, headers: Record<string, string> = {}, code?: string): Answer {
  const body = code === undefined ? undefined : { code: status, status: 'error', error: { code } };
  return { status, headers: new Headers(headers), body };
}

/** What `patiently` gives for these outcomes, the last of which goes on for ever. */
async function run(outcomes: readonly Outcome[], settings: { retries?: number; total_ms?: number } = {}) {
  const clock = new HandClock(1_000_000);
  let sent = 0;
  const attempt = async (): Promise<Outcome> => outcomes[Math.min(sent++, outcomes.length - 1)]!;
  const patience = { clock, random: () => 0.5, retries: 4, total_ms: 60_000, ...settings };
  const outcome = await patiently(attempt, patience);
  return { outcome, sent, waits_ms: clock.waits_ms };
}

describe('what stands at once', () => {
  test.each([200, 201, 304, 400, 401, 403, 404, 409, 412, 413])('%i', async (status) => {
    const { outcome, sent } = await run([answer(status)]);
    expect([outcome, sent]).toEqual([answer(status), 1]);
  });
});

describe('what is sent again', () => {
  test.each([
    ['no answer', LOST],
    ['500', answer(500)],
    ['502 of a gateway', answer(502)],
    ['503', answer(503)],
  ])('%s, after waits that double, and at most as often as there are retries', async (_what, failure) => {
    expect(await run([failure, failure, OK])).toEqual({ outcome: OK, sent: 3, waits_ms: [187.5, 375] });
    expect(await run([failure])).toEqual({ outcome: failure, sent: 5, waits_ms: [187.5, 375, 750, 1_500] });
    expect(await run([failure], { retries: 0 })).toMatchObject({ sent: 1, waits_ms: [] });
  });

  test('a 503 no sooner than it asks for', async () => {
    const { waits_ms } = await run([answer(503, { 'retry-after': '2' }), OK]);
    expect(waits_ms).toEqual([2_062.5]);
  });

  test('a 429, as often as the patience lasts, whatever the retries', async () => {
    const refused = answer(429, { 'retry-after': '2' });
    const patient = await run([refused, refused, refused, OK], { retries: 0 });
    expect(patient).toEqual({ outcome: OK, sent: 4, waits_ms: [2_125, 2_125, 2_125] });
    const hurried = await run([refused], { total_ms: 5_000 });
    expect(hurried).toEqual({ outcome: refused, sent: 3, waits_ms: [2_125, 2_125] });
  });

  test('a 429 without Retry-After, when its window ends', async () => {
    const refused = answer(429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1003' });
    expect((await run([refused, OK])).waits_ms).toEqual([3_125]);
  });

  test('a write whose first request still runs', async () => {
    const locked = answer(409, { 'retry-after': '1' }, 'RESOURCE_LOCKED');
    expect(await run([LOST, locked, OK])).toEqual({ outcome: OK, sent: 3, waits_ms: [187.5, 1_125] });
  });
});

test('what asks for more than the patience is not waited for at all', async () => {
  const refused = answer(429, { 'retry-after': '86400' });
  expect(await run([refused])).toEqual({ outcome: refused, sent: 1, waits_ms: [] });
});
