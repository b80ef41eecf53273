import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { dropUnused } from '../../projections/maintenance/rebuild';
import { streamName } from '../../shared/catalog/events/envelope';
import { ownShop } from '../api/own-shop';
import { useBrowser } from '../support/browser';
import { damage, withBody } from '../support/damage';
import { addDeadLetter, appendUnreadable } from '../support/dead-letters';
import { describeWithProgram } from '../support/programs';
import { waitFor } from '../support/wait-for';

const TOKEN = 'an operator token of 32 characters';

describeWithProgram('chromium', 'the console of operators', () => {
  const browser = useBrowser();
  const own = ownShop({ is_own: true, environment: { CONSOLE_OPERATOR_TOKEN: TOKEN } });

  const signIn = async (page: Page, token = TOKEN): Promise<void> => {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const openPage = async (path: string): Promise<Page> => {
    const page = await browser().newPage(own.harness.url, { locale: 'en-US', timezoneId: 'America/Lima' });
    await page.goto(`/console/operator${path}`);
    await signIn(page);
    await page.getByRole('navigation', { name: 'Console' }).waitFor();
    // The page finds out with a request that it has no session yet.
    browser().expectProblem('/operator/tasks');
    return page;
  };
  const look = async (page: Page, name: string) => expect(await browser().look(page, name)).toEqual([]);

  test('takes the token only, and ends with the sign-out', async () => {
    const page = await browser().newPage(own.harness.url, { locale: 'en-US' });
    await page.goto('/console/operator');
    await signIn(page, own.shop.secret.key);
    await page.getByText('This is not the token').waitFor();
    await signIn(page);
    await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor();
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Operator', level: 1 }).waitFor();
    browser().expectProblem('/operator/');
  });

  test('shows the health at a glance, and goes on by itself after an outage', async () => {
    const page = await openPage('');
    await page.getByRole('status').filter({ hasText: 'Everything works' }).waitFor();
    const live = page.getByRole('region', { name: 'Live' });
    await live.getByRole('img', { name: /^Lag of live .* now is 0/ }).waitFor();
    await live.getByRole('img', { name: /^Log positions of live .* 0 appended, 0 projected/ }).waitFor();
    await look(page, 'operator-health');

    const { live: views } = own.harness.service.runtime.viewStores;
    await views.setPaused(true);
    await page.getByText('An operator has paused the projections of live.').waitFor();
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    await views.setPaused(false);
    await page.getByRole('heading', { name: 'Everything works' }).waitFor();

    await page.route('**/operator/health', (route) => route.abort());
    await page.getByRole('heading', { name: /^No answer since \d\d:\d\d:\d\d$/ }).waitFor();
    await look(page, 'operator-no-answer');
    await page.unroute('**/operator/health');
    await page.getByRole('heading', { name: 'Everything works' }).waitFor();
    browser().expectProblem('/operator/health');
  });

  test('rebuilds, verifies and repairs the documents of a realm', async () => {
    const { publications } = own.client;
    const { id } = await publications.create({ title: 'Cup', price_currency: 'USD', price_amount: 900 });
    await own.harness.settled();
    const page = await openPage('/projections');
    const start = async (task: string) => {
      await page.getByRole('button', { name: `${task}…` }).click();
      const dialog = page.getByRole('dialog', { name: `${task} live` });
      await dialog.getByText('It takes one CPU').waitFor();
      if (task === 'Rebuild') await look(page, 'operator-task-asks');
      await dialog.getByRole('button', { name: 'Start' }).click();
    };
    await start('Rebuild');
    await page.getByRole('progressbar', { name: /^Rebuild live/ }).waitFor();
    await page.getByText('Version v2 is active').waitFor();
    await page.getByRole('row', { name: /^v1/ }).getByText('Retired').waitFor();

    const { live } = own.harness.service.runtime.viewStores;
    await damage(live, own.shop.store_id, 'publications', id, withBody({ title: 'Changed by hand' }));
    await start('Verify');
    await page.getByText('Verify live: 1 difference').waitFor();
    const differences = page.getByRole('grid', { name: 'Differences' });
    const difference = differences.getByRole('row').filter({ hasText: 'body.title' });
    for (const text of ['"Cup"', '"Changed by hand"']) await difference.getByText(text).waitFor();
    await look(page, 'operator-projections');
    await start('Repair');
    await page.getByText('1 document was rewritten.').waitFor();
    expect((await publications.get(id)).title).toBe('Cup');
    // A dead letter would be in the retired version, too.
    await dropUnused(live);
  });

  test('stops a task', async () => {
    const page = await openPage('/projections/test');
    // On a busy machine, it may end before the button is pressed.
    await waitFor(async () => {
      await page.getByRole('button', { name: 'Rebuild…' }).click();
      await page.getByRole('button', { name: 'Start' }).click();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page
        .getByText(/Rebuild test: (stopped|failed)|is active/)
        .first()
        .waitFor();
      return page.getByText('Rebuild test: stopped').isVisible();
    });
    await page.getByText('It continues when it is started again.').waitFor();
  });

  test('retries and skips dead letters, and shows the list again if it has changed', async () => {
    const { publications } = own.client;
    const { id } = await publications.create({ title: 'Tea', price_currency: 'USD', price_amount: 1_250 });
    await addDeadLetter(own.harness, own.shop.store_id, streamName('live', 'publication', id), 'It broke');
    for (const n of [1, 2]) await appendUnreadable(own.harness, own.shop.store_id, n);
    const page = await openPage('');
    await page.getByRole('link', { name: '3 dead letters' }).click();
    const broken = page.getByRole('region', { name: 'It broke' });
    await broken.getByRole('button', { name: 'Retry', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('1 dead letter has left the list.').waitFor();
    await broken.waitFor({ state: 'detached' });
    expect((await publications.get(id)).title).toBe('Tea');

    const unreadable = page.getByRole('region', { name: 'unknown event type OfALaterRelease' });
    await unreadable.getByText('2 dead letters').waitFor();
    await look(page, 'operator-dead-letters');
    await unreadable.getByRole('button', { name: 'Retry all' }).click();
    await dialog.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('2 of 2 failed again.').waitFor();

    await unreadable.getByRole('button', { name: 'Skip all' }).click();
    const third = await appendUnreadable(own.harness, own.shop.store_id, 3);
    await unreadable.getByText('3 dead letters').waitFor();
    await dialog.getByRole('button', { name: 'Skip' }).click();
    await dialog.getByText('The list has changed meanwhile.').waitFor();
    browser().expectProblem('/operator/dead-letters/release');
    await dialog.getByText(third).waitFor();
    await look(page, 'operator-release');
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    await unreadable.getByRole('link', { name: third }).click();
    await page.getByText('Cannot be read: unknown event type').waitFor();
    await page.getByText('Event 0 could not be projected').waitFor();
    await look(page, 'operator-stream');
    await page.goBack();
    await unreadable.getByRole('button', { name: 'Skip all' }).click();
    await dialog.getByRole('button', { name: 'Skip' }).click();
    await page.getByRole('heading', { name: 'No dead letters' }).waitFor();
  });

  test('shows the events of a store, also the older ones, and a stream with its data', async () => {
    const other = await own.harness.newShop();
    const { publications } = own.harness.client(other.secret);
    for (let n = 0; n < 51; n++)
      await publications.create({ title: `T${n}`, price_currency: 'USD', price_amount: n });
    const page = await openPage('/events');
    await page.getByLabel('Store or account').fill(other.store_id);
    await page.getByLabel('Types').fill('PublicationCreated');
    await page.keyboard.press('Enter');
    const links = page.getByRole('link', { name: /^live\.publication-/ });
    await waitFor(async () => (await links.count()) === 50);
    expect(page.url()).toContain(`store=${other.store_id}&type=PublicationCreated`);
    await look(page, 'operator-events');
    await page.getByRole('button', { name: /^Older than/ }).click();
    await waitFor(async () => (await links.count()) === 51);
    await links.last().click();
    await page.getByRole('heading', { name: 'Stream' }).waitFor();
    await page.reload();
    await page.getByRole('region', { name: '0 · PublicationCreated' }).getByText('"title": "T0"').waitFor();
  });

  test('creates an account, a store and a key whose secret works until it is revoked', async () => {
    const works = async (key: string) =>
      (await own.harness.request('POST', '/auth/token', { headers: { 'x-api-key': key } })).status === 200;
    const page = await openPage('/stores');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New account' }).click();
    await dialog.getByLabel('Name').fill('Tienda Ñandú');
    await page.keyboard.press('Enter');
    await page.getByText('Account Tienda Ñandú was created.').waitFor();
    await page.getByRole('tab', { name: 'Accounts' }).click();
    await page.getByRole('button', { name: 'Actions for Tienda Ñandú' }).click();
    await page.getByRole('menuitem', { name: 'New store' }).click();
    await dialog.getByLabel('Name').fill('محل الشاي');
    await dialog.getByLabel('Currency').fill('x');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText(/ISO 4217/).waitFor();
    browser().expectProblem('/operator/stores');
    await dialog.getByLabel('Currency').fill('pen');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Store محل الشاي was created.').waitFor();
    await page.getByRole('tab', { name: 'Stores' }).click();
    await look(page, 'operator-stores');

    await page.getByRole('button', { name: 'Actions for محل الشاي' }).click();
    await page.getByRole('menuitem', { name: 'Keys' }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog.getByLabel('Name').fill('Ana');
    await look(page, 'operator-new-key');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('dialog', { name: 'The key of Ana' }).getByRole('button', { name: 'Copy' }).click();
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    const secret = String(await page.evaluate('navigator.clipboard.readText()'));
    await look(page, 'operator-secret');
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await own.harness.settled();
    expect([secret.slice(0, 8), await works(secret)]).toEqual(['sk_live_', true]);

    const act = async (action: string) => {
      await page.getByRole('button', { name: 'Actions for Ana' }).first().click();
      await page.getByRole('menuitem', { name: action }).click();
      await dialog.getByRole('button', { name: action }).click();
    };
    await act('Rotate');
    const next = (await dialog.getByText(/^sk_live_/).textContent())!;
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await own.harness.settled();
    expect([await works(secret), await works(next)]).toEqual([true, true]);
    await look(page, 'operator-keys');
    await act('Revoke');
    await page.getByText('The key “Ana” is revoked').waitFor();
    await waitFor(async () => !(await works(secret)));
    expect(await works(next)).toBe(true);
  });

  test('suspends an account and reinstates it', async () => {
    const page = await openPage('/stores?tab=accounts');
    const account = page.getByRole('row').nth(1);
    const act = async (action: string) => {
      await account.getByRole('button', { name: /^Actions for/ }).click();
      await page.getByRole('menuitem', { name: action }).click();
    };
    await act('Suspend');
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await account.getByText('Suspended').waitFor();
    await act('Reinstate');
    await account.getByText('Active').waitFor();
  });

  test('lists the webhooks that do not send', async () => {
    const { webhooks } = own.client;
    const { id } = await webhooks.create({ url: 'https://example.com/sends' });
    await webhooks.update(id, { status: 'paused' });
    await own.harness.settled();
    const page = await openPage('/stores');
    await page.getByRole('tab', { name: 'Webhooks that do not send 1' }).click();
    const row = page.getByRole('row', { name: 'https://example.com/sends' });
    await row.getByText('by the merchant').waitFor();
    await look(page, 'operator-webhooks');
    await row.getByRole('link').click();
    await page
      .getByRole('region', { name: '0 · WebhookCreated' })
      .getByText('"secret": "(hidden)"')
      .waitFor();
  });

  test('asks for the token over the page when the session has ended', async () => {
    const page = await openPage('/stores');
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Late');
    const sessions = join(own.harness.data_dir, 'sessions');
    for (const file of readdirSync(sessions)) rmSync(join(sessions, file));
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    browser().expectProblem('/operator/accounts');
    await look(page, 'operator-session-ended');
    await signIn(page);
    await page.getByText('Account Late was created.').waitFor();
  });

  test('speaks Spanish', async () => {
    const page = await openPage('');
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Español' }).click();
    await page.getByRole('heading', { name: 'Todo funciona' }).waitFor();
    await look(page, 'operator-spanish');
  });
});
