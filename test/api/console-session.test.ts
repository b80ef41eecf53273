import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { revokeApiKey } from '../../services/command/api-key';
import { SESSION_S } from '../../shared/http/sessions';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

let harness: Harness;
let shop: Shop;
beforeAll(async () => {
  harness = await startHarness({ environment: { CONSOLE: 'on' } });
});
afterAll(() => harness?.close());
beforeEach(async () => {
  shop = await harness.newShop();
});

/** A page of the console, which keeps the cookie as a browser does. */
class ConsolePage {
  cookie = '';

  constructor(private readonly url = harness.url) {}

  async post(path: string, body?: object, headers: Record<string, string> = {}) {
    const answer = await fetch(`${this.url}/console/session${path}`, {
      method: 'POST',
      ...(body && { body: JSON.stringify(body) }),
      headers: { origin: this.url, cookie: this.cookie, 'content-type': 'application/json', ...headers },
    });
    const set = answer.headers.get('set-cookie');
    if (set) this.cookie = set.split(';')[0]!;
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
    return { status: answer.status, headers: answer.headers, set, body: (await answer.json()) as any };
  }

  signIn = (key = shop.secret.key) => this.post('', { key });
  token = async () => (await this.post('/token')).body.data;
}

const mayRead = async (token: string): Promise<boolean> =>
  (await harness.request('GET', '/api/store', { token })).status === 200;

test('a secret key begins a session, whose cookie gives short-lived tokens until the sign-out', async () => {
  const page = new ConsolePage();
  expect(await page.token()).toBeNull();
  for (const [key, status] of [
    [shop.public.key, 403],
    ['sk_live_unknown', 401],
    ['', 401],
  ] as const)
    expect(await page.signIn(key)).toMatchObject({ status, set: null });

  const signed_in = await page.signIn(` ${shop.secret.key} `);
  expect(signed_in.status).toBe(200);
  expect(signed_in.set).toMatch(
    /^catalog_console=[\w-]{43}; Path=\/console\/session; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  expect(signed_in.headers.get('cache-control')).toBe('no-store');
  expect(signed_in.headers.get('access-control-allow-origin')).toBeNull();
  expect(signed_in.body.data).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
  expect(await mayRead(signed_in.body.data.token)).toBe(true);
  expect(await mayRead((await page.token()).token)).toBe(true);
  // The cookie is worth nothing in the interface, nor a token as a cookie.
  expect(await mayRead(page.cookie.split('=')[1]!)).toBe(false);
  const forger = new ConsolePage();
  forger.cookie = `catalog_console=${shop.secret.token}`;
  expect(await forger.token()).toBeNull();

  const copy = new ConsolePage();
  copy.cookie = page.cookie;
  expect((await page.post('/end')).set).toMatch(/^catalog_console=; .*Max-Age=0/);
  expect(await copy.token()).toBeNull();
});

test('a session ends with its key, and 12 hours after its last use', async () => {
  const [page, other] = [new ConsolePage(), new ConsolePage()];
  for (const each of [page, other]) await each.signIn();
  const folder = join(harness.data_dir, 'sessions');
  const unused = (seconds: number): void => {
    const at = new Date(Date.now() - seconds * 1_000);
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), at, at);
  };
  unused(SESSION_S - 60);
  expect(await page.token()).not.toBeNull();
  unused(SESSION_S + 60);
  expect(await other.token()).toBeNull();

  await page.signIn();
  await revokeApiKey(harness.deps, { source: 'cli', request_id: 'test' }, shop.secret.id as ApiKeyId);
  await waitFor(async () => (await page.token()) === null);
});

test('pages of other sites can neither begin nor use a session', async () => {
  const page = new ConsolePage();
  await page.signIn();
  for (const origin of ['https://evil.example', 'null', ''])
    for (const path of ['', '/token', '/end'])
      expect(await page.post(path, { key: shop.secret.key }, { origin })).toMatchObject({ status: 403 });
  expect(await page.token()).not.toBeNull();
});

test('attempts are counted by the address that a trusted proxy names, also without the shared limiter', async () => {
  const environment = { CONSOLE: 'on', RATE_LIMIT_AUTH: '1/3', TRUST_PROXY: 'loopback' };
  const guessed = await startHarness({ environment, is_own: true });
  try {
    const page = new ConsolePage(guessed.url);
    const isRefused = async (address: string, attempts: number): Promise<boolean> => {
      const attempt = () =>
        page.post('', { key: `sk_live_${'x'.repeat(43)}` }, { 'x-forwarded-for': address });
      const answers = await Promise.all(Array.from({ length: attempts }, attempt));
      const refused = answers.filter(({ status }) => status === 429);
      for (const { headers } of refused) expect(headers.get('retry-after')).toBe('1');
      return refused.length > 0;
    };
    await waitFor(() => isRefused('203.0.113.1', 10));
    expect(await isRefused('203.0.113.2', 1)).toBe(false);
    jest.spyOn(guessed.service.runtime.limiter, 'take').mockRejectedValue(new Error('connection refused'));
    await waitFor(() => isRefused('203.0.113.3', 10));
    expect(await isRefused('203.0.113.4', 1)).toBe(false);
  } finally {
    await guessed.close();
  }
});

test('the pages load nothing from elsewhere, and their files are kept for ever', async () => {
  const pages = [
    '/console',
    '/console/',
    '/console/products',
    '/console/products/new',
    '/console/operator/events',
  ];
  for (const path of pages) {
    const page = await fetch(harness.url + path);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'self'; img-src 'self' data:;/);
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const html = await page.text();
    expect(html).not.toMatch(/<style|style="|\son\w+=|https?:/);
    const assets = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, name]) => name!);
    expect(assets.length).toBeGreaterThan(2);
    for (const asset of assets) {
      const { status, headers } = await fetch(harness.url + asset);
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    }
  }
  const off = await startHarness({ is_own: true });
  try {
    for (const path of ['/console', '/console/assets/none.js'])
      expect((await fetch(off.url + path)).status).toBe(404);
  } finally {
    await off.close();
  }
});
