import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { source as AXE } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { run } from './programs';
import { WAIT_MS_MAX } from './wait-for';

/** Pixels of a phone and of a desktop. */
const WIDTHS = [390, 1280];
const SCHEMES = ['light', 'dark'] as const;

/**
 * Returns in the page what axe finds serious, with the elements. Texts only, because to transfer all that axe returns takes
 * longer than its search. Leaves out what Swagger UI itself shows, and what react-aria reads out for some seconds: the name of a
 * button that may be gone meanwhile.
 */
const SERIOUS = `axe.run({ exclude: ['#swagger-ui', '[data-live-announcer]'] }, { resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(', ')))`;
/** Resolves in the page when two frames have been drawn. */
export const FRAMES = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

/** A folder for a picture of each page that is looked at, in each look. For people; the tests do not compare them. */
const PICTURES = process.env.TEST_PICTURES;
/** While a story is written, a shorter limit shows sooner what it waits for. */
const PAGE_WAIT_MS = Number(process.env.TEST_PAGE_WAIT_MS ?? WAIT_MS_MAX);

/** Refusals that depend on which request is faster, and on how busy the machine is. The pages go on by themselves. */
const OF_CHANCE = /status of (412|503)/;

/** A page may read what it shows while it deletes it. Whether the read is answered first is chance, too. */
const NOT_FOUND = /status of 404/;

/** Opens pages for a test, and collects what goes wrong in them. */
export class TestBrowser {
  /** Errors of the pages. A violation of their Content-Security-Policy is one, and so is a request to another host. */
  problems: string[] = [];
  private looked = 0;

  constructor(private readonly browser: Browser) {}

  static async start(): Promise<TestBrowser> {
    const executablePath = run('which', ['chromium']).trim();
    return new TestBrowser(await chromium.launch({ executablePath, timeout: WAIT_MS_MAX }));
  }

  close(): Promise<void> {
    return this.browser.close();
  }

  /** Closes all pages and expects that nothing went wrong in them. */
  async expectNoProblems(): Promise<void> {
    await Promise.all(this.browser.contexts().map((each) => each.close()));
    expect(this.problems.splice(0)).toEqual([]);
  }

  /** Forgets problems that the story causes on purpose. Expects at least one. */
  expectProblem(text: string): void {
    expect(this.problems).toContainEqual(expect.stringContaining(text));
    this.problems = this.problems.filter((each) => !each.includes(text));
  }

  /** Opens a page of a visitor of its own. */
  async newPage(baseURL: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ locale: 'es-PE', baseURL, ...options });
    context.setDefaultTimeout(PAGE_WAIT_MS);
    const deleted = new Set<string>();
    context.on('console', (message) => {
      const { url } = message.location();
      const text = message.text();
      const is_of_chance = OF_CHANCE.test(text) || (NOT_FOUND.test(text) && deleted.has(url));
      if (message.type() === 'error' && !is_of_chance) this.problems.push(`${text} (${url})`);
    });
    context.on('weberror', (error) => void this.problems.push(String(error.error())));
    context.on('request', (request) => {
      if (request.method() === 'DELETE') deleted.add(request.url());
      const { protocol, hostname } = new URL(request.url());
      if (!['data:', 'blob:'].includes(protocol) && hostname !== '127.0.0.1')
        this.problems.push(`requests ${request.url()}`);
    });
    return context.newPage();
  }

  /**
   * Looks at the page as it is, on a phone and a desktop, in light and dark. Returns what is wrong: what axe finds serious, and
   * sideways scrolling. `name`: of its pictures.
   */
  async look(page: Page, name: string, is_in_all_looks = true): Promise<string[]> {
    const wrong: string[] = [];
    // As a debugger does: the policy of the page need not allow it.
    await page.evaluate(AXE);
    const looks = WIDTHS.flatMap((width) => SCHEMES.map((colorScheme) => ({ width, colorScheme })));
    const chosen = is_in_all_looks ? looks : [looks[this.looked++ % looks.length]!];
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForFunction(`innerWidth === ${width}`);
      // Scripts give plots and tables their width some frames later.
      await page.waitForFunction('document.documentElement.scrollWidth <= innerWidth').catch(() => undefined);
      const shown_width = Number(await page.evaluate('document.documentElement.scrollWidth'));
      if (shown_width > width) wrong.push(`${name} ${width}: is ${shown_width} pixels wide`);
      for (const { colorScheme } of chosen.filter((each) => each.width === width)) {
        await page.emulateMedia({ colorScheme });
        const found = (await page.evaluate(SERIOUS)) as string[];
        wrong.push(...found.map((each) => `${name} ${width} ${colorScheme}: ${each}`));
        await this.picture(page, `${name}-${width}-${colorScheme}`);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    return wrong;
  }

  private async picture(page: Page, name: string): Promise<void> {
    if (!PICTURES) return;
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name.replace(/\W+/g, '-')}.png`) });
  }
}

/** Starts a browser for the stories of a block, and expects after each of them that nothing went wrong in its pages. */
export function useBrowser(): () => TestBrowser {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser?.close());
  afterEach(() => browser.expectNoProblems());
  return () => browser;
}
