import { permissionsOf } from '../../shared/catalog/vocabulary';
import { describeWithProgram } from '../support/programs';
import { isSignedWith, Receiver } from '../support/receiver';
import { waitFor } from '../support/wait-for';
import { useConsoleShop } from './console-shop';

/** A page of the history has 50 changes. */
const MORE_THAN_TWO_PAGES = 110;

describeWithProgram('chromium', 'the office of a merchant', () => {
  const own = useConsoleShop({ environment: { WEBHOOKS: 'private' } });
  const { browser, open } = own;
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await Receiver.start();
  });
  afterEach(() => receiver.close());

  test('history: a change of a price in words and money, and the return to the price before', async () => {
    await own.client.keys.update(own.shop.secret.id, { name: 'Ana' });
    await own.client.keys.create({ name: 'Berta', type: 'secret' });
    const plate = { title: 'Plato', price_currency: 'USD', price_amount: 500 };
    for (let n = 0; n < MORE_THAN_TWO_PAGES; n++) await own.client.publications.create(plate);
    const listing = await own.client.listings.create({ name: 'Vajilla' });
    const cup = await own.client.publications.create({
      ...{ title: 'Taza', price_currency: 'USD', price_amount: 2_990, listing_id: listing.id },
    });
    await own.client.publications.update(cup.id, { price_amount: 1_990 });
    await own.client.publications.update(cup.id, { visibility: 'private', vendor: 'Tres Soles' });
    await own.client.listings.update(listing.id, { visibility: 'private' });
    const page = await open('/history');
    const priced = page.getByText('Ana changed the price of Taza from $29.90 to $19.90');
    await priced.waitFor();
    await page.getByText('Ana changed 2 fields of Taza').waitFor();
    await page.getByText('Ana made Vajilla private').waitFor();
    expect(await browser().look(page, 'history')).toEqual([]);

    await page.getByRole('listitem').filter({ has: priced }).getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Return to how it was before this change' }).click();
    await page.getByText('Ana changed 3 fields of Taza').waitFor();
    expect(await own.client.publications.get(cup.id, { visibility: 'all' })).toMatchObject({
      ...{ price_amount: 2_990, visibility: 'public' },
    });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('set the vendor to “Tres Soles”').nth(1).waitFor();
    expect(await own.client.publications.get(cup.id, { visibility: 'all' })).toMatchObject({
      ...{ price_amount: 1_990, visibility: 'private', vendor: 'Tres Soles' },
    });

    expect(await page.getByText('The operator created').count()).toBe(0);
    // The end of the list never leaves this window.
    await page.setViewportSize({ width: 1_280, height: 20_000 });
    await page.getByText('The operator created the store').waitFor();
    await page.setViewportSize({ width: 1_280, height: 900 });

    await page.getByRole('button', { name: 'Everything What' }).click();
    await page.getByRole('option', { name: 'Listings' }).click();
    await priced.waitFor({ state: 'hidden' });
    expect(new URL(page.url()).search).toBe('?resource=listing');
    await page.getByRole('button', { name: 'Everybody Who' }).click();
    await page.getByRole('option', { name: 'Berta' }).click();
    await page.getByText('No change matches these filters').waitFor();
    await page.getByRole('button', { name: 'Show everything' }).click();
    await page.getByRole('link', { name: 'Vajilla' }).first().click();
    await page.waitForURL(`**/console/listings/${listing.id}`);
  });

  test('webhooks: one is made and tested, and its deliveries are seen with what was sent and answered', async () => {
    const page = await open('/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill('ftp://erp');
    await dialog.getByLabel('Name').fill('ERP');
    await dialog.getByRole('button', { name: /What is sent/ }).click();
    await page.getByRole('option', { name: 'Only these changes' }).click();
    const products = dialog.getByRole('group', { name: 'Products' });
    for (const topic of ['Created', 'Changed']) await products.getByText(topic).click();
    expect(await browser().look(page, 'webhook-new')).toEqual([]);
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    await dialog.getByRole('alert').or(dialog.getByText(/URL/)).first().waitFor();
    browser().expectProblem('/api/webhook');
    await dialog.getByLabel('Address').fill(receiver.url);
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    const secret = await dialog.getByText(/^whsec_/).textContent();
    expect(await browser().look(page, 'secret')).toEqual([]);
    await dialog.getByRole('button', { name: 'I have stored it' }).click();

    await page.getByRole('heading', { name: 'ERP', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('row', { name: 'Test message' }).getByText('204', { exact: true }).waitFor();
    expect(isSignedWith(secret!, receiver.received[0]!)).toBe(true);
    receiver.answer = () => ({ status: 500 });
    const { id } = await own.client.publications.create({
      ...{ title: 'Taza', price_currency: 'USD', price_amount: 2_990 },
    });
    await page.getByText('1 message is tried again').waitFor();
    expect(await browser().look(page, 'webhook')).toEqual([]);
    await page.getByRole('row', { name: 'Products: created' }).last().click();
    await dialog.getByText(id).waitFor();
    await dialog.getByText('status 500').waitFor();
    expect(await browser().look(page, 'delivery')).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).last().click();

    receiver.answer = () => ({ status: 204 });
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    const delivered = { has: page.getByText('204', { exact: true }) };
    await page.getByRole('row', { name: 'Products: created' }).filter(delivered).waitFor();

    const before = receiver.types.filter((each) => each === 'publication.created').length;
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Send changes again' }).click();
    await dialog.getByRole('spinbutton').first().click();
    await page.keyboard.type('010120261200AM');
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await waitFor(() => receiver.types.filter((each) => each === 'publication.created').length > before);
    await page.getByRole('main').getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('row', { name: receiver.url }).getByText('Sends').waitFor();
    expect(await browser().look(page, 'webhooks')).toEqual([]);
    await page.getByRole('row', { name: receiver.url }).click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Tell another program what changes').waitFor();
    await waitFor(async () => (await own.client.webhooks.list().all()).length === 0);
  });

  test('keys: one is made for a person, seen as used with what it did, and revoked', async () => {
    const page = await open('/keys');
    const dialog = page.getByRole('dialog').last();
    await page.getByRole('row', { name: 'secret' }).getByText('Your key').waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog.getByLabel('Name').fill('Ana');
    await dialog.getByRole('button', { name: /Permissions/ }).click();
    await page.getByRole('option', { name: 'Only these' }).click();
    await dialog.getByRole('group', { name: 'Webhooks' }).getByText('Write').click();
    expect(await browser().look(page, 'key-new')).toEqual([]);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const key = (await dialog.getByText(/^sk_live_/).textContent())!;
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    const row = page.getByRole('row', { name: 'Ana' });
    await row.getByText('Not yet').waitFor();

    const ana = own.harness.client({ id: '', token: '', key });
    await ana.publications.create({ title: 'Taza', price_currency: 'USD', price_amount: 2_990 });
    await row.getByText(/now|ago/).waitFor();
    expect(await browser().look(page, 'keys')).toEqual([]);
    await row.click();
    await dialog.getByText('Ana created the product “Taza”').waitFor();
    const [created] = (await own.client.keys.list().page()).data;
    expect(created!.permissions).toHaveLength(11);
    expect(created!.permissions).not.toContain('write:webhooks');
    expect(await browser().look(page, 'key')).toEqual([]);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByText('This cannot be undone').waitFor();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'hidden' });
    await page.getByRole('tab', { name: /Revoked/ }).click();
    await row.getByText('Revoked').waitFor();
    await expect(ana.publications.list().page()).rejects.toMatchObject({ status: 401 });
  });

  test('keys: a key that may not manage keys says what it lacks', async () => {
    const permissions = permissionsOf('secret').filter((each) => each !== 'write:webhooks');
    const { key } = await own.harness.newKey('secret', [own.shop.store_id], permissions);
    const page = await open('/keys', key);
    await page.getByText('Yours lacks: write:webhooks').waitFor();
  });

  test('store: opening hours by day, beside a change of somebody else', async () => {
    const holidays = { day: 'Feriados', hours: 'Con cita' };
    await own.client.store.update({
      businessHours: [
        { day: 'lunes a viernes', hours: '10:00–19:00' },
        { day: 'domingo', hours: 'Cerrado' },
        holidays,
      ],
      contact: { phone: '+51 1 555 0100' },
    });
    const page = await open('/store');
    expect(await page.getByLabel('When').inputValue()).toBe('Feriados');
    await page.getByText('Friday', { exact: true }).click();
    const [closes] = [page.getByRole('group', { name: 'Monday: closes' })];
    await closes.getByRole('spinbutton', { name: /hour/ }).fill('8');
    await page.getByText('Saturday', { exact: true }).click();
    await page.getByRole('button', { name: 'Saturday: add hours' }).click();
    await page.getByRole('button', { name: 'Add a line' }).click();
    await page.getByLabel('When').last().fill('Viernes');
    await page.getByLabel('Hours', { exact: true }).last().pressSequentially('9-13');
    await page.getByLabel('E-mail').fill('hola@shop');
    await page.getByRole('button', { name: 'No currency Currency' }).click();
    await page.keyboard.type('PEN');

    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'PEN · Peruvian Sol Currency' }).waitFor();
    expect(await browser().look(page, 'store')).toEqual([]);
    await own.client.store.update({ contact: { phone: '+51 1 555 0199' } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/mail/i).nth(1).waitFor();
    browser().expectProblem('/api/store');
    await page.getByLabel('E-mail').fill('hola@shop.pe');
    await page.keyboard.press('Control+s');
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await own.client.store.get()).toMatchObject({
      currency: 'PEN',
      contact: { phone: '+51 1 555 0199', email: 'hola@shop.pe' },
      businessHours: [
        { day: 'Lunes', hours: '10:00–20:00' },
        { day: 'Martes a jueves', hours: '10:00–19:00' },
        { day: 'Sábado', hours: '10:00–19:00, 19:00–19:00' },
        { day: 'Domingo', hours: 'Cerrado' },
        holidays,
        { day: 'Viernes', hours: '9-13' },
      ],
    });
  });

  test('overview: what to do first, then what needs attention, with links to it', async () => {
    const page = await open('/');
    await page.getByRole('region', { name: 'First steps' }).waitFor();
    expect(await browser().look(page, 'overview-empty')).toEqual([]);
    const tea = { price_currency: 'USD', price_amount: 1_250, price_active: true };
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const { id } = await own.client.publications.create({ ...tea, title: 'Black', quantity_available: 0 });
    await own.client.publications.create({
      ...tea,
      title: 'Green',
      visibility: 'private',
      publish_at: tomorrow,
    });
    await own.client.publications.create({
      title: 'Herbal',
      price_currency: 'USD',
      price_amount: 1,
      price_active: false,
    });
    await own.client.reviews.create(id, { rating: 5, author_name: 'Ana', body: 'Good', status: 'pending' });
    receiver.answer = () => ({ status: 410 });
    await own.client.webhooks.create({ url: receiver.url });
    await own.client.publications.update(id, { vendor: 'Puna' });
    await waitFor(async () => (await own.client.webhooks.list().all())[0]?.status === 'disabled');
    await page.reload();
    const matters = page.getByRole('list', { name: 'Needs attention' });
    for (const [label, count, address] of [
      ['Webhooks that do not deliver', 1, '/webhooks'],
      ['Reviews that wait for you', 1, '/reviews?status=pending'],
      ['Products that are sold out', 1, '/products?in_stock=false'],
      ['Products without a price', 1, '/products?has_price=false'],
      ['Products without a picture', 3, '/products?has_media=false'],
    ] as const) {
      const matter = matters.getByRole('link', { name: `${label} ${count}` });
      expect(await matter.getAttribute('href')).toBe(`/console${address}`);
    }
    await page.getByText('Is published').waitFor();
    await page.getByText('set the vendor of Black to “Puna”').waitFor();
    expect(await browser().look(page, 'overview')).toEqual([]);
    await matters.getByRole('link', { name: /sold out/ }).click();
    await page.getByText('Black').first().waitFor();
    expect(await page.getByText('Herbal').count()).toBe(0);
    await page.goBack();
    await matters.getByRole('link', { name: /Webhooks/ }).click();
    await page.getByRole('row', { name: receiver.url }).getByText('Stopped').waitFor();
  });
});
