import type { Page } from 'playwright-core';
import { FRAMES } from '../support/browser';
import { describeWithProgram } from '../support/programs';
import { useConsoleShop } from './console-shop';

describeWithProgram('chromium', 'languages and currencies in the console', () => {
  const own = useConsoleShop();
  const { browser, open } = own;

  const save = async (page: Page) => {
    await page.getByRole('button', { name: /^Save/ }).click();
    await page.getByRole('region', { name: 'Unsaved changes' }).waitFor({ state: 'detached' });
  };
  const chooseIn = async (page: Page, field: string, typed: string, name: string) => {
    const input = page.getByRole('combobox', { name: field });
    // The list closes when the page is scrolled.
    await input.scrollIntoViewIfNeeded();
    await page.evaluate(FRAMES);
    await input.fill(typed);
    await page.getByRole('option', { name, exact: true }).click();
  };
  const newShirt = (more: object = {}) =>
    own.client.publications.create({
      title: 'Camisa',
      description: 'De algodón',
      price_currency: 'PEN',
      price_amount: 10_000,
      options: [{ name: 'Color' }],
      variants: [{ option_values: { Color: 'Rojo' } }, { option_values: { Color: 'Azul' } }],
      ...more,
    });
  const readAgain = (id: string) =>
    own.client.publications.get(id, { visibility: 'all', expand: ['variants'] });

  test('a store begins to speak German, and a product is translated', async () => {
    const { id } = await newShirt();
    const page = await open('/store');
    const choose = (...choice: readonly [field: string, typed: string, name: string]) =>
      chooseIn(page, ...choice);
    await choose('The language of your texts now', 'spani', 'Spanish · es');
    await choose('Add a language', 'germ', 'German · de');
    await choose('Add a language', 'german (sw', 'German (Switzerland) · de-CH');
    await save(page);
    await page.getByRole('button', { name: /First language/ }).click();
    await page.getByRole('option', { name: 'German', exact: true }).click();
    await page.getByText(/^Your texts will count as German/).waitFor();
    await page.getByRole('button', { name: 'Remove German (Switzerland)' }).click();
    await page.getByText(/^Your translations are kept/).waitFor();
    expect(await browser().look(page, 'store-languages')).toEqual([]);
    await page.getByRole('button', { name: 'Discard' }).click();
    expect((await own.client.store.get()).locales).toEqual(['es', 'de', 'de-CH']);

    await page.goto(`/console/products/${id}`);
    await page.getByRole('tab', { name: 'German 5 missing' }).click();
    await page.getByText('0 of 5 texts translated').waitFor();
    await page.getByLabel('Title', { exact: true }).fill('Hemd');
    await page.getByRole('textbox', { name: 'Description', exact: true }).fill('Aus Baumwolle');
    await page.getByRole('textbox', { name: 'Rojo' }).fill('Rot');
    await page.getByText('3 of 5 texts translated').waitFor();
    expect(await browser().look(page, 'product-german')).toEqual([]);
    // Somebody else translates another text, and the same one.
    await own.client.publications.update(id, {
      translations: { de: { title: 'Bluse', seo: { title: 'Blusen' } } },
    });
    await page.getByRole('listitem', { name: 'Title (German)' }).getByText('Theirs: Bluse').waitFor();
    await page.getByRole('button', { name: 'Mine: Hemd' }).click();
    await save(page);
    expect((await readAgain(id)).translations).toEqual({
      de: {
        title: 'Hemd',
        description: 'Aus Baumwolle',
        description_html: '<p>Aus Baumwolle</p>',
        seo: { title: 'Blusen' },
        options: { Color: { values: { Rojo: 'Rot' } } },
      },
    });
    await page.getByLabel('Title of the result').fill('');
    await page.getByLabel('Address name').fill('hemd');
    await save(page);
    await page.getByRole('tab', { name: 'Spanish' }).click();
    expect(await page.getByLabel('Title', { exact: true }).inputValue()).toBe('Camisa');
    const { translations, title } = await readAgain(id);
    expect(title).toBe('Camisa');
    expect(translations?.de).toMatchObject({ title: 'Hemd', handle: 'hemd' });
    expect(translations?.de?.seo).toBeUndefined();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    await page.getByText('This is the copy').waitFor();
    const copy = await readAgain(new URL(page.url()).pathname.split('/').pop()!);
    expect(copy.translations?.de).toMatchObject({ title: 'Hemd' });
    expect(copy.translations?.de).not.toHaveProperty('handle');
  });

  test('listings, pictures and the store are translated in the same way', async () => {
    await own.client.store.update({ locales: ['es', 'ar'], description: 'Ropa' });
    const { id } = await own.client.listings.create({ name: 'Camisas' });
    const page = await open(`/listings/${id}`);
    await page.getByRole('tab', { name: 'Arabic 1 missing' }).click();
    await page.getByLabel('Name', { exact: true }).fill('قمصان');
    expect(await browser().look(page, 'listing-arabic')).toEqual([]);
    await save(page);
    expect((await own.client.listings.get(id)).translations).toEqual({ ar: { name: 'قمصان' } });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('tab', { name: 'Arabic 1 missing' }).waitFor();
    await page.goto('/console/store');
    await page.getByRole('tab', { name: 'Arabic' }).click();
    await page.getByLabel('Description').fill('ملابس');
    await save(page);
    expect((await own.client.store.get()).translations).toEqual({ ar: { description: 'ملابس' } });
  });

  test('a market for the euro derives its prices from those in soles', async () => {
    await own.client.store.update({ currency: 'PEN', locales: ['es', 'de'] });
    const page = await open('/store');
    const choose = (...choice: readonly [field: string, typed: string, name: string]) =>
      chooseIn(page, ...choice);
    await choose('Add a currency to sell in', 'eur', 'Euro · EUR');
    await page.getByRole('button', { name: 'Add a market' }).click();
    await page.getByLabel('Name in addresses').fill('eu');
    await choose('Countries', 'germ', 'Germany · DE');
    await page.getByRole('combobox', { name: 'Countries' }).fill('Austria');
    await page.getByRole('combobox', { name: 'Countries' }).press('Enter');
    await page.getByText('Make prices from those in PEN').click();
    await page.getByRole('textbox', { name: 'Percent of the price' }).fill('26.000001');
    await page.getByText('PEN 100.00 → €26.00').waitFor();
    await page.getByRole('textbox', { name: 'Ends in' }).fill('99');
    await page.getByText('PEN 100.00 → €26.99').waitFor();
    expect(await browser().look(page, 'store-markets')).toEqual([]);
    await page.getByRole('textbox', { name: 'Ends in' }).fill('100');
    await page.getByRole('button', { name: /^Save/ }).click();
    await page.getByText(/^Expected/).waitFor();
    browser().expectProblem('400');
    await page.getByRole('textbox', { name: 'Ends in' }).fill('99');
    await save(page);
    const { currencies, markets } = await own.client.store.get();
    expect(currencies).toEqual(['PEN', 'EUR']);
    expect(markets).toEqual([
      { handle: 'eu', currency: 'EUR', countries: ['DE', 'AT'], derived: { percent: 26.000001, ending: 99 } },
    ]);
  });

  test('a derived price is shown as one, and a price that is set replaces it', async () => {
    await own.client.store.update({
      currencies: ['PEN', 'EUR'],
      markets: [{ handle: 'eu', currency: 'EUR', countries: [], derived: { percent: 25.5, ending: 99 } }],
    });
    const { id } = await newShirt();
    const page = await open(`/products/${id}`);
    await page.getByRole('button', { name: /Currency of the table/ }).click();
    await page.getByRole('option', { name: 'EUR' }).click();
    const price = page.getByRole('textbox', { name: 'Price (EUR) of Rojo', exact: true });
    await page.getByText(/^Grey prices are derived from those in PEN/).waitFor();
    expect([await price.inputValue(), await price.getAttribute('placeholder')]).toEqual(['', '25.99']);
    await price.fill('20');
    await price.scrollIntoViewIfNeeded();
    expect(await browser().look(page, 'variants-derived')).toEqual([]);
    await save(page);
    const { variants } = await readAgain(id);
    expect(variants?.data.map(({ prices }) => prices?.EUR)).toEqual([
      { price_amount: 2_000 },
      { price_amount: 2_599, derived: true },
    ]);
    await price.fill('');
    await save(page);
    const again = await readAgain(id);
    expect(again.variants?.data[0]?.prices?.EUR).toEqual({ price_amount: 2_599, derived: true });
    const { id: other } = await newShirt({ options: undefined, variants: undefined });
    await page.goto(`/console/products/${other}`);
    await page.getByText('Derived: €25.99').waitFor();
  });

  test('prices are set in other currencies, for a product and its variants', async () => {
    await own.client.store.update({ currencies: ['PEN', 'USD', 'JPY'] });
    const { id } = await newShirt({ options: undefined, variants: undefined });
    const page = await open(`/products/${id}`);
    await page.getByRole('textbox', { name: 'Price (USD)', exact: true }).fill('25.99');
    await page.getByRole('textbox', { name: 'Sale price (USD)' }).fill('19.99');
    await page.getByRole('textbox', { name: 'Price (JPY)', exact: true }).fill('4000.50');
    await page.getByText('Type an amount such as 12.50').waitFor();
    await page.getByRole('textbox', { name: 'Price (JPY)', exact: true }).fill('4000');
    expect(await browser().look(page, 'product-currencies')).toEqual([]);
    await save(page);
    expect((await readAgain(id)).prices).toMatchObject({
      USD: { price_amount: 2_599, sale_price_amount: 1_999 },
      JPY: { price_amount: 400_000 },
    });
    await page.getByRole('textbox', { name: 'Price (JPY)', exact: true }).fill('');
    await save(page);
    expect(Object.keys((await readAgain(id)).prices ?? {})).toEqual(['USD']);

    const { id: shirt } = await newShirt();
    await page.goto(`/console/products/${shirt}`);
    await page.getByRole('button', { name: /Currency of the table/ }).click();
    await page.getByRole('option', { name: 'USD' }).click();
    await page.getByRole('textbox', { name: 'Price (USD) of Rojo', exact: true }).fill('30');
    await page.getByRole('textbox', { name: 'Price (USD) of Rojo', exact: true }).press('Enter');
    await page.locator('[aria-label="Price (USD) of Azul"]:focus').waitFor();
    await page.keyboard.type('28');
    expect(await browser().look(page, 'variants-currencies')).toEqual([]);
    await page.getByRole('textbox', { name: 'Sale price (USD) of Azul' }).fill('40');
    await page.getByRole('button', { name: /^Save/ }).click();
    await page.getByText(/^Sale price \(USD\): Expected/).waitFor();
    browser().expectProblem('400');
    await page.getByRole('textbox', { name: 'Sale price (USD) of Azul' }).fill('20');
    await save(page);
    const { prices, variants } = await readAgain(shirt);
    expect(prices?.USD).toMatchObject({ price_amount: 2_800, price_range: { min: 2_800, max: 3_000 } });
    expect(variants?.data.map((each) => each.prices?.USD?.sale_price_amount)).toEqual([undefined, 2_000]);
  });

  test('the products that lack German texts are listed, and open in German', async () => {
    await own.client.store.update({ locales: ['es', 'de'] });
    await newShirt();
    const { id } = await newShirt({
      title: 'Pantalón',
      options: undefined,
      variants: undefined,
      description: '',
    });
    await own.client.publications.update(id, { translations: { de: { title: 'Hose' } } });
    const page = await open('/');
    await page.getByRole('link', { name: 'Products with texts missing in German 1' }).click();
    await page.getByText('Texts missing in: German').waitFor();
    await page.getByText('1 product', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByRole('button', { name: /German \(1\) Texts missing in/ }).waitFor();
    await page.keyboard.press('Escape');
    expect(await browser().look(page, 'products-untranslated')).toEqual([]);
    await page.getByRole('link', { name: 'Camisa' }).click();
    await page.getByRole('tab', { name: /German/, selected: true }).waitFor();
  });
});
