import { fetch } from '../support/fetch';
import { type Harness, type RequestOptions, startHarness } from '../support/harness';
import { preload } from '../support/preload';
import { endAll, startProcess } from '../support/processes';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ is_own: true });
});
afterAll(async () => {
  endAll();
  await harness?.close();
});

test('a write whose process is killed before its result is stored is done once, when it is confirmed again', async () => {
  const { token } = (await harness.newShop()).secret;
  const send = (method: string, path: string, options: RequestOptions = {}) =>
    harness.request(method, path, { token, ...options });
  const key = { name: 'Assistant', type: 'secret', needs_confirmation: true };
  const assistant = await harness.token((await send('POST', '/api/key', { body: key })).body.data.secret);
  const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1_000 };
  const { id } = (await send('POST', '/api/publication', { token: assistant, body: tea })).body.data;

  const dying = await startProcess('services/boot/main.js command', {
    ...harness.settings,
    LOG_LEVEL: 'info',
    NODE_OPTIONS: preload('die-after-append'),
    DIE_AFTER_APPEND_OF: `proposal-${id}`,
  });
  const headers = { authorization: `Bearer ${token}` };
  const lost = fetch(`${dying.url}/api/proposal/${id}/confirm`, { method: 'POST', headers });
  await expect(lost).rejects.toThrow();
  await harness.settled();
  const interrupted = (await send('GET', `/api/proposal/${id}`)).body.data;
  expect([interrupted.status, interrupted.result]).toEqual(['confirmed', undefined]);
  expect((await send('POST', `/api/proposal/${id}/reject`)).status).toBe(409);
  const [done] = (await send('GET', '/api/publications')).body.data;
  await send('PATCH', `/api/publication/${done.id}`, { body: { title: 'Black tea' } });

  const { result } = (await send('POST', `/api/proposal/${id}/confirm`)).body.data;
  expect(result).toMatchObject({ status: 201, data: { id: done.id, title: 'Tea' } });
  const { data } = (await send('GET', '/api/publications')).body;
  expect(data.map(({ title }: { title: string }) => title)).toEqual(['Black tea']);
});
