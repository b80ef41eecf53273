import { CatalogProposedError, type Proposal } from '../../shared/client';
import { latch } from '../support/latch';
import { describeWithProgram } from '../support/programs';
import { waitFor } from '../support/wait-for';
import { useConsoleShop } from './console-shop';

const RUN = 'claude-code-0195d4a2-8f00-7c3e-9a41-5a7d2f1c0b9e';
const TEA = { price_currency: 'USD', price_amount: 1_000 };

describeWithProgram('chromium', 'a merchant and an assistant', () => {
  const own = useConsoleShop();
  const { browser, open } = own;

  const newAssistant = async () => {
    const made = await own.client.keys.create({ name: 'Claude', type: 'secret', needs_confirmation: true });
    const key = { id: made.id, token: '', key: made.secret! };
    return { ...key, client: own.harness.client(key, { run: RUN }) };
  };
  const proposalOf = async (write: Promise<unknown>): Promise<Proposal> => {
    const error = await write.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(CatalogProposedError);
    return (error as CatalogProposedError).proposal;
  };
  const priceOf = async (id: string) => (await own.client.publications.get(id)).price_amount;

  test('an assistant proposes a price and a batch: one is confirmed, the other is rejected', async () => {
    const { client: assistant } = await newAssistant();
    const green = await own.client.publications.create({ ...TEA, title: 'Green tea' });
    const black = await own.client.publications.create({ ...TEA, title: 'Black tea' });
    const price = await proposalOf(assistant.publications.update(green.id, { price_amount: 900 }));
    const batch = await proposalOf(
      assistant.publications.batch({
        items: [
          { action: 'update', id: green.id, body: { price_amount: 500, vendor: 'Puna' } },
          { action: 'update', id: black.id, body: { price_amount: 600 } },
          { action: 'create', body: { ...TEA, title: 'White tea' } },
        ],
      }),
    );
    const page = await open('/');
    await page
      .getByRole('list', { name: 'Needs attention' })
      .getByRole('link', { name: /confirmation 2/ })
      .click();
    await page.getByRole('tab', { name: 'Waiting (2)' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Proposals 2' }).waitFor();
    expect(await browser().look(page, 'proposals')).toEqual([]);
    await page.getByRole('row', { name: price.summary }).click();
    await page.getByText('Claude changed the price of Green tea from $10.00 to $9.00').waitFor();
    expect(await browser().look(page, 'proposal')).toEqual([]);
    expect(await priceOf(green.id)).toBe(1_000);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('status').filter({ hasText: 'Confirmed and done' }).first().waitFor();
    await page
      .getByRole('region', { name: 'What has changed' })
      .getByText(/from \$10.00 to \$9.00/)
      .waitFor();
    expect(await priceOf(green.id)).toBe(900);
    expect(await browser().look(page, 'proposal-done')).toEqual([]);

    await page.getByRole('main').getByRole('link', { name: 'Proposals' }).click();
    await page.getByRole('row', { name: batch.summary }).click();
    await page.getByText('Claude changed 2 fields of Green tea').waitFor();
    await page.getByText('changed the price from $9.00 to $5.00').waitFor();
    await page.getByText('Claude changed the price of Black tea from $10.00 to $6.00').waitFor();
    await page.getByText('Claude created the product “White tea”').waitFor();
    expect(await browser().look(page, 'proposal-batch')).toEqual([]);
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.getByLabel('Reason').fill('Not before the weekend');
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
    await page.getByText('Not before the weekend').waitFor();
    expect(await assistant.proposals.get(batch.id)).toMatchObject({
      ...{ status: 'rejected', reason: 'Not before the weekend' },
    });
    expect(await priceOf(black.id)).toBe(1_000);
    await page.getByRole('main').getByRole('link', { name: 'Proposals' }).click();
    await page.getByText('No change waits for a confirmation').waitFor();
    await page.getByRole('tab', { name: 'Decided' }).click();
    await page.getByRole('row', { name: batch.summary }).getByText('Rejected').waitFor();
    await page.getByRole('row', { name: price.summary }).click();
    await page.getByRole('link', { name: 'See and undo the run' }).click();
    await page.getByRole('region', { name: `Run ${RUN}: 1 change` }).waitFor();
  });

  test('a proposal that somebody else decides meanwhile shows its new state, and one that fails says why', async () => {
    const { client: assistant } = await newAssistant();
    const { id } = await own.client.publications.create({ ...TEA, title: 'Green tea' });
    const price = await proposalOf(assistant.publications.update(id, { price_amount: 900 }));
    const page = await open(`/proposals/${price.id}`);
    await page.getByRole('button', { name: 'Reject' }).click();
    // The page does not read the new state before the press.
    const pressed = latch();
    await page.route(new RegExp(`/api/proposal/${price.id}(\\?|$)`), async (route) => {
      await pressed.opened;
      await route.continue();
    });
    await own.client.proposals.confirm(price.id);
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
    pressed.open();
    await page.getByText('This was decided meanwhile').waitFor();
    await page.getByText('Confirmed and done').waitFor();
    browser().expectProblem('/reject');

    const title = await proposalOf(assistant.publications.update(id, { title: 'Sencha' }));
    await own.client.publications.delete(id);
    await page.goto(`/console/proposals/${title.id}`);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('This does not exist any more').waitFor();
  });

  test('what is proposed is told in words, whatever it concerns', async () => {
    const { client: assistant } = await newAssistant();
    const listing = await own.client.listings.create({ name: 'Drinks' });
    const tea = await own.client.publications.create({
      ...{ title: 'Green tea', price_currency: 'USD', price_amount: 1_000, options: [{ name: 'Size' }] },
      variants: ['Small', 'Large'].map((Size) => ({ option_values: { Size }, price_amount: 1_000 })),
    });
    const [, large] = await own.client.publications.variants(tea.id).all();
    await own.client.publications.update(tea.id, { vendor: 'Puna' }, { run: RUN });
    const words: readonly (readonly [() => Promise<unknown>, string])[] = [
      [
        () => assistant.publications.update(tea.id, { listing_id: listing.id }),
        'Claude set the main listing of Green tea to “Drinks”',
      ],
      [
        () => assistant.publications.updateVariant(large!.id, { price_amount: 1_200 }),
        'Claude changed the price of Green tea from $10.00 to $12.00 (Large)',
      ],
      [
        () => assistant.listings.update(listing.id, { name: 'Teas' }),
        'changed the name of Drinks from “Drinks” to “Teas”',
      ],
      [() => assistant.store.update({ currency: 'PEN' }), 'Claude set the currency of new products'],
      [() => assistant.publications.delete(tea.id), 'Claude deleted the product “Green tea”'],
      [() => assistant.runs.undo(RUN), '1 returns to what it was'],
    ];
    const page = await open('/proposals');
    for (const [write, text] of words) {
      const { id } = await proposalOf(write());
      await page.goto(`/console/proposals/${id}`);
      await page.getByText(text).waitFor();
    }
  });

  test('the assistant’s own key decides nothing, and what it types in the console is proposed', async () => {
    const { client: assistant, key } = await newAssistant();
    const { id } = await own.client.publications.create({ ...TEA, title: 'Green tea' });
    const price = await proposalOf(assistant.publications.update(id, { price_amount: 900 }));
    const page = await open(`/proposals/${price.id}`, key);
    await page.getByText('somebody else has to decide this').waitFor();
    expect(await page.getByRole('button', { name: 'Confirm' }).count()).toBe(0);

    await page.goto(`/console/products/${id}`);
    await page.getByLabel('Title').first().fill('Sencha');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Proposed: a person has to confirm it').waitFor();
    expect(await page.getByLabel('Title').first().inputValue()).toBe('Sencha');
    expect((await own.client.publications.get(id)).title).toBe('Green tea');
    await page.reload();
    await page.getByRole('navigation').getByRole('link', { name: 'Proposals 2' }).waitFor();
    await page.getByText('Unsaved changes').first().waitFor();
    expect(await page.getByLabel('Title').first().inputValue()).toBe('Sencha');
  });

  test('a run of 40 prices is undone, except two that were changed since; and the undo is undone', async () => {
    const made = await own.client.publications.batch({
      items: Array.from({ length: 40 }, (_, n) => ({
        ...{ action: 'create' as const, body: { ...TEA, title: `Tea ${n + 1}` } },
      })),
    });
    const ids = made.items.map(({ id }) => id!);
    const items = ids.map((id) => ({ action: 'update' as const, id, body: { price_amount: 500 } }));
    await own.client.publications.batch({ items }, { run: RUN });
    for (const id of ids.slice(0, 2)) await own.client.publications.update(id, { price_amount: 700 });

    const page = await open('/history');
    await page
      .getByRole('link', { name: `Run: ${RUN}` })
      .first()
      .click();
    const card = page.getByRole('region', { name: `Run ${RUN}: 40 changes` });
    await card.waitFor();
    expect(await browser().look(page, 'run')).toEqual([]);
    await card.getByRole('button', { name: 'Undo this run' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('38 return to what they were').waitFor();
    const kept = dialog.getByRole('list', { name: '2 stay as they are:' });
    await kept
      .getByRole('listitem')
      .filter({ hasText: 'changed since' })
      .getByRole('link', { name: 'Tea 2' })
      .waitFor();
    expect(await browser().look(page, 'run-undo')).toEqual([]);
    await dialog.getByRole('button', { name: 'Undo this run' }).click();
    await page.getByText('38 are as before 2 stay as they are.').waitFor();
    const prices = async () =>
      (await own.client.publications.list({ visibility: 'all', limit: 50 }).all()).map(
        (each) => each.price_amount,
      );
    expect((await prices()).toSorted()).toEqual(
      [...Array.from({ length: 38 }, () => 1_000), 700, 700].toSorted(),
    );
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await waitFor(async () => (await prices()).filter((price) => price === 500).length === 38);
    await page.getByText('38 are as before', { exact: true }).waitFor();
  });

  test('a key is made that needs confirmation, with what an assistant needs to connect', async () => {
    const page = await open('/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Claude');
    await dialog.getByText('Writes need confirmation').click();
    expect(await browser().look(page, 'key-new-confirmation')).toEqual([]);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Connect an assistant').click();
    await dialog.getByText(`${own.harness.url}/mcp`).waitFor();
    expect(await browser().look(page, 'key-assistant')).toEqual([]);
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    const row = page.getByRole('row', { name: 'Claude' });
    await row.getByText('Proposes only').waitFor();
    await row.click();
    const needs = dialog.getByRole('switch', { name: 'Writes need confirmation' });
    expect(await needs.isChecked()).toBe(true);
    await dialog.getByText('Writes need confirmation').click();
    await row.getByText('Proposes only').waitFor({ state: 'hidden' });
  });
});
