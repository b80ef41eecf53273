import type { Route } from 'playwright-core';
import type { Review } from '../../shared/client';
import { flatPicture } from '../support/pictures';
import { describeWithProgram } from '../support/programs';
import { waitFor } from '../support/wait-for';
import { useConsoleShop } from './console-shop';

describeWithProgram('chromium', 'the reviews of a merchant', () => {
  const own = useConsoleShop();
  const { browser, open } = own;

  const statusesBecome = (expected: Record<string, string>) =>
    waitFor(
      async () => {
        const all: Review[] = await own.client.reviews.list({ status: 'all' }).all();
        const statuses = Object.fromEntries(all.map(({ author_name, status }) => [author_name, status]));
        return JSON.stringify(statuses) === JSON.stringify({ ...statuses, ...expected });
      },
      { what: `the statuses ${JSON.stringify(expected)}` },
    );

  test('are moderated beside their products, by keys and in bulk, with an undo', async () => {
    await own.client.store.update({ new_review_status: 'pending' });
    const { id } = await own.client.publications.create({
      title: 'Green tea',
      price_currency: 'PEN',
      price_amount: 1_250,
    });
    const picture = await flatPicture('png', { width: 300, height: 200 });
    await own.client.media.processed(
      (await own.client.media.upload(new Blob([new Uint8Array(picture)]), { publication_id: id })).id,
    );
    const review = (author_name: string, rating: number, body: string, more = {}) =>
      own.client.reviews.create(id, { author_name, rating, body, verified_purchase: true, ...more });
    await review('Ana', 5, 'The best tea that I have had in years. '.repeat(20), { title: 'Wonderful' });
    await review('ليلى', 4, 'شاي رائع، سأطلبه مرة أخرى');
    await review('花子', 2, 'x'.repeat(200));
    for (const name of ['Bot', 'Bot 2']) await review(name, 1, 'Buy now');
    const page = await open('/reviews');
    const item = (name: string) => page.getByRole('listitem', { name: `Review by ${name}`, exact: true });
    const undo = page.getByRole('button', { name: 'Undo' });
    await page.getByRole('tab', { name: 'To moderate 5' }).waitFor();
    await item('Ana').getByRole('img', { name: '5 stars of 5' }).waitFor();
    await item('Ana').getByRole('link', { name: 'Green tea' }).waitFor();
    await page.keyboard.press('j');
    expect(await browser().look(page, 'reviews')).toEqual([]);

    // The newest is first.
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    await page.keyboard.press('p');
    await page.getByText('Published the review').waitFor();
    await statusesBecome({ 花子: 'rejected', ليلى: 'published' });
    await page.getByRole('tab', { name: 'To moderate 3' }).waitFor();
    await page.keyboard.press('u');
    await page.keyboard.press('u');
    await statusesBecome({ 花子: 'pending', ليلى: 'pending' });
    await page.getByRole('tab', { name: 'To moderate 5' }).waitFor();

    for (const name of ['Bot', 'Bot 2']) await item(name).getByRole('checkbox').press('Space');
    await page.getByText('2 selected').waitFor();
    await page.getByRole('button', { name: 'Reject' }).first().click();
    await page.getByText('Rejected 2 reviews').waitFor();
    await statusesBecome({ Bot: 'rejected', 'Bot 2': 'rejected', Ana: 'pending' });

    await item('Ana').getByRole('button', { name: 'Actions for the review by Ana' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText('Deleted the review').waitFor();
    await page.getByRole('tab', { name: 'All 4' }).waitFor();
    await undo.click();
    await page.getByRole('tab', { name: 'All 5' }).click();
    await item('Ana').getByText('Wonderful').waitFor();
    await item('Ana').getByText('Verified purchase').waitFor();
    await statusesBecome({ Ana: 'pending' });

    const refuse = (route: Route) => route.fulfill({ status: 403, json: {} });
    const idOf = async (name: string) =>
      (await own.client.reviews.list({ status: 'all' }).all()).find(({ author_name }) => author_name === name)
        ?.id;
    for (const name of ['Bot 2', 'Bot']) await item(name).getByRole('checkbox').press('Space');
    // The second deletion fails, and then the first attempt to undo the first one.
    await page.route(`**/api/review/${await idOf('Bot')}*`, refuse, { times: 1 });
    await page.route(`**/api/publication/${id}/reviews*`, refuse, { times: 1 });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('tab', { name: 'All 4' }).waitFor();
    await item('Bot').waitFor();
    await undo.click();
    await waitFor(() => browser().problems.length === 2, { what: 'both refusals' });
    await undo.click();
    await page.getByRole('tab', { name: 'All 5' }).waitFor();
    await statusesBecome({ 'Bot 2': 'rejected' });
    browser().expectProblem('403');

    await own.client.publications.delete(id);
    await page.reload();
    await item('Ana').getByText('Deleted product').waitFor();
    await item('Ana').getByRole('button', { name: 'Actions for the review by Ana' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete the review?' });
    await question.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('tab', { name: 'All 4' }).waitFor();
  });
});
