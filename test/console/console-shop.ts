import type { Page } from 'playwright-core';
import { type OwnShop, ownShop } from '../api/own-shop';
import { type TestBrowser, useBrowser } from '../support/browser';
import type { HarnessOptions } from '../support/harness';

export interface ConsoleShop extends OwnShop {
  readonly browser: () => TestBrowser;
  /** Opens a page of the console in English and in the time zone of Lima, and signs in with a key. */
  readonly open: (path?: string, key?: string) => Promise<Page>;
}

/** Starts a service with a console and a browser for the stories of a block, and gives each story a shop of its own. */
export function useConsoleShop({ environment, ...options }: HarnessOptions = {}): ConsoleShop {
  const browser = useBrowser();
  const own = ownShop({ ...options, environment: { CONSOLE: 'on', ...environment } });
  const open: ConsoleShop['open'] = async (path = '', key = own.shop.secret.key) => {
    const page = await browser().newPage(own.harness.url, {
      ...{ locale: 'en-US', timezoneId: 'America/Lima', viewport: { width: 1280, height: 900 } },
    });
    await page.goto(`/console${path}`);
    await signIn(page, key);
    return page;
  };
  return Object.assign(own, { browser, open });
}

/** Fills in the form that asks for the key, and waits for the page behind it. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Secret key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
}
