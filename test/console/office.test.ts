import type { Page } from 'playwright-core';
import type { CatalogClient } from '../../shared/client';
import { useBrowser } from '../support/browser';
import { openConsole } from '../support/console';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { describeWithProgram } from '../support/programs';

describeWithProgram('chromium', 'the office of a merchant', () => {
  const browser = useBrowser();
  let harness: Harness;
  let shop: Shop;
  let merchant: CatalogClient;
  beforeAll(async () => {
    harness = await startHarness({ environment: { CONSOLE: 'on', WEBHOOKS: 'private' } });
  });
  beforeEach(async () => {
    shop = await harness.newShop();
    merchant = harness.client(shop.secret, { consistent: true });
  });
  afterAll(() => harness?.close());

  const open = (path: string): Promise<Page> => openConsole(browser(), harness.url, shop.secret.key, path);

  test('history: a change of a price in words and money, and the return to the price before', async () => {
    await merchant.keys.update(shop.secret.id, { name: 'Ana' });
    const listing = await merchant.listings.create({ name: 'Vajilla' });
    const cup = await merchant.publications.create({
      ...{ title: 'Taza', price_currency: 'USD', price_amount: 2_990, listing_id: listing.id },
    });
    await merchant.publications.update(cup.id, { price_amount: 1_990 });
    await merchant.publications.update(cup.id, { visibility: 'private', vendor: 'Tres Soles' });
    await merchant.listings.update(listing.id, { visibility: 'private' });
    const page = await open('/history');
    const priced = page.getByText('Ana changed the price of Taza from $29.90 to $19.90');
    await priced.waitFor();
    await page.getByText('Ana changed 2 fields of Taza').waitFor();
    await page.getByText('Ana made Vajilla private').waitFor();
    expect(await browser().look(page, 'history')).toEqual([]);

    await page.getByRole('listitem').filter({ has: priced }).getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Return to how it was before this change' }).click();
    await page.getByText('Ana changed 3 fields of Taza').waitFor();
    expect(await merchant.publications.get(cup.id, { visibility: 'all' })).toMatchObject({
      ...{ price_amount: 2_990, visibility: 'public' },
    });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('set the vendor to “Tres Soles”').nth(1).waitFor();
    expect(await merchant.publications.get(cup.id, { visibility: 'all' })).toMatchObject({
      ...{ price_amount: 1_990, visibility: 'private', vendor: 'Tres Soles' },
    });

    await page.getByRole('button', { name: 'Everything What' }).click();
    await page.getByRole('option', { name: 'Listings' }).click();
    await priced.waitFor({ state: 'hidden' });
    expect(new URL(page.url()).search).toBe('?resource=listing');
    await page.getByRole('link', { name: 'Vajilla' }).first().click();
    await page.waitForURL(`**/console/listings/${listing.id}`);
  });
});
