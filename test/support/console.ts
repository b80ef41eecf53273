import type { Page } from 'playwright-core';
import type { TestBrowser } from './browser';

/** Opens a page of the console and signs in with a key. The page is in English and in the time zone of Lima. */
export async function openConsole(
  browser: TestBrowser,
  url: string,
  key: string,
  path = '/',
  viewport = { width: 1280, height: 900 },
): Promise<Page> {
  const page = await browser.newPage(url, { locale: 'en-US', timezoneId: 'America/Lima', viewport });
  await page.goto(`/console${path === '/' ? '' : path}`);
  await signIn(page, key);
  return page;
}

/** Fills in the form that asks for the key, and waits for the page behind it. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Secret key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
  // The browser notes that the page had no session before.
}
