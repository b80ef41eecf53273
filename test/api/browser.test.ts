import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { source as AXE } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { fetch } from '../support/fetch';
import { startHarness } from '../support/harness';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { describeWithProgram, run } from '../support/programs';
import { makeTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX, waitFor } from '../support/wait-for';

const TOKEN = 'an operator token of 32 characters';
const HIGH = '100000/10000000/100000';
const PRODUCT = '/p/taza-amancay';
/** Pixels of a phone and of a desktop. */
const WIDTHS = [390, 1280];
/** Script and style of a page as they are sent, compressed. */
const TRANSFERRED_BYTES_MAX = 60_000;

/**
 * Returns in the page what axe finds serious, with the elements. Texts only, because to transfer all that axe returns takes
 * longer than its search. Leaves out what Swagger UI itself shows.
 */
const SERIOUS = `axe.run({ exclude: ['#swagger-ui'] }, { resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(', ')))`;
/** Resolves in the page when two frames have been drawn. */
const FRAMES = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

describeWithProgram('chromium', 'in a browser', () => {
  const folder = makeTempDir();
  let browser: Browser;
  let service: RunningProcess;
  let url: string;
  let secret_key: string;
  /** What has gone wrong in the pages of the running test. */
  let problems: string[];

  beforeAll(async () => {
    const settings = {
      CONSOLE_OPERATOR_TOKEN: TOKEN,
      RATE_LIMIT_PUBLIC: HIGH,
      RATE_LIMIT_SECRET: HIGH,
      WORKERS: '2',
    };
    const data = { DATA_DIR: folder.path, DEMO: 'on' };
    service = await startProcess('services/boot/main.js', { ...data, ...settings });
    ({ url } = service);
    const executablePath = run('which', ['chromium']).trim();
    browser = await chromium.launch({ executablePath, timeout: WAIT_MS_MAX });
    await waitFor(async () => (await (await fetch(url + PRODUCT)).text()).includes('srcset='));
    ({ secret_key } = JSON.parse(readFileSync(join(folder.path, 'demo.json'), 'utf8')));
  });
  afterAll(async () => {
    await browser?.close();
    await service?.end('SIGTERM');
    endAll();
    folder.remove();
  });
  beforeEach(() => {
    problems = [];
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((each) => each.close()));
    expect(problems).toEqual([]);
  });

  /** Opens a page of a visitor of its own. Violations of the content security policy are errors of its console. */
  async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: 'es-PE', baseURL: url, ...options });
    context.setDefaultTimeout(WAIT_MS_MAX);
    context.on('console', (message) => {
      if (message.type() === 'error') problems.push(`${message.text()} (${message.location().url})`);
    });
    context.on('weberror', (error) => void problems.push(String(error.error())));
    context.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (protocol !== 'data:' && hostname !== '127.0.0.1') problems.push(`requests ${request.url()}`);
    });
    return context.newPage();
  }

  async function signIn(page: Page, path: string, label: string, secret: string): Promise<void> {
    await page.goto(path);
    await page.getByLabel(label).fill(secret);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  }

  /** Opens each page, and looks at it on a phone and a desktop, in light and dark. Returns what is wrong. */
  async function look(page: Page, paths: readonly string[], waits_for = 'body'): Promise<string[]> {
    const wrong: string[] = [];
    for (const path of paths) {
      await page.goto(path);
      await page.locator(waits_for).first().waitFor();
      // As a debugger does: the policy of the page need not allow it.
      await page.evaluate(AXE);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        await page.waitForFunction(`innerWidth === ${width}`);
        const shown_width = Number(await page.evaluate('document.documentElement.scrollWidth'));
        if (shown_width > width) wrong.push(`${path} ${width}: is ${shown_width} pixels wide`);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          const found = (await page.evaluate(SERIOUS)) as string[];
          wrong.push(...found.map((each) => `${path} ${width} ${colorScheme}: ${each}`));
        }
      }
    }
    return wrong;
  }

  test('the shop can be read by everybody', async () => {
    const lists = ['/', '/products?tag=para+regalar', '/c/ceramica', '/search?q=caf', '/search?q=zzzz'];
    expect(await look(await newPage(), [...lists, PRODUCT, '/p/pantuflas-fieltro'])).toEqual([]);
  });

  test("the merchant's console can be read by everybody", async () => {
    const page = await newPage();
    expect(await look(page, ['/console'])).toEqual([]);
    await signIn(page, '/console', 'Secret key', secret_key);
    await page.goto('/console/products?q=pantuflas');
    const product = await page.getByRole('link', { name: 'Pantuflas' }).first().getAttribute('href');
    const others = ['products', 'product/new', 'listings', 'imports', 'keys', 'webhooks', 'store'];
    expect(
      await look(page, [
        product!,
        ...others.map((each) => `/console/${each}`),
        '/console/reviews?status=all',
      ]),
    ).toEqual([]);
  });

  test("the operator's console can be read by everybody", async () => {
    const page = await newPage();
    expect(await look(page, ['/console/operator'])).toEqual([]);
    await signIn(page, '/console/operator', 'Token', TOKEN);
    await page.goto('/console/operator/events');
    const stream = await page
      .locator('a', { has: page.locator('code') })
      .first()
      .getAttribute('href');
    const others = ['/dead-letters', '/events', '/stores', '/task?realm=test&task=rebuild'];
    expect(await look(page, [stream!, ...others.map((each) => `/console/operator${each}`)])).toEqual([]);
    expect(await look(page, ['/console/operator'], 'canvas')).toEqual([]);
  });

  test('an operator rebuilds, and sees how far the partitions are', async () => {
    const page = await newPage();
    await signIn(page, '/console/operator', 'Token', TOKEN);
    await page.goto('/console/operator/task?realm=test&task=rebuild');
    await page.getByRole('button', { name: 'Rebuild test' }).click();
    await page.getByText('Version v2 is active.').waitFor();
    expect(await look(page, ['/console/operator/task?realm=test'])).toEqual([]);

    await page.goto('/console/operator');
    const plot = page.getByRole('img', { name: /^The largest lag of live is \d/ });
    await plot.locator('canvas').waitFor();
    const stop = await page.context().newCDPSession(page);
    const offline = { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await stop.send('Network.emulateNetworkConditions', offline);
    await page
      .getByText(/^No answer since \d\d:\d\d:\d\d/)
      .first()
      .waitFor();
    await stop.send('Network.emulateNetworkConditions', { ...offline, offline: false });
    await page.getByText('No answer since').first().waitFor({ state: 'hidden' });
    // The browser notes the requests that have failed.
    problems = problems.filter((each) => !each.includes('ERR_INTERNET_DISCONNECTED'));
    await page.context().clearCookies();
    await page.getByText('The session has ended.').first().waitFor();
    problems = problems.filter((each) => !each.includes('401'));
    await page.close();
  });

  test('the start page and the reference of the interface can be read by everybody', async () => {
    const without_shop = await startHarness({ is_own: true });
    try {
      const page = await newPage({ baseURL: without_shop.url });
      expect(await look(page, ['/'])).toEqual([]);
      expect(await look(page, ['/docs'], '.opblock')).toEqual([]);
    } finally {
      await without_shop.close();
    }
  });

  test('a product page loads little, and nothing moves while it loads', async () => {
    const page = await newPage();
    await page.addInitScript(`
      globalThis.shifts = [];
      new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
        .observe({ type: 'layout-shift', buffered: true });`);
    // Pictures arrive when the page is drawn already, as they do over a slow connection.
    let release = (): void => {};
    const is_drawn = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/*.webp', async (route) => {
      await is_drawn;
      await route.continue();
    });
    await page.goto(PRODUCT, { waitUntil: 'domcontentloaded' });
    await page.evaluate(FRAMES);
    release();
    // Pictures further down are loaded when they are scrolled to.
    await page.evaluate(
      `(async () => { for (const each of document.images) { each.scrollIntoView(); await each.decode(); } })()`,
    );
    await page.evaluate(FRAMES);
    expect(await page.evaluate('shifts')).toEqual([]);
    const sizes = (await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ name }) => /\\.(css|m?js)$/.test(name)).map(({ encodedBodySize }) => encodedBodySize)`)) as number[];
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(TRANSFERRED_BYTES_MAX);
  });

  describe('a merchant', () => {
    const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });
    const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click();
    const isTold = (page: Page, text: string, role: 'status' | 'alert' = 'status') =>
      page.getByRole(role).getByText(text).waitFor();

    /** Signs in, and finds a product with the keyboard. */
    async function findProduct(page: Page, words: string, title: string): Promise<void> {
      await signIn(page, '/console', 'Secret key', secret_key);
      await page.getByRole('searchbox', { name: 'Search' }).fill(words);
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: title }).click();
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    }

    test.each([
      ['with', true],
      ['without', false],
    ])(
      'changes a price and returns to the one before, in a browser %s script',
      async (_, javaScriptEnabled) => {
        const page = await newPage({ javaScriptEnabled });
        await findProduct(page, 'amancay', 'Taza Amancay');
        await field(page, 'Price').fill('45,50');
        await page.keyboard.press('Enter');
        await isTold(page, 'Saved.');
        expect(await field(page, 'Price').inputValue()).toBe('45.50');
        await page.getByRole('button', { name: 'Return to this' }).first().click();
        await isTold(page, 'Returned to the earlier values.');
        expect(await field(page, 'Price').inputValue()).toBe('42.00');
      },
    );

    test('drags a picture to the first place', async () => {
      const page = await newPage();
      await findProduct(page, 'amancay', 'Taza Amancay');
      const pictures = page.locator('.pictures li');
      const ids = () =>
        page.evaluate(`[...document.querySelectorAll('[name=media_id]')].map(({ value }) => value)`);
      const before = (await ids()) as string[];
      expect(before).toHaveLength(2);
      await pictures.last().dragTo(pictures.first(), { targetPosition: { x: 10, y: 10 } });
      await isTold(page, 'The pictures are saved.');
      expect(await ids()).toEqual(before.toReversed());
    });

    test('sees what another one has saved meanwhile, and neither overwrites the other', async () => {
      const [one, other] = [await newPage(), await newPage()];
      for (const page of [one, other]) await findProduct(page, 'neblina', 'Tazón Neblina');
      await field(one, 'Price').fill('39.90');
      await save(one);
      await isTold(one, 'Saved.');
      await field(other, 'Title').fill('Tazón Garúa');
      await save(other);
      await isTold(other, 'Price is now: 39.90', 'alert');
      // The browser notes that the form was refused.
      expect(problems.splice(0)).toEqual([expect.stringContaining('422')]);
      await save(other);
      await isTold(other, 'Saved.');
      await one.reload();
      const shown = await Promise.all(['Title', 'Price'].map((label) => field(one, label).inputValue()));
      expect(shown).toEqual(['Tazón Garúa', '39.90']);
    });
  });
});
