import type { Page, Route } from 'playwright-core';
import { permissionsOf } from '../../shared/catalog/vocabulary';
import { describeWithProgram } from '../support/programs';
import { waitFor } from '../support/wait-for';
import { useConsoleShop } from './console-shop';

const MUG = { price_currency: 'USD', price_amount: 2_500 };
const NONE = { visibility: 'all', limit: 1 } as const;

describeWithProgram('chromium', 'the products page of the console', () => {
  const own = useConsoleShop();
  const { browser } = own;

  const open = (path = '/products') => own.open(path);
  /** Creates products that are called `Mug 001` and so on, and returns their ids in this order. */
  const create = async (count: number, bodyOf: (n: number) => object = () => ({})): Promise<string[]> => {
    const items = Array.from({ length: count }, (_, n) => ({
      action: 'create' as const,
      body: { title: `Mug ${String(n + 1).padStart(3, '0')}`, ...MUG, ...bodyOf(n + 1) },
    }));
    const ids: string[] = [];
    for (let start = 0; start < count; start += 50) {
      const created = await own.client.publications.batch({ items: items.slice(start, start + 50) });
      ids.push(...created.items.map(({ id }) => id!));
    }
    return ids;
  };
  const read = (id: string) => own.client.publications.get(id, { visibility: 'all', expand: ['variants'] });
  const row = (page: Page, name: string) => page.getByRole('row', { name });
  const choose = async (page: Page, label: string, option: string) => {
    await page.getByRole('button', { name: new RegExp(`${label}$`) }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  const typeTime = async (page: Page, label: string, keys: string) => {
    await page.getByRole('spinbutton', { name: `month, ${label}` }).click();
    await page.keyboard.type(keys);
  };
  /** Opens a change of what is selected. */
  const change = async (page: Page, action: string) => {
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };

  test('ten prices are typed one after the other, and a refused one stays in its cell', async () => {
    await create(11, (n) => (n === 1 ? { sale_price_amount: 2_000 } : {}));
    const page = await open('/products?sort=name');
    await row(page, 'Mug 001').getByText('$20.00').dblclick();
    const prices = ['15', '31', '$32', '33.00', '34,50', '35.1', '36', '37', '38', '1,039.00', '40'];
    for (const [index, price] of prices.entries()) {
      await page.getByLabel(`Price, Mug ${String(index + 1).padStart(3, '0')}`).waitFor();
      await page.keyboard.type(price);
      await page.keyboard.press('Enter');
      await page.keyboard.press('F2');
    }
    await page.keyboard.press('Escape');
    await row(page, 'Mug 010').getByText('$1,039.00').waitFor();
    await row(page, 'Mug 011').getByText('$40.00').waitFor();
    await page.getByRole('gridcell', { name: /^15 Below the sale price/ }).waitFor();
    const saved = async () =>
      (await own.client.publications.list({ sort: 'name' }).all()).map(({ price_amount }) => price_amount);
    const others = [3_100, 3_200, 3_300, 3_450, 3_510, 3_600, 3_700, 3_800, 103_900];
    expect(await saved()).toEqual([2_500, ...others, 4_000]);
    expect(await browser().look(page, 'products-refused')).toEqual([]);

    await page.getByRole('button', { name: 'Undo' }).click();
    await row(page, 'Mug 011').getByText('$25.00').waitFor();
    expect(await saved()).toEqual([2_500, ...others, 2_500]);
  });

  test('Tab goes on to the next cell, Esc cancels, and only a variant that is alone has a price in the row', async () => {
    const options = [{ name: 'Size', values: ['S', 'M'] }];
    const sizes = [2_000, 3_000].map((price_amount, n) => ({
      option_values: { Size: options[0]!.values[n]! },
      price_amount,
      quantity_available: n,
    }));
    const [single, several] = await create(2, (n) =>
      n === 1
        ? { variants: [{ option_values: {}, sku: 'MUG-1', quantity_available: 4 }] }
        : { options, variants: sizes },
    );
    const page = await open('/products?sort=name');
    await row(page, 'Mug 002').getByText('$20.00 – $30.00').dblclick();
    await row(page, 'Mug 001').getByText('$25.00').click();
    await page.getByLabel('Price, Mug 001').fill('26');
    await page.keyboard.press('Tab');
    await page.getByLabel('Stock, Mug 001').fill('9');
    // Price and stock of the other product belong to its variants.
    await page.keyboard.press('Tab');
    await page.getByLabel('Title, Mug 002').fill('Two mugs');
    await page.keyboard.press('Tab');
    await page.getByLabel('Status, Two mugs').selectOption('Private');
    await page.keyboard.press('Escape');
    await row(page, 'Two mugs').getByText('Public').waitFor();
    await row(page, 'Mug 001').getByText('$26.00').waitFor();
    await row(page, 'Mug 001').getByText('9', { exact: true }).waitFor();
    expect(await read(single!)).toMatchObject({
      price_amount: 2_600,
      variants: { data: [{ sku: 'MUG-1', price_amount: 2_600, quantity_available: 9 }] },
    });
    expect(await read(several!)).toMatchObject({
      visibility: 'public',
      price_amount: 2_000,
      variant_count: 2,
    });
  });

  test('products are found by SKU, by a link with filters, by one of 45 listings and by a saved view', async () => {
    const listings = await Promise.all(
      Array.from({ length: 45 }, (_, n) => own.client.listings.create({ name: `Shelf ${n + 1}` })),
    );
    await create(12, (n) => ({
      vendor: n % 2 ? 'Alfarería Ñ & Co' : 'Barro',
      tags: n < 4 ? ['new'] : [],
      attributes: { glaze: n < 7 ? 'matt' : 'gloss' },
      listing_id: listings[n === 5 ? 44 : 0]!.id,
      variants: [{ option_values: {}, sku: `SKU-${n}-X`, quantity_available: n === 12 ? 0 : n }],
    }));
    const page = await open();
    await row(page, 'Mug 001').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('sku-7-x');
    await page.getByText('1 product', { exact: true }).waitFor();
    await row(page, 'Mug 007').getByText('SKU-7-X').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('sku-7-x');
    await page.getByRole('searchbox').fill('');

    await page.getByText('12 products', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('checkbox', { name: 'Alfarería Ñ & Co' }).waitFor();
    expect(await browser().look(page, 'products-filter')).toEqual([]);
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Alfarería Ñ & Co' })
      .getByText('6', { exact: true })
      .waitFor();
    const panel = page.getByRole('dialog', { name: 'Filter' });
    await panel.getByText('Alfarería Ñ & Co').click();
    await panel.getByText('glaze').click();
    await panel.getByText('matt').click();
    await page.getByText('3 products', { exact: true }).waitFor();
    const entries = () => page.evaluate(() => history.length);
    const entries_before = await entries();
    await panel.getByText('Price', { exact: true }).first().click();
    await panel.getByLabel('From', { exact: true }).fill('30');
    await page.keyboard.press('Escape');
    await page.getByText('0 products', { exact: true }).waitFor();
    expect(await entries()).toBe(entries_before);
    await page.getByRole('button', { name: /^Remove From: .*30.00/ }).click();
    await page.getByText('3 products', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Save view' }).click();
    await page.getByLabel('Name of the view').fill('Matt of Ñ');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Sold out' }).click();
    await row(page, 'Mug 012').waitFor();
    await page.getByText('1 product', { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Matt of Ñ' }).click();
    await page.getByText('3 products', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove glaze: matt' }).click();
    await page.getByText('6 products', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();

    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('Listing', { exact: true }).click();
    await page.getByLabel('Search in Listing').fill('shelf 45');
    await page.getByText('Shelf 45').click();
    await row(page, 'Mug 005').waitFor();
    await page.getByText('1 product', { exact: true }).waitFor();
    await page.goto(`/console/products?vendor=Barro&tag=new&in_stock=true`);
    await page.getByText('1 product', { exact: true }).waitFor();
    await row(page, 'Mug 002').waitFor();
  });

  test('everything that matches changes at once, and is undone at once, except what somebody else has changed', async () => {
    const ids = await create(60, (n) => ({ vendor: n <= 50 ? 'Barro' : 'Other', tags: [] }));
    const size = { options: [{ name: 'Size', values: ['S', 'M'] }] };
    const sizes = ['S', 'M'].map((Size) => ({
      option_values: { Size },
      price_amount: Size === 'S' ? 1_000 : 2_000,
    }));
    await own.client.publications.update(ids[1]!, { ...size, variants: sizes });
    await own.client.publications.update(ids[2]!, { sale_price_amount: 2_450 });
    const page = await open('/products?vendor=Barro&sort=name');
    await page.getByRole('checkbox', { name: 'Select all products that match' }).check();
    await page.getByRole('checkbox', { name: 'Select Mug 001' }).uncheck();
    await page.getByText('49 selected').waitFor();
    await change(page, 'Change prices');
    await choose(page, 'How', 'Lower by percent');
    await page.getByRole('textbox', { name: 'Percent' }).fill('10');
    await choose(page, 'Round', 'To .99');
    await page.getByText('49 products change.').waitFor();
    await page.getByText('Of the first 49 products, 1 would be refused:').waitFor();
    await page.getByRole('row', { name: 'Mug 002 $10.00 – $20.00 $8.99 – $17.99' }).waitFor();
    expect(await browser().look(page, 'products-bulk')).toEqual([]);
    await page.getByRole('button', { name: 'Change 49 products' }).click();
    await page.getByText('Done for 48 products.').waitFor();
    await page.getByText('1 product was refused:').waitFor();
    expect(await read(ids[40]!)).toMatchObject({ price_amount: 2_299 });
    expect((await read(ids[1]!)).variants.data.map(({ price_amount }) => price_amount)).toEqual([899, 1_799]);
    expect((await read(ids[0]!)).price_amount).toBe(2_500);
    expect((await read(ids[55]!)).price_amount).toBe(2_500);

    await own.client.publications.update(ids[45]!, { price_amount: 7_700 });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('47 products are as before.').waitFor();
    await page
      .getByText('1 product is left as it is, because somebody else has changed it meanwhile:')
      .waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Mug 046' }).waitFor();
    expect((await read(ids[45]!)).price_amount).toBe(7_700);
    expect((await read(ids[40]!)).price_amount).toBe(2_500);
    expect((await read(ids[1]!)).variants.data.map(({ price_amount }) => price_amount)).toEqual([
      1_000, 2_000,
    ]);
    await page.getByRole('checkbox', { name: 'Select all products that match' }).check();
    expect(await browser().look(page, 'products-undone')).toEqual([]);
    await page.getByRole('button', { name: 'Close' }).first().click();
    await change(page, 'Delete products');
    await page.getByRole('button', { name: 'Delete 50 products' }).click();
    await page.getByText('Done for 50 products.').waitFor();
    expect((await own.client.publications.list(NONE).page()).meta.item_count).toBe(10);
    await page.getByRole('link', { name: 'Deleted' }).click();
    await page.getByText('50 products', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Restore' }).first().click();
    await page.getByText('is restored').waitFor();
    await page.getByText('49 products', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await page.getByText('50 products are as before.').waitFor();
    expect((await own.client.publications.list(NONE).page()).meta.item_count).toBe(60);
  });

  test('a change of many stops when the merchant says so', async () => {
    await create(210);
    const page = await open();
    await page.getByRole('checkbox', { name: 'Select all products that match' }).check();
    await change(page, 'Change visibility');
    await choose(page, 'Visibility', 'Private');
    await page.getByText('210 products change.').waitFor();
    const batch = new Promise<Route>((resolve) => {
      const isWrite = (url: URL) => url.pathname.endsWith('/batch') && !url.searchParams.has('dry_run');
      void page.route(isWrite, resolve);
    });
    await page.getByRole('button', { name: 'Change 210 products' }).click();
    const first = await batch;
    await page.getByRole('progressbar', { name: 'Change visibility' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await first.continue();
    await page.getByText('Done for 200 products. It stopped before the end.').waitFor();
    expect(
      (await own.client.publications.list({ visibility: 'public', limit: 1 }).page()).meta.item_count,
    ).toBe(10);
  });

  test('stock, tags, listings and the schedule of several products change', async () => {
    const listing = await own.client.listings.create({ name: 'Kitchen' });
    const ids = await create(2, (n) => ({ tags: ['old', `own-${n}`], quantity_available: n }));
    const page = await open();
    const apply = async (action: string, fill: () => Promise<unknown>) => {
      await page.getByRole('checkbox', { name: 'Select all products that match' }).check();
      await change(page, action);
      await fill();
      await page.getByRole('button', { name: 'Change 2 products' }).click();
      await page.getByText('Done for 2 products.').waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
    };
    await apply('Change stock', async () => {
      await choose(page, 'How', 'Add');
      await page.getByRole('textbox', { name: 'Units' }).fill('5');
    });
    await apply('Change tags', async () => {
      for (const [label, tag] of [
        ['Add tags', 'new,'],
        ['Remove tags', 'old,'],
      ] as const) {
        await page.getByRole('combobox', { name: label }).fill(tag);
        await page.keyboard.press('Tab');
      }
    });
    await apply('Change listings', () => choose(page, 'Listing', 'Kitchen'));
    await apply('Change vendor', () => page.getByRole('textbox', { name: 'Vendor' }).fill('Barro'));
    await apply('Schedule', () => typeTime(page, 'Becomes public', '06052099' + '0900AM'));
    for (const [index, id] of ids.entries())
      expect(await read(id)).toMatchObject({
        quantity_available: index + 6,
        tags: [`own-${index + 1}`, 'new'],
        listing_ids: [listing.id],
        vendor: 'Barro',
        visibility: 'private',
        publish_at: '2099-06-05T14:00:00.000Z',
      });
  });

  test('products are put on sale for a weekend', async () => {
    const [first] = await create(3);
    const page = await open('/products?sort=name');
    await page.getByRole('checkbox', { name: 'Select Mug 001' }).check();
    await page.getByRole('checkbox', { name: 'Select Mug 003' }).click({ modifiers: ['Shift'] });
    await page.getByText('3 selected').waitFor();
    await change(page, 'Put on sale');
    await page.getByRole('textbox', { name: 'Percent' }).fill('20');
    await typeTime(page, 'Sale begins', '06052099' + '0900AM');
    await typeTime(page, 'Sale ends', '06072099' + '0900AM');
    await page.getByText('3 products change.').waitFor();
    expect(await browser().look(page, 'products-sale')).toEqual([]);
    await page.getByRole('button', { name: 'Change 3 products' }).click();
    await page.getByText('Done for 3 products.').waitFor();
    expect(await read(first!)).toMatchObject({
      price_amount: 2_500,
      sale_price_amount: 2_000,
      sale_from: '2099-06-05T14:00:00.000Z',
      sale_to: '2099-06-07T14:00:00.000Z',
    });
  });

  test('a column is pasted from a spreadsheet, kept over a reload, and saved with errors at their cells', async () => {
    const ids = await create(6, (n) => ({
      variants: n === 6 ? undefined : [{ option_values: {}, sku: `MUG-${n}`, quantity_available: n }],
    }));
    const page = await open('/products?sort=name');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await row(page, 'Mug 006').waitFor();
    await page.getByRole('button', { name: 'Edit as spreadsheet' }).click();
    const cell = (name: string, column: string) => row(page, name).getByRole('gridcell', { name: column });
    const paste = async (text: string) => {
      await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
      await page.keyboard.press('Control+v');
    };
    await cell('Mug 001', '25.00').click();
    await paste('S/ 1.250,50\r\n"1,300.00"\r\nfree\r\n27.9\r\n28\r\n');
    await page.getByText('5 changed cells, 5 products. Nothing is saved yet. 1 cell was refused.').waitFor();
    // The codes of two products, of which another product has one, and a tag for three products.
    await cell('Mug 001', 'MUG-1').click();
    await paste('NEW-1\t\t\tCup\nMUG-5\t\t\tCup\nNEW-3\t\t\tCup');
    await page.getByText('11 changed cells, 5 products.').waitFor();
    await page.keyboard.press('Control+z');
    await page.getByText('5 changed cells, 5 products.').waitFor();
    await page.keyboard.press('Control+v');
    await page.getByText('11 changed cells, 5 products.').waitFor();
    expect(await browser().look(page, 'products-sheet')).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });

    await own.client.publications.update(ids[4]!, { variants: [{ option_values: {}, price_amount: 1_111 }] });
    await page.reload();
    await page.getByRole('button', { name: 'Go on' }).click();
    await cell('Mug 003', 'free').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Done for 3 products.').waitFor();
    await page
      .getByText('5 changed cells, 3 products. Nothing is saved yet. 3 cells were refused.')
      .waitFor();
    await cell('Mug 005', '28 Somebody else has changed this to 11.11.').waitFor();
    await cell('Mug 002', 'MUG-5').waitFor();
    await cell('Mug 003', 'free').dblclick();
    await page.keyboard.type('12');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('3 changed cells, 1 product.').waitFor();
    expect((await read(ids[0]!)).variants.data).toMatchObject([{ sku: 'NEW-1', price_amount: 125_050 }]);
    expect((await read(ids[4]!)).price_amount).toBe(2_800);

    // The vendor is two columns after the SKU.
    await cell('Mug 003', 'NEW-3').click();
    for (const key of ['ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
    await page.keyboard.type('Barro');
    for (const key of [
      'Enter',
      'ArrowUp',
      'Shift+ArrowDown',
      'Shift+ArrowDown',
      'Shift+ArrowDown',
      'Control+d',
    ])
      await page.keyboard.press(key);
    await page.getByText('6 changed cells, 4 products.').waitFor();
    const batch = new Promise<Route>((resolve) => void page.route('**/publications/batch*', resolve));
    await page.getByRole('button', { name: 'Save' }).click();
    const held = await batch;
    await cell('Mug 001', '1250.50').click();
    await page.keyboard.type('31');
    await page.keyboard.press('Enter');
    await held.continue();
    await page.getByText('4 changed cells, 2 products.').waitFor();
    await cell('Mug 001', '31').waitFor();
    expect(await Promise.all(ids.map(async (id) => (await read(id)).vendor))).toEqual([
      undefined,
      undefined,
      'Barro',
      'Barro',
      'Barro',
      undefined,
    ]);
    // Another product has the SKU.
    browser().expectProblem('(Conflict)');
  });

  test('a key that may only read offers no change', async () => {
    await create(1);
    const reader = await own.harness.newKey('secret', [own.shop.store_id], permissionsOf('public'));
    const page = await own.open('/products', reader.key);
    await row(page, 'Mug 001').getByText('$25.00').dblclick();
    const offers = [
      page.getByLabel('Price, Mug 001'),
      page.getByRole('checkbox'),
      page.getByRole('link', { name: 'New product' }),
      page.getByRole('button', { name: 'Edit as spreadsheet' }),
    ];
    for (const offer of offers) expect(await offer.count()).toBe(0);
  });

  test('titles of any script and length fit, and columns are chosen', async () => {
    const titles = ['قدح من الخزف الأزرق', '青い磁器のマグカップ', 'M'.repeat(200), '<b>Mug</b>'];
    await create(4, (n) => ({
      title: titles[n - 1],
      vendor: 'Ñandú',
      tags: ['كتاب'],
      quantity_available: n - 1,
      compare_at_amount: 3_000,
      ...(n === 2 && { publish_at: '2099-01-01T00:00:00Z' }),
    }));
    const page = await open();
    for (const title of titles) await page.getByRole('link', { name: title }).waitFor();
    await page.getByRole('button', { name: 'Display' }).click();
    await page.getByText('Tags', { exact: true }).click();
    await page.getByText('Vendor', { exact: true }).last().click();
    await page.keyboard.press('Escape');
    await page.getByRole('columnheader', { name: 'Tags' }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Vendor' }).count()).toBe(0);
    expect(await browser().look(page, 'products')).toEqual([]);
    await page.getByRole('link', { name: titles[0]! }).click();
    await waitFor(() => /\/products\/[\w-]{36}$/.test(page.url()), { what: 'the page of the product' });
  });
});
