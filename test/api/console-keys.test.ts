import { createApiKey } from '../../services/command/api-key';
import { ConsoleVisitor } from '../support/console';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

let harness: Harness;
let shop: Shop;
let merchant: ConsoleVisitor;

beforeAll(async () => {
  harness = await startHarness({ environment: { CONSOLE: 'on' } });
});
afterAll(() => harness?.close());
beforeEach(async () => {
  shop = await harness.newShop();
  merchant = new ConsoleVisitor(harness);
  await merchant.signIn(shop.secret.key);
});

/** The key that a page shows once. */
const keyIn = (html: string): string => /<code>([sp]k_live_[\w-]+)<\/code>/.exec(html)![1]!;
/** The path of the form that changes the key of this name. */
const pathOf = (html: string, name: string): string =>
  new RegExp(`<td>${name}</td>.*?/console(/key/[^"]+)`).exec(html)![1]!;
const mayRead = async (key: string): Promise<boolean> =>
  (await harness.request('POST', '/auth/token', { headers: { 'x-api-key': key } })).status === 200;

test('a merchant makes a key, replaces it, and revokes the new one', async () => {
  const made = await merchant.open('/keys', { form: { name: 'App', type: 'public' } });
  const key = keyIn(made.html);
  expect(key).toMatch(/^pk_live_/);
  expect(await mayRead(key)).toBe(true);
  const { html } = await merchant.open('/keys');
  expect(html).toMatch(new RegExp(`<td>App</td><td>public …${key.slice(-4)}</td><td>active`));
  expect(html).not.toContain(key);

  const asked = await merchant.open(pathOf(html, 'App'), { form: { action: 'rotate' } });
  expect(asked.html).toContain('Replace App?');
  const confirmed = /name="confirmed" value="([^"]+)"/.exec(asked.html)![1]!;
  const replace = () => merchant.open(pathOf(html, 'App'), { form: { action: 'rotate', confirmed } });
  const replaced = await replace();
  const next = keyIn(replaced.html);
  expect(next).not.toBe(key);
  expect([await mayRead(key), await mayRead(next)]).toEqual([true, true]);
  // A reload sends the form again.
  expect((await replace()).html).toContain('Replace App?');
  // Of the two keys with this name, the page has the older one first.
  const newer = replaced.html.slice(replaced.html.lastIndexOf('<td>App</td>'));
  const path = pathOf(newer, 'App');
  expect((await merchant.open(path, { form: { action: 'revoke' } })).html).toContain('cannot be undone');
  expect(await mayRead(next)).toBe(true);
  const revoked = await merchant.open(path, { form: { action: 'revoke', confirmed: 'never' } });
  expect(revoked.location).toContain('Revoked+App');
  await waitFor(async () => !(await mayRead(next)), { what: 'the refusal of the revoked key' });
  expect(await mayRead(key)).toBe(true);
  expect((await merchant.open(path, { form: { action: 'rotate' } })).location).toContain('does+not+work');
});

test('a key with an expiry or limits of its own manages none; a session does not revoke its own key', async () => {
  const revoked = await merchant.open(`/key/${shop.secret.id}`, {
    form: { action: 'revoke', confirmed: 'never' },
  });
  expect(revoked.location).toContain('key+of+your+session');
  const grants = { account_id: harness.account_id, name: 'Contractor', type: 'secret' as const };
  const expires_at = '2100-01-01T00:00:00.000Z';
  const limits = { per_minute: 10, per_day: 100, burst: 10 };
  for (const [request_id, restriction] of Object.entries({ expiry: { expires_at }, limits: { limits } })) {
    const input = { ...grants, ...restriction, stores: [shop.store_id] };
    const { key } = await createApiKey(harness.deps, { source: 'cli', request_id }, input);
    await harness.settled();
    const contractor = new ConsoleVisitor(harness);
    await contractor.signIn(key);
    expect((await contractor.open('/keys', { form: { name: 'More', type: 'secret' } })).status).toBe(403);
  }
  // A key that is replaced keeps its expiry.
  const path = pathOf((await merchant.open('/keys')).html, 'Contractor');
  await merchant.open(path, { form: { action: 'rotate', confirmed: expires_at } });
  const { html } = await merchant.open('/keys');
  expect(html.match(/2100-01-01/g)).toHaveLength(1);
});

test('a name that is missing is refused with the reason', async () => {
  const { status, html } = await merchant.open('/keys', { form: { name: ' ', type: 'secret' } });
  expect([status, html]).toEqual([422, expect.stringContaining('name')]);
});

test('a key without all permissions manages none, and none reaches those of another store', async () => {
  const limited = await harness.newKey('secret', [shop.store_id], ['read:stores', 'write:publications']);
  const employee = new ConsoleVisitor(harness);
  await employee.signIn(limited.key);
  for (const form of [undefined, { name: 'More', type: 'secret' }]) {
    const { status, html } = await employee.open('/keys', form && { form });
    expect([status, html]).toEqual([403, expect.stringContaining('has all permissions')]);
  }
  const other = await harness.newShop();
  const path = `/key/${other.public.id}`;
  const html = (await merchant.open('/keys')).html;
  expect(html).not.toContain(path);
  for (const id of [path, '/key/none', '/key/..'])
    expect(
      (await merchant.open(id, { form: { action: 'revoke', confirmed: 'never' } })).status,
    ).toBeGreaterThanOrEqual(404);
  expect(await mayRead(other.public.key)).toBe(true);
  // A key of both stores is not within a session that has one of them.
  const both = await harness.newKey('secret', [shop.store_id, other.store_id]);
  expect(
    (await merchant.open(`/key/${both.id}`, { form: { action: 'revoke', confirmed: 'never' } })).status,
  ).toBe(404);
});
