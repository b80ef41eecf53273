import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Media } from '../../shared/client';
import { cornersPicture, flatPicture } from '../support/pictures';
import { describeWithProgram } from '../support/programs';
import { makeTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { useConsoleShop } from './console-shop';

/** Drops files into the page, as somebody does who drags them from a folder. */
async function drop(page: Page, files: readonly string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: 640, y: 400, data });
}

describeWithProgram('chromium', 'the media of a merchant', () => {
  const own = useConsoleShop();
  const { browser, open } = own;
  const folder = makeTempDir();
  afterAll(() => folder.remove());

  const upload = async (bytes: Buffer, fields = {}): Promise<Media> => {
    const { id } = await own.client.media.upload(new Blob([new Uint8Array(bytes)]), fields);
    return own.client.media.processed(id);
  };
  const file = (name: string, bytes: Buffer): string => {
    const path = join(folder.path, name);
    writeFileSync(path, bytes);
    return path;
  };

  test('is uploaded by a drop, described, focused, and deleted with its uses in sight', async () => {
    const sold = { price_currency: 'PEN', price_amount: 1_250, visibility: 'private' } as const;
    const { id: tea } = await own.client.publications.create({ title: 'شاي أخضر', ...sold });
    const corners = {
      top_left: '#c0392b',
      top_right: '#2980b9',
      bottom_left: '#27ae60',
      bottom_right: '#f39c12',
    };
    const { id: used } = await upload(
      await cornersPicture('png', { width: 600, height: 400 }, corners).toBuffer(),
      { publication_id: tea },
    );
    const page = await open('/media');
    await page.getByRole('tab', { name: 'All 1' }).waitFor();
    await drop(page, [
      file('green.png', await flatPicture('png', { width: 300, height: 300 })),
      file('notes.txt', Buffer.from('Notes')),
      file('not-really.png', Buffer.from('Notes')),
      file('tall.png', await flatPicture('png', { width: 200, height: 900 }, '#8e44ad')),
    ]);
    const refused = page.getByRole('alert');
    await refused.filter({ hasText: 'notes.txt is not a JPEG' }).waitFor();
    await refused.filter({ hasText: 'not-really.png is not a JPEG' }).waitFor();
    browser().expectProblem('/api/media');
    await page.getByRole('tab', { name: 'All 3' }).waitFor();
    expect(await browser().look(page, 'media')).toEqual([]);
    await page.getByRole('button', { name: 'Remove notes.txt' }).click();

    await page.getByRole('tab', { name: 'Used 1', exact: true }).click();
    await page.getByRole('row', { name: 'No alt text' }).click();
    await page.getByRole('textbox', { name: 'Alternative text' }).fill('緑茶の葉');
    const point = page.getByRole('button', { name: /^Focal point/ });
    const picture = page.getByRole('dialog').getByRole('img', { name: 'Picture' });
    const box = (await picture.boundingBox())!;
    await picture.click({ position: { x: box.width * 0.25, y: box.height * 0.25 } });
    await point.press('ArrowRight');
    await page.getByRole('button', { name: 'Focal point: 26 % from the left, 25 % from the top' }).waitFor();
    await page.getByRole('dialog').getByRole('link', { name: 'شاي أخضر' }).waitFor();
    expect(await browser().look(page, 'media-detail')).toEqual([]);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy address' }).click();
    await page.getByText('Copied the address').waitFor();
    const address = await page.evaluate('navigator.clipboard.readText()');
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    expect((await downloading).url()).toBe(address);
    await own.client.media.update(used, { alt: 'Leaves' });
    await page.getByRole('button', { name: 'Theirs: Leaves' }).waitFor();
    await page.getByRole('button', { name: 'Mine: 緑茶の葉' }).click();
    // The field keeps the text that the person types during the save.
    const saving = page.waitForRequest((request) => request.method() === 'PATCH');
    await page.route(`**/api/media/${used}*`, async (route) => {
      if (route.request().method() === 'PATCH') await typed;
      await route.continue();
    });
    const typed = saving.then(() => page.getByRole('textbox', { name: 'Alternative text' }).fill('お茶'));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await expect(page.getByRole('textbox', { name: 'Alternative text' }).inputValue()).resolves.toBe('お茶');
    expect(await own.client.media.get(used)).toMatchObject({
      alt: '緑茶の葉',
      focal_point: { x: 0.26, y: 0.25 },
    });

    await page.getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete the picture?' });
    await question.getByText('شاي أخضر').waitFor();
    await question.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No picture is used').waitFor();
    await waitFor(
      async () => (await own.client.publications.get(tea, { visibility: 'all' })).media_ids.length === 0,
      {
        what: 'the product without its picture',
      },
    );

    await page.getByRole('tab', { name: 'Unused 2' }).click();
    for (const n of [0, 1]) await page.getByRole('row').nth(n).getByRole('checkbox').click({ force: true });
    await page.getByText('2 selected').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Every picture is used').waitFor();
  });
});
