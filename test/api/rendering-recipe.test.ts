import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiKey } from '../../services/command/api-key';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { freeOwnPort } from '../support/own-port';
import { ownNames } from '../support/own-servers';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/** Runs the program of docs/operations/limits.md#rendering-on-the-server. */
const [, program] = /```js\n(\/\/ shop\.mjs[\s\S]*?)```/.exec(
  readFileSync('docs/operations/limits.md', 'utf8'),
)!;
const VIEWS = 200;

describe('the program that renders pages on a server', () => {
  // The clock stands still, so that no bucket is refilled and each request shows in what remains.
  const now_ms = Date.now();
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    const system = { ...realSystem, now: () => now_ms };
    const environment = { RATE_LIMIT_AUTH: '100/100' };
    harness = await startHarness({ system, environment, servers: ownNames({}) });
    shop = await harness.newShop();
    const body = { title: 'Tea & <cups>', price_currency: 'USD', price_amount: 1 };
    await harness.request('POST', '/api/publication', { token: shop.secret.token, body });
  });
  afterAll(() => harness?.close());

  /** Runs the program until `use` has settled. `view` returns a page. */
  async function running(
    settings: Record<string, string>,
    use: (view: () => Promise<string>) => Promise<void>,
  ): Promise<void> {
    const port = await freeOwnPort();
    const view = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/`)).text();
    await withTempDir(async (folder) => {
      writeFileSync(join(folder, 'shop.mjs'), program!);
      const env = { ...process.env, CATALOG_URL: harness.url, PORT: String(port), ...settings };
      const child: ChildProcess = spawn(process.execPath, [join(folder, 'shop.mjs')], {
        env,
        stdio: 'ignore',
      });
      try {
        const answers = async () =>
          (await fetch(`http://127.0.0.1:${port}/favicon.ico`, { method: 'HEAD' })).status;
        await waitFor(answers, { what: 'the program to listen' });
        await use(view);
      } finally {
        child.kill('SIGKILL');
      }
    });
  }

  test(`sends two requests to /api and one to /auth/token for ${VIEWS} page views`, async () => {
    const limits = { per_minute: 100, per_day: 1_000, burst: 100 };
    const input = {
      account_id: harness.account_id,
      name: 'web',
      type: 'secret',
      stores: [shop.store_id],
      limits,
    } as const;
    const context = { source: 'cli', request_id: 'recipe' } as const;
    const { key } = await createApiKey(harness.deps, context, { ...input, stores: [shop.store_id] });
    await harness.settled();
    await running({ CATALOG_KEY: key }, async (view) => {
      const pages = await Promise.all(Array.from({ length: VIEWS }, view));
      expect(new Set(pages).size).toBe(1);
      expect(pages[0]).toContain('<h1>Shop</h1><ul><li>Tea &#38; &#60;cups&#62;</li></ul>');
    });
    const issued = await harness.request('POST', '/auth/token', { headers: { 'x-api-key': key } });
    // Of 100: one by the program, and this one.
    expect(issued.headers.get('x-ratelimit-remaining')).toBe('98');
    const read = await harness.request('GET', '/api/store', { token: issued.body.data.token });
    expect(read.headers.get('x-ratelimit-remaining')).toBe('97');
  });

  test('shows the last page while the catalog does not answer', () =>
    running({ CATALOG_KEY: shop.secret.key, FRESH_S: '0' }, async (view) => {
      const page = await view();
      expect(page).toContain('Tea');
      await harness.close();
      expect(await view()).toBe(page);
    }));
});
