import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { describeWithProgram } from '../support/programs';
import { waitFor } from '../support/wait-for';
import { useConsoleShop } from './console-shop';

const LONG = 'x'.repeat(200);
const CATALOG = `Handle,Title,Body (HTML),Vendor,Type,Option1 Name,Option1 Value,Variant SKU,Variant Price,Variant Inventory Qty,Variant Inventory Tracker,Image Src,${LONG}
shirt,Linen shirt,<p>Light</p>,Andes,Clothes,Size,S,SH-S,89.90,4,shopify,https://shop.example/shirt.jpg,false
shirt,,,,,,M,SH-M,89.90,0,shopify,,
mate,マテ茶,,Sur,Tea,,,,12.50,,,https://shop.example/mate.jpg,false
arabic,شاي أخضر بالنعناع,,Sur,Tea,,,,1890.00,,,,
broken,,,,,,,,,,,,
odd,Odd price,,,Tea,,,,"1,250",,,,
${LONG},${LONG},,,Tea,,,,1.00,,,,
`;

describeWithProgram('chromium', 'the imports of a merchant', () => {
  const own = useConsoleShop({ is_own: true });
  const { browser } = own;

  const open = () => own.open('/imports');
  const titlesBecome = (expected: readonly string[]) =>
    waitFor(
      async () => {
        const all = await own.client.publications.list({ visibility: 'all' }).all();
        return JSON.stringify(all.map(({ title }) => title).sort()) === JSON.stringify([...expected].sort());
      },
      { what: `the products ${expected.join(', ')}` },
    );
  const row = (page: Page, name: string) => page.getByRole('row', { name });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  async function choose(page: Page, name: string, content: string | Buffer): Promise<void> {
    const chooser = page.waitForEvent('filechooser');
    await button(page, 'Choose a file').click();
    await (await chooser).setFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(content) });
  }

  async function select(page: Page, label: string, option: string): Promise<void> {
    await page.getByRole('button', { name: label }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  }

  async function downloaded(page: Page, start: () => Promise<void>): Promise<[name: string, text: string]> {
    const saved = page.waitForEvent('download');
    await start();
    const file = await saved;
    return [file.suggestedFilename(), readFileSync(await file.path(), 'utf8')];
  }

  test('bring a catalog by file, which is undone and imported again', async () => {
    const page = await open();
    await page.getByText('Nothing has been imported yet').waitFor();
    await choose(page, 'products.csv', CATALOG);
    await page.getByRole('heading', { name: 'products.csv', level: 1 }).waitFor();
    await page.getByText('CSV with commas · UTF-8 · 12 of 13 columns are read').waitFor();
    await select(page, 'Pictures', 'Leave them out');
    await select(page, 'Currency of new products', 'PEN · Peruvian Sol');
    await row(page, 'Linen shirt')
      .getByText(/PEN.89\.90/)
      .waitFor();
    await row(page, 'broken').getByText('title').waitFor();
    await page.getByText('2 rows with a value').waitFor();
    await page.getByText(`Not read: ${LONG}`).waitFor();
    expect(await browser().look(page, 'import-preview')).toEqual([]);
    expect(await own.client.publications.list({ visibility: 'all' }).all()).toEqual([]);

    await page.getByRole('tab', { name: 'Problems 2' }).click();
    await row(page, 'Linen shirt').waitFor({ state: 'hidden' });
    const [name, text] = await downloaded(page, () => button(page, 'Download as CSV').click());
    expect(name).toBe('products-failed.csv');
    expect(text.split('\r\n')).toEqual([
      '\uFEFF"Line","Result","Id in another system","Product","Price","Currency","Details"',
      expect.stringMatching(/^"6","Problem","broken","","","",".*title.*"$/),
      expect.stringMatching(/^"7","Problem","odd",.*price.*"$/),
      '',
    ]);

    await button(page, 'Import').click();
    await page.getByText('The file is imported: 4 new products').waitFor();
    await titlesBecome(['Linen shirt', 'マテ茶', 'شاي أخضر بالنعناع', LONG]);
    expect(await browser().look(page, 'import-done')).toEqual([]);
    const all = await own.client.publications.list({ visibility: 'all' }).all();
    await own.client.publications.update(all.find(({ handle }) => handle === 'mate')!.id, { title: 'Mate' });
    await button(page, 'Undo the import').click();
    await page.getByText('4 new ones deleted').waitFor();
    await page.getByRole('link', { name: 'Mate' }).waitFor();
    await titlesBecome(['Mate']);
    expect(await browser().look(page, 'import-undone')).toEqual([]);
    await button(page, 'Import again').click();
    await titlesBecome(['Linen shirt', 'Mate', 'شاي أخضر بالنعناع', LONG]);

    await page.getByRole('link', { name: 'Import and export' }).first().click();
    await row(page, 'products.csv').getByText('Imported with problems').waitFor();
    expect(await browser().look(page, 'imports')).toEqual([]);
    await row(page, 'products.csv').click();
    await button(page, 'More actions').click();
    await page.getByRole('menuitem', { name: 'Delete the file' }).click();
    await page.getByRole('dialog', { name: 'Delete products.csv?' }).waitFor();
    await button(page, 'Delete').click();
    await page.getByText('Nothing has been imported yet').waitFor();
    expect(await own.client.imports.list().all()).toEqual([]);
  });

  test('map columns that have other names by hand, and read the same file as a price list', async () => {
    const page = await open();
    const file = 'Referencia;Nombre;Precio;Nota;SKU\nte;Té verde;12,50;x;T-1\nmate;Mate;9,00;;M-1\n';
    await choose(page, 'precios.csv', file);
    const fault = page.getByRole('alert');
    await fault.getByText('The file cannot be imported like this').waitFor();
    await select(page, 'Content', 'Products of Shopify or a spreadsheet');
    await fault.getByText('Is the file a Shopify product export?').waitFor();
    const columns = page.getByRole('list', { name: 'Columns' }).getByRole('listitem');
    expect(await columns.getByRole('strong').allTextContents()).toEqual([
      ...['Referencia', 'Nombre', 'Precio', 'Nota', 'SKU'],
    ]);
    await columns.nth(2).getByText('12,50 · 9,00').waitFor();
    await select(page, 'Use of Referencia', 'Handle');
    await select(page, 'Use of Precio', 'Price');
    await select(page, 'Use of Nombre', 'Title');
    await fault.waitFor({ state: 'hidden' });
    await row(page, 'Té verde').getByText('$12.50').waitFor();
    expect(await browser().look(page, 'import-columns')).toEqual([]);
    // The use moves from one column to the other.
    await select(page, 'Use of SKU', 'Handle (now: Referencia)');
    await page.getByRole('button', { name: 'Use of Referencia' }).getByText('Do not import').waitFor();
    await select(page, 'Use of Referencia', 'Handle (now: SKU)');
    await row(page, 'Té verde').getByText('te', { exact: true }).waitFor();
    await button(page, 'Import').click();
    await titlesBecome(['Mate', 'Té verde']);

    await page.goto('/console/imports');
    await choose(page, 'lista.csv', 'handle;price;quantity_available\nte;13.50;7\nmate;9;\nnada;1;1\n');
    await page.getByRole('heading', { name: 'What changes in prices and stock' }).waitFor();
    await row(page, 'Té verde').getByText('$12.50 → $13.50').waitFor();
    await row(page, 'Té verde').getByText('Not tracked → 7').waitFor();
    await page.getByText('1 changed').waitFor();
    expect(await browser().look(page, 'import-prices')).toEqual([]);
    await button(page, 'Import').click();
    await page.getByText('The file is imported: 1 changed product').waitFor();
    const [tea] = (await own.client.publications.list({ visibility: 'all' }).all()).filter(
      ({ title }) => title === 'Té verde',
    );
    expect(tea).toMatchObject({ price_amount: 1_350, quantity_available: 7 });
  });

  test('are watched in a second window, and cannot be started twice', async () => {
    const page = await open();
    await choose(page, 'products.csv', CATALOG.replace(/https:[^,]*/g, ''));
    await button(page, 'Import').waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    const { live } = own.harness.service.runtime.events;
    const append = live.append.bind(live);
    let goOn = (): void => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const spy = jest.spyOn(live, 'append').mockImplementation((...args) => held.then(() => append(...args)));
    try {
      await button(page, 'Import').click();
      for (const each of [page, other]) await each.getByRole('progressbar', { name: /^Importing/ }).waitFor();
      expect(await browser().look(other, 'import-progress')).toEqual([]);
      await page.getByRole('link', { name: 'Import and export' }).first().click();
      await row(page, 'products.csv').getByText('Importing').waitFor();
      await choose(page, 'second.csv', 'Title,Price\nCup,3\n');
      await page.getByText('This was stopped before its end').waitFor();
    } finally {
      goOn();
      spy.mockRestore();
    }
    await other.getByText('The file is imported: 4 new products').waitFor();
    await button(page, 'Go on').click();
    await row(page, 'Cup').waitFor();
    await page.getByRole('link', { name: 'Import and export' }).first().click();
    await row(page, 'products.csv').getByText('4 new · 2 problems').waitFor();
  });

  test('say at once why a file cannot be imported', async () => {
    const page = await open();
    const zone = (await page.getByText('Drop a file with products, prices or reviews here').boundingBox())!;
    const large = join(own.harness.data_dir, 'large.csv');
    writeFileSync(large, '');
    truncateSync(large, 50_000_001);
    const data = { items: [], files: [large], dragOperationsMask: 1 };
    const devtools = await page.context().newCDPSession(page);
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await devtools.send('Input.dispatchDragEvent', { type, x: zone.x + 5, y: zone.y + 5, data });
    const alert = page.getByRole('alert');
    await alert.getByText('larger than 50 MB').waitFor();
    for (const [content, reason] of [
      ['', 'is empty'],
      [Buffer.from('Título;Precio', 'latin1'), 'is neither UTF-8 text'],
    ] as const) {
      await choose(page, `${LONG}.csv`, content);
      await alert.getByText(reason).waitFor();
    }
    expect(await browser().look(page, 'imports-refused')).toEqual([]);
    expect(await own.client.imports.list().all()).toEqual([]);
    await choose(page, `${LONG}.csv`, `Handle,Title,Variant Price,${LONG}\n`);
    await alert.getByText('has no rows after the header').waitFor();
    expect(await browser().look(page, 'import-failed')).toEqual([]);

    await page.goto('/console/imports');
    const sent = new Promise<Route>((resolve) => {
      const hold = (route: Route) =>
        route.request().method() === 'POST' ? resolve(route) : route.continue();
      void page.route('**/api/imports*', hold);
    });
    await choose(page, 'lost.csv', 'Handle,Title\nmug,Mug\n');
    const upload = await sent;
    await page.getByRole('link', { name: 'Products' }).first().click();
    await page.getByRole('heading', { name: 'Products', level: 1 }).waitFor();
    await upload.fulfill({ status: 413 });
    await page.getByText('lost.csv cannot be imported: ').waitFor();
    browser().expectProblem('/api/imports');
  });

  test('go back out as JSON Lines, and as CSV for Excel', async () => {
    await own.client.publications.create({ title: '=Té', price_currency: 'PEN', price_amount: 1_250 });
    const page = await open();
    const dialog = page.getByRole('dialog', { name: 'Export the catalog' });
    await button(page, 'Export').click();
    await dialog.getByRole('radio', { name: /^CSV for Excel/ }).waitFor();
    expect(await browser().look(page, 'export')).toEqual([]);
    const [name, lines] = await downloaded(page, () => button(page, 'Download').click());
    expect(name).toMatch(/^catalog-\d{4}-\d\d-\d\d\.jsonl$/);
    expect(JSON.parse(lines)).toMatchObject({ title: '=Té', price_amount: 1_250 });
    await dialog.waitFor({ state: 'hidden' });

    await button(page, 'Export').click();
    await dialog.getByText('CSV for Excel').click();
    const [, table] = await downloaded(page, () => button(page, 'Download').click());
    expect(table.startsWith('\uFEFFHandle,')).toBe(true);
    expect(table).toContain(",'=Té,");
  });
});
