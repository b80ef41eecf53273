import { startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const here = ownShop({ environment: { CONSOLE: 'on' } });
const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

/** Moves the clock by which requests measure their time. */
let late_ms = 0;
beforeEach(() => {
  late_ms = 0;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + late_ms);
});
afterEach(() => jest.restoreAllMocks());

describe('a batch that takes too long', () => {
  const items = Array.from({ length: 70 }, (_, n) => ({
    action: 'put',
    external_id: `erp-${n}`,
    body: { ...TEA, title: `Tea ${n}` },
  }));
  const live = () => here.harness.service.runtime.events.live;
  /** Less than the time for the answer, and more than the time in which items may begin. */
  const LATE_MS = 4_000;

  test('writes nothing if its items cannot be checked in time', async () => {
    const readStream = live().readStream.bind(live());
    jest.spyOn(live(), 'readStream').mockImplementation((...args) => {
      late_ms = LATE_MS;
      return readStream(...args);
    });
    const append = jest.spyOn(live(), 'append');
    const reply = await here.send('POST', '/api/publications/batch', { body: { items } });
    expectError(reply, 413, 'LIMIT_EXCEEDED');
    expect(reply.body.error.message).toMatch(/smaller batches/);
    expect(append).not.toHaveBeenCalled();
  });

  test('answers with the items that were written, and with those to send again', async () => {
    const append = live().append.bind(live());
    jest.spyOn(live(), 'append').mockImplementation((...args) => {
      late_ms = LATE_MS;
      return append(...args);
    });
    const path = '/api/publications/batch?on_error=skip_failed';
    const reply = await here.send('POST', path, { body: { items } });
    const { created, failed, items: results } = reply.body.data;
    expect([reply.status, created + failed]).toEqual([200, items.length]);
    expect([created, failed]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(Math.min(created, failed)).toBeGreaterThan(0);
    const left = results.filter(({ error }: { error?: { code: string } }) => error);
    expect(new Set(left.map(({ error }: { error: { code: string } }) => error.code))).toEqual(
      new Set(['LIMIT_EXCEEDED']),
    );
    await here.harness.settled();
    const list = await here.send('GET', '/api/publications?limit=1');
    expect(list.body.meta.pagination.total_items).toBe(created);
  });
});

describe('an export', () => {
  test('is refused while two of the key run, and says when to try again', async () => {
    await here.send('POST', '/api/listing', { body: { name: 'Teas' } });
    await here.send('POST', '/api/publication', { body: TEA });
    const { views } = here.harness.service.runtime;
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const current = views.live.current.bind(views.live);
    jest.spyOn(views.live, 'current').mockImplementation(async () => {
      const version = (await current())!;
      return Object.assign(Object.create(version), {
        find: async (...query: Parameters<typeof version.find>) => {
          await released;
          return version.find(...query);
        },
      });
    });
    const headers = { authorization: `Bearer ${here.shop.secret.token}` };
    const ask = () => fetch(`${here.harness.url}/api/export`, { headers });
    // The listing is sent before the publications are read.
    const running = [await ask(), await ask()];
    const refused = await here.send('GET', '/api/export');
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED');
    expect(refused.headers.get('retry-after')).toBe('5');
    release();
    for (const answer of running) expect(await answer.text()).toContain('"title":"Tea"');
    await waitFor(async () => (await here.send('GET', '/api/export')).status === 200);
  });

  test('counts as a request for 50 publications, and a listing as it was as one for each publication', async () => {
    const per_day = 500;
    const limited = await startHarness({
      environment: { RATE_LIMIT_SECRET: `100000/${per_day}/100000` },
    });
    try {
      const { secret } = await limited.newShop();
      let id = '';
      const remaining = async (method: string, path: string, body?: object) => {
        const reply = await limited.request(method, path, { token: secret.token, ...(body && { body }) });
        expect([200, 201]).toContain(reply.status);
        id = reply.body.data?.id;
        return Number(reply.headers.get('x-ratelimit-remaining'));
      };
      const items = Array.from({ length: 51 }, (_, n) => ({
        action: 'create',
        body: { ...TEA, title: `Tea ${n}` },
      }));
      expect(await remaining('POST', '/api/publications/batch', { items })).toBe(per_day - 51);
      expect(await remaining('GET', '/api/export')).toBe(per_day - 53);
      await remaining('POST', '/api/listing', { name: 'Teas' });
      const listing_id = id;
      const listed = Array.from({ length: 5 }, (_, n) => ({
        action: 'create',
        body: { ...TEA, title: `Mate ${n}`, listing_id },
      }));
      const before = await remaining('POST', '/api/publications/batch', { items: listed });
      const path = `/api/listing/${listing_id}/publications?as_of=${new Date().toISOString()}`;
      expect(await remaining('GET', path)).toBe(before - 5);
    } finally {
      await limited.close();
    }
  });
});
