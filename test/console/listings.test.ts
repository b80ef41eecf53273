import type { Page } from 'playwright-core';
import type { Listing } from '../../shared/client';
import { flatPicture } from '../support/pictures';
import { describeWithProgram } from '../support/programs';
import { waitFor } from '../support/wait-for';
import { useConsoleShop } from './console-shop';

const LONG = 'Wort'.repeat(30);

describeWithProgram('chromium', 'the listings of a merchant', () => {
  const own = useConsoleShop();
  const { browser, open } = own;

  const find = async (name: string): Promise<Listing | undefined> =>
    (await own.client.listings.list({ visibility: 'all' }).all()).find((each) => each.name === name);
  const row = (page: Page, name: string) => page.getByRole('row', { name, exact: true });

  test('are 45 in a tree: found, moved by keyboard and by drag, renamed, deleted and restored', async () => {
    const { id: drinks } = await own.client.listings.create({ name: 'Drinks' });
    for (const name of ['قهوة عربية', '日本茶', LONG])
      await own.client.listings.create({ name, parent_id: drinks });
    for (let n = 1; n <= 41; n++)
      await own.client.listings.create({ name: `Shelf ${n}`, ...(n % 9 === 0 && { visibility: 'private' }) });
    await own.client.publications.create({
      title: 'Cup',
      price_currency: 'PEN',
      price_amount: 900,
      listing_id: (await find('Shelf 3'))!.id,
    });
    const page = await open('/listings');
    await page.getByText('45 listings').waitFor();
    await row(page, 'Drinks').getByRole('button', { name: 'Show what is below Drinks' }).click();
    await row(page, '日本茶').waitFor();
    expect(await browser().look(page, 'listings')).toEqual([]);

    await page.keyboard.press('/');
    await page.keyboard.type('shelf 4');
    await row(page, 'Shelf 41').waitFor();
    await row(page, 'Shelf 7').waitFor({ state: 'detached' });
    await page.getByRole('searchbox', { name: 'Search' }).clear();

    await row(page, 'Shelf 7').dragTo(row(page, 'Drinks'));
    await page.getByText('Moved Shelf 7 to Drinks').waitFor();
    await waitFor(async () => (await find('Shelf 7'))?.parent_id === drinks, { what: 'the move' });

    await row(page, '日本茶').hover();
    await page.mouse.down();
    await row(page, 'Shelf 3').hover();
    await page.getByText('Drop here to move it to the top').hover();
    await page.mouse.up();
    await page.getByText('Moved 日本茶 to the top').waitFor();

    await row(page, 'Shelf 7').getByRole('button', { name: 'Actions for Shelf 7' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Move to…' }).press('Enter');
    await page.keyboard.type('shelf 12');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByText('Moved Shelf 7 to Shelf 12').waitFor();
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await waitFor(async () => (await find('Shelf 7'))?.parent_id === drinks, { what: 'the undo' });

    await row(page, 'Shelf 3').focus();
    await page.keyboard.press('F2');
    await page.keyboard.type('Cups and s');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('bowl');
    await page.keyboard.press('Enter');
    await page.getByText('Renamed to Cups and bowls').waitFor();
    expect(await find('Cups and bowls')).toMatchObject({ stats: { publication_count: 1 } });

    const remove = async (name: string) => {
      await row(page, name)
        .getByRole('button', { name: `Actions for ${name}` })
        .click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
    };
    await page.route(`**/api/listing/${drinks}*`, (route) => route.fulfill({ status: 403, json: {} }), {
      times: 1,
    });
    await remove('Drinks');
    await page.getByText('Deleted 3 listings').waitFor();
    browser().expectProblem('403');
    await page.getByText('42 listings').waitFor();
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await page.getByText('45 listings').waitFor();
    await remove('Drinks');
    await page.getByText('Deleted Drinks and 3 listings below it').waitFor();
    await page.getByText('41 listings').waitFor();
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await page.getByText('45 listings').waitFor();

    await row(page, 'Shelf 5').focus();
    await page.keyboard.press('Delete');
    await page.getByText('Deleted Shelf 5').waitFor();
    await page.getByRole('tab', { name: 'Deleted' }).click();
    await row(page, 'Shelf 5').getByRole('button', { name: 'Restore' }).click();
    await page.getByText('No deleted listings').waitFor();
    expect(await find('Shelf 5')).toBeDefined();
  });

  test('show their products, of which three are featured, ordered, and taken back', async () => {
    const { id } = await own.client.listings.create({ name: 'Tea' });
    const titles = ['Assam', 'Bancha', 'شاي أخضر', 'Darjeeling', '抹茶', LONG];
    for (const title of titles)
      await own.client.publications.create({
        title,
        price_currency: 'PEN',
        price_amount: 900,
        listing_id: id,
      });
    await own.client.publications.create({ title: 'Earl Grey', price_currency: 'PEN', price_amount: 700 });
    const featured = async () =>
      (await own.client.listings.publications(id, { featured: true }).all()).map(({ title }) => title);
    const featuredAre = (...expected: string[]) =>
      waitFor(async () => JSON.stringify(await featured()) === JSON.stringify(expected), {
        what: `${expected.join()} to be featured`,
      });
    const page = await open(`/listings/${id}`);
    for (const title of ['Assam', '抹茶', 'شاي أخضر'])
      await page.getByRole('button', { name: `Feature ${title}` }).click();
    const list = page.getByRole('grid', { name: 'Featured products' });
    const inList = (name: string) => list.getByRole('row', { name });
    await page.getByText('3 featured products').waitFor();
    await featuredAre('Assam', '抹茶', 'شاي أخضر');
    await inList('شاي أخضر').focus();
    await page.keyboard.press('Alt+ArrowUp');
    await page.keyboard.press('Alt+ArrowUp');
    await featuredAre('شاي أخضر', 'Assam', '抹茶');
    await inList('抹茶').dragTo(inList('شاي أخضر'), { targetPosition: { x: 200, y: 3 } });
    await featuredAre('抹茶', 'شاي أخضر', 'Assam');
    expect(await browser().look(page, 'listing')).toEqual([]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await featuredAre('شاي أخضر', 'Assam', '抹茶');
    await list.getByRole('button', { name: 'Feature Assam no longer' }).click();
    await featuredAre('شاي أخضر', '抹茶');

    await page.getByRole('button', { name: 'Add products' }).click();
    await page.getByRole('dialog').getByRole('searchbox').fill('earl');
    await page.getByRole('button', { name: 'Add Earl Grey' }).click();
    await page.getByText('Added Earl Grey').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Feature Earl Grey' }).waitFor();
  });

  test('are made and changed in an editor that keeps what was typed, and shows what others save', async () => {
    const { id: parent } = await own.client.listings.create({ name: 'Kitchen' });
    const page = await open(`/listings/new?parent=${parent}`);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('台所用品');
    await page.getByRole('textbox', { name: 'Description', exact: true }).fill('Pots and pans');
    await page.reload();
    const picture = await flatPicture('png', { width: 300, height: 200 });
    const addPicture = async (name: string) => {
      const choosing = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Add pictures' }).click();
      await (await choosing).setFiles({ name, mimeType: 'image/png', buffer: picture });
      await page.getByRole('row', { name: 'Picture 1' }).waitFor();
    };
    await addPicture('pots.png');
    await page.getByRole('row', { name: 'Picture 1' }).getByRole('button', { name: 'Remove' }).click();
    await addPicture('pans.png');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('row', { name: 'Picture 2' }).waitFor();
    await page.keyboard.press('Control+s');
    await page.getByRole('heading', { name: '台所用品', level: 1 }).waitFor();
    const made = (await find('台所用品'))!;
    expect(made).toMatchObject({
      parent_id: parent,
      description: 'Pots and pans',
      stats: { media_count: 2 },
    });

    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Cookware');
    await page.getByRole('textbox', { name: 'Title of the result' }).fill('All for your kitchen');
    await own.client.listings.update(made.id, { name: 'Pots', description: 'For cooks' });
    const conflict = page.getByRole('listitem', { name: 'Name', exact: true });
    await conflict.getByRole('button', { name: 'Theirs: Pots' }).waitFor();
    expect(await browser().look(page, 'listing-conflict')).toEqual([]);
    await conflict.getByRole('button', { name: 'Mine: Cookware' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Cookware', level: 1 }).waitFor();
    const seo = { title: 'All for your kitchen' };
    expect(await find('Cookware')).toMatchObject({ description: 'For cooks', seo });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'Pots', level: 1 }).waitFor();
    expect((await find('Pots'))?.seo).toBeUndefined();
  });
});
