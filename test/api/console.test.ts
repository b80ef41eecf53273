import { createApiKey } from '../../services/command/api-key';
import { ConsoleVisitor } from '../support/console';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';
import { isSignedWith, Receiver } from '../support/receiver';
import { waitFor } from '../support/wait-for';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250, quantity_available: 5 };

let harness: Harness;
let shop: Shop;
let merchant: ConsoleVisitor;

beforeAll(async () => {
  const environment = { CONSOLE: 'on', WEBHOOKS: 'private' };
  harness = await startHarness({ environment, webhook_times: { search_ms: 20 } });
});
afterAll(() => harness?.close());

const open: ConsoleVisitor['open'] = (path, sent) => merchant.open(path, sent);

/** Returns the fields of the form with the most fields, as a browser would send them unchanged. */
function formIn(html: string): URLSearchParams {
  const form = new URLSearchParams();
  const decoded = (text: string) =>
    text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
  for (const [tag] of html.matchAll(/<(?:input|textarea|select)\b[^>]*>(?:[^<]*<\/textarea>)?/g)) {
    const name = /\bname="([^"]*)"/.exec(tag)?.[1];
    if (name === undefined || /type="checkbox"/.test(tag)) continue;
    if (tag.startsWith('<select')) {
      const selected = html.slice(html.indexOf(tag)).match(/<option (?:[^>]* )?selected[^>]*>/)?.[0] ?? '';
      form.append(name, decoded(/value="([^"]*)"/.exec(selected)?.[1] ?? ''));
    } else
      form.append(
        name,
        // Without the line break right after the tag, as in HTML.
        decoded(/\bvalue="([^"]*)"/.exec(tag)?.[1] ?? />\n?([^<]*)<\/textarea>/.exec(tag)?.[1] ?? ''),
      );
  }
  return form;
}

const client = () => harness.client(shop.secret);
const product = (id: string) =>
  client().publications.get(id, { visibility: 'all', expand: ['variants'] }, { consistent: true });

async function signIn(): Promise<void> {
  const { status, headers, location } = await merchant.signIn(shop.secret.key);
  expect([status, location]).toEqual([303, '/console/products']);
  const set = headers.get('set-cookie')!;
  expect(set).toMatch(/^catalog_console=[^;]+; Path=\/console; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
  expect(set).not.toContain(shop.secret.key);
}

beforeEach(async () => {
  shop = await harness.newShop();
  merchant = new ConsoleVisitor(harness);
});

describe('the sign-in', () => {
  test('takes a secret key of a store, and ends with the sign-out', async () => {
    expect((await open('/products')).html).toContain('Secret key');
    const refused = await open('/sign-in', { form: { key: 'sk_live_unknown' } });
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null]);
    const shown = await open('/sign-in', { form: { key: shop.public.key } });
    expect([shown.status, shown.html]).toEqual([403, expect.stringContaining('begins with sk_')]);
    await signIn();
    const page = await open('/products');
    expect([page.status, page.html]).toEqual([200, expect.stringContaining('0 products')]);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
    const signed_out = { status: 401, html: expect.stringContaining('Sign in') };
    // The cookie is no token of the interface, so it is worth nothing without its session.
    const token = merchant.cookie.split('=')[1]!;
    expect((await harness.request('GET', '/api/store', { token })).status).toBe(401);
    const out = await open('/sign-out', { form: {} });
    expect(out.headers.get('set-cookie')).toMatch(/^catalog_console=; .*Max-Age=0/);
    expect(await open('/products')).toMatchObject(signed_out);
    merchant.cookie = 'catalog_console=forged';
    expect(await open('/products')).toMatchObject(signed_out);
  });

  test('is needed also by somebody who has a token of the key', async () => {
    merchant.cookie = `catalog_console=${shop.secret.token}`;
    for (const form of [undefined, { name: 'For ever', type: 'secret' }])
      expect(await open('/keys', form && { form })).toMatchObject({ status: 401 });
    await signIn();
    expect((await open('/keys')).html).not.toContain('For ever');
  });

  test('counts the attempts of each visitor by the address that a trusted proxy names, also without the shared limiter', async () => {
    const token = 'an operator token of 32 characters';
    const environment = {
      ...{ CONSOLE: 'on', RATE_LIMIT_AUTH: '1/3', TRUST_PROXY: 'loopback' },
      CONSOLE_OPERATOR_TOKEN: token,
    };
    const guessed = await startHarness({ environment, is_own: true });
    try {
      const visitor = new ConsoleVisitor(guessed);
      const attempt = async (address: string, path: string) => {
        const form = { key: `sk_live_${'x'.repeat(32)}`, token: 'guessed' };
        const sent = { form, headers: { 'x-forwarded-for': address } };
        const { status, html, headers } = await visitor.open(path, sent);
        if (status !== 429) return false;
        expect([headers.get('retry-after'), html]).toEqual([
          '1',
          expect.stringContaining('Too many attempts'),
        ]);
        return true;
      };
      const isRefused = async (address: string, path: string) => {
        const attempts = Array.from({ length: 10 }, () => attempt(address, path));
        return (await Promise.all(attempts)).includes(true);
      };
      await waitFor(() => isRefused('203.0.113.1', '/sign-in'));
      expect(await attempt('203.0.113.2', '/sign-in')).toBe(false);
      const failing = jest.spyOn(guessed.service.runtime.limiter, 'take');
      failing.mockRejectedValue(new Error('connection refused'));
      for (const path of ['/sign-in', '/operator/sign-in']) {
        await waitFor(() => isRefused('203.0.113.3', path));
        expect(await attempt('203.0.113.4', path)).toBe(false);
      }
    } finally {
      await guessed.close();
    }
  });

  test('a form of another site is refused', async () => {
    await signIn();
    const { id } = await client().publications.create(TEA);
    for (const origin of ['https://evil.example', 'null', '']) {
      const sent = await open(`/product/${id}/delete`, { form: {}, headers: { origin } });
      expect(sent.status).toBe(403);
    }
    expect((await product(id)).title).toBe('Tea');
  });
});

describe('a product', () => {
  beforeEach(signIn);

  test('is created and edited, and its title is shown as text', async () => {
    const empty = await open('/product/new', { form: formIn((await open('/product/new')).html) });
    expect([empty.status, empty.html]).toEqual([422, expect.stringContaining('title')]);
    const form = formIn((await open('/product/new')).html);
    form.set('title', '<script>alert(1)</script>');
    form.set('price_amount', '12,5');
    form.set('price_currency', 'USD');
    form.set('tags', 'new, organic');
    const { location } = await open('/product/new', { form });
    const id = /product\/([^?]+)/.exec(location)![1]!;
    expect(await product(id)).toMatchObject({ price_amount: 1_250, tags: ['new', 'organic'] });
    const page = await open(`/product/${id}`);
    expect(page.html).toContain('<h1>&lt;script>alert(1)&lt;/script></h1>');
    const edited = formIn(page.html);
    edited.set('title', 'Tea');
    edited.set('quantity_available', '7');
    edited.set('tags', '');
    expect((await open(`/product/${id}`, { form: edited })).status).toBe(303);
    const saved = await product(id);
    expect(saved).toMatchObject({ title: 'Tea', quantity_available: 7, price_amount: 1_250 });
    expect(saved.tags).toBeUndefined();
    edited.set('price_amount', 'cheap');
    const invalid = await open(`/product/${id}`, { form: edited });
    expect([invalid.status, invalid.html]).toEqual([
      422,
      expect.stringContaining('expected an amount such as 12.50'),
    ]);
    expect(invalid.html).toContain('value="cheap"');
  });

  test('that somebody else has changed meanwhile is not overwritten', async () => {
    const { id } = await client().publications.create(TEA);
    const form = formIn((await open(`/product/${id}`)).html);
    await client().publications.update(id, { price_amount: 900 });
    form.set('title', 'Green tea');
    const conflict = await open(`/product/${id}`, { form });
    expect([conflict.status, conflict.html]).toEqual([422, expect.stringContaining('Price is now: 9.00')]);
    expect(await product(id)).toMatchObject({ title: 'Tea', price_amount: 900 });
    // What the user wrote is still there, and is saved with the new version of the rest.
    const again = formIn(conflict.html);
    expect(again.get('title')).toBe('Green tea');
    await open(`/product/${id}`, { form: again });
    expect(await product(id)).toMatchObject({ title: 'Green tea', price_amount: 900 });
  });

  test('has variants with prices and stocks of their own, and a history to return to', async () => {
    const variants = ['S', 'M'].map((Size) => ({
      option_values: { Size },
      price_amount: 500,
      sku: `T-${Size}`,
    }));
    const { id } = await client().publications.create({ ...TEA, options: [{ name: 'Size' }], variants });
    const page = await open(`/product/${id}`);
    const form = formIn(page.html);
    const [small] = (await product(id)).variants.data;
    form.set(`variant:${small!.id}:quantity_available`, '3');
    expect((await open(`/product/${id}`, { form })).status).toBe(303);
    expect((await product(id)).variants.data).toMatchObject([
      { quantity_available: 3, price_amount: 500 },
      {},
    ]);
    await client().publications.update(id, { title: 'Mate' });
    expect((await open(`/product/${id}`)).html).toContain('<del>Tea</del> → <ins>Mate</ins>');
    const reverted = await open(`/product/${id}/revert`, { form: { revision: '1' } });
    expect(reverted.location).toContain('Returned');
    expect((await product(id)).title).toBe('Tea');
  });

  test('is deleted, found among the deleted ones and restored', async () => {
    const { id } = await client().publications.create({ ...TEA, title: 'Gone' });
    expect((await open(`/product/${id}/delete`, { form: {} })).location).toContain('Deleted+Gone');
    expect((await open('/products')).html).not.toContain('Gone');
    expect((await open('/products?visibility=deleted')).html).toContain(`/console/product/${id}/restore`);
    expect((await open(`/product/${id}/restore`, { form: {} })).location).toContain('Restored');
    expect((await product(id)).title).toBe('Gone');
  });

  test('several are changed at once after a preview, which notices later changes', async () => {
    const ids: string[] = [];
    for (const title of ['Tea', 'Mate']) ids.push((await client().publications.create({ ...TEA, title })).id);
    const selected = new URLSearchParams({ price: '+10%', stock: '-2', visibility: '' });
    for (const id of ids) selected.append('id', id);
    const preview = await open('/bulk', { form: selected });
    expect(preview.html).toMatch(
      /Tea<\/td><td>Price<\/td><td class="number"><del>\$12\.50<\/del><\/td><td class="number"><ins>\$13\.75/,
    );
    expect((await product(ids[0]!)).price_amount).toBe(1_250);
    const planIn = (html: string): string => /name="plan" value="([^"]*)"/.exec(html)![1]!;
    const confirmed = new URLSearchParams(selected);
    confirmed.set('plan', planIn(preview.html));
    await client().publications.update(ids[1]!, { price_amount: 2_000 });
    expect((await open('/bulk', { form: confirmed })).html).toContain('Somebody has changed these products');
    const again = await open('/bulk', { form: selected });
    confirmed.set('plan', planIn(again.html));
    expect((await open('/bulk', { form: confirmed })).location).toContain('2+changed');
    const after = await Promise.all(ids.map(product));
    expect(after.map((each) => [each.price_amount, each.quantity_available])).toEqual([
      [1_375, 3],
      [2_200, 3],
    ]);

    // The new value is the same, but not what it replaces.
    selected.set('price', '10.00');
    const fixed = new URLSearchParams(selected);
    fixed.set('plan', planIn((await open('/bulk', { form: selected })).html));
    await client().publications.update(ids[0]!, { price_amount: 777 });
    expect((await open('/bulk', { form: fixed })).html).toContain('Somebody has changed these products');
    expect((await product(ids[0]!)).price_amount).toBe(777);
    selected.set('price', 'free');
    expect((await open('/bulk', { form: selected })).html).toContain('expected an amount such as 12.50');
  });

  test('a percentage gives a whole price in yen, which is shown without decimals', async () => {
    const yen = { ...TEA, title: 'Sencha', price_currency: 'JPY', price_amount: 55_000 };
    const { id } = await client().publications.create(yen);
    const selected = new URLSearchParams({ price: '+1%', stock: '', visibility: '', id });
    const { html } = await open('/bulk', { form: selected });
    expect(html).toMatch(/<del>¥550<\/del>.*<ins>¥556<\/ins>/);
    selected.set('plan', /name="plan" value="([^"]*)"/.exec(html)![1]!);
    expect((await open('/bulk', { form: selected })).location).toContain('1+changed');
    expect((await product(id)).price_amount).toBe(55_600);
  });

  test('has amounts with the decimals of its currency', async () => {
    const yen = { title: 'Sencha', price_currency: 'JPY', price_amount: 50_000 };
    const { id } = await client().publications.create(yen);
    const editor = async () => formIn((await open(`/product/${id}`)).html);
    const change = async (price_currency: string, price_amount: string) => {
      const form = await editor();
      form.set('price_currency', price_currency);
      form.set('price_amount', price_amount);
      return open(`/product/${id}`, { form });
    };
    expect((await editor()).get('price_amount')).toBe('500');
    const refused = await change('JPY', '750.5');
    expect([refused.status, refused.html]).toEqual([422, expect.stringContaining('an amount such as 12<')]);
    expect((await change('JPY', '750')).status).toBe(303);
    expect((await product(id)).price_amount).toBe(75_000);
    const bulk = new URLSearchParams({ price: '12.50', stock: '', visibility: '', id });
    expect((await open('/bulk', { form: bulk })).html).toContain('an amount such as 12<');

    expect((await change('KWD', '1.250')).status).toBe(303);
    expect(await product(id)).toMatchObject({ price_currency: 'KWD', price_amount: 125 });
    expect((await editor()).get('price_amount')).toBe('1.250');
    const invalid = [
      ['KWD', '1.255'],
      ['PEN', '2.250'],
      ['HUF', '2.250'],
      ['JPY', '2.000'],
    ] as const;
    for (const [currency, text] of invalid)
      expect([text, (await change(currency, text)).status]).toEqual([text, 422]);
    expect((await change('PEN', '2,5')).status).toBe(303);
    expect(await product(id)).toMatchObject({ price_currency: 'PEN', price_amount: 250 });
  });

  test('has the currency of the store when it is new', async () => {
    const settings = formIn((await open('/store')).html);
    settings.set('currency', 'JPY');
    expect((await open('/store', { form: settings })).status).toBe(303);
    const form = formIn((await open('/product/new')).html);
    expect(form.get('price_currency')).toBe('JPY');
    form.set('title', 'Sencha');
    form.set('price_amount', '500.5');
    const refused = await open('/product/new', { form });
    expect([refused.status, formIn(refused.html).get('price_currency')]).toEqual([422, 'JPY']);
    form.set('price_amount', '500');
    const { location } = await open('/product/new', { form });
    const id = /product\/([^?]+)/.exec(location)![1]!;
    expect(await product(id)).toMatchObject({ price_currency: 'JPY', price_amount: 50_000 });
  });

  test('has the amounts of its variants with the decimals of its currency', async () => {
    const variants = ['S', 'L'].map((Size) => ({ option_values: { Size }, price_amount: 50_000 }));
    const shirt = {
      ...TEA,
      price_currency: 'JPY',
      price_amount: 50_000,
      options: [{ name: 'Size', values: ['S', 'L'] }],
    };
    const { id } = await client().publications.create({ ...shirt, quantity_available: undefined, variants });
    const form = formIn((await open(`/product/${id}`)).html);
    const [name] = [...form.keys()].filter((each) => /^variant:.*:price_amount$/.test(each));
    expect(form.get(name!)).toBe('500');
    form.set(name!, '750');
    expect((await open(`/product/${id}`, { form })).status).toBe(303);
    expect((await product(id)).price_range).toEqual({ min: 50_000, max: 75_000 });
  });

  test('a price with a fraction is never rounded, also in currencies that are mostly shown without', async () => {
    await client().publications.create({
      ...TEA,
      title: 'Paprika',
      price_currency: 'HUF',
      price_amount: 1_250,
    });
    expect((await open('/products')).html).toMatch(/HUF\W12\.50/);
  });

  test('a difference of the stock keeps what is not tracked, and back-orders', async () => {
    const variants = [
      { sku: 'B-1', price_amount: 500, quantity_available: -3, allow_backorder: true },
      { sku: 'B-2', price_amount: 500, quantity_available: 1 },
    ];
    const options = [{ name: 'Size', values: ['S', 'M'] }];
    const sized = variants.map((each, index) => ({ ...each, option_values: { Size: 'SM'[index]! } }));
    const { quantity_available: _, ...untracked } = TEA;
    const { id: free } = await client().publications.create({ ...untracked, title: 'Untracked' });
    const { id } = await client().publications.create({
      ...untracked,
      title: 'Sized',
      options,
      variants: sized,
    });
    const form = new URLSearchParams([...[free, id].map((each) => ['id', each]), ['stock', '-2']]);
    const { html } = await open('/bulk', { form });
    expect(html).not.toContain('Untracked');
    expect(html).toMatch(/Stock of S<\/td>.*<del>-3<\/del>.*<ins>-5/);
    expect(html).toMatch(/Stock of M<\/td>.*<del>1<\/del>.*<ins>0/);
  });

  test('a tag with a comma stays one tag', async () => {
    const { id } = await client().publications.create({ ...TEA, tags: ['red, blue', 'z'] });
    const shown = '"red, blue", z';
    const { html } = await open(`/product/${id}`);
    expect(html).toContain(shown.replaceAll('"', '&quot;'));
    const form = formIn(html);
    form.set('tags', `${shown}, "5"" pot, small",, new`);
    await open(`/product/${id}`, { form });
    expect((await product(id)).tags).toEqual(['red, blue', 'z', '5" pot, small', 'new']);
  });
});

describe('the pictures of a product', () => {
  let id: string;

  beforeEach(async () => {
    await signIn();
    id = (await client().publications.create(TEA)).id;
  });

  /** Sends the form of the page with files. */
  function upload(files: Readonly<Record<string, Uint8Array>>) {
    const form = new FormData();
    for (const [name, bytes] of Object.entries(files))
      form.append('file', new Blob([new Uint8Array(bytes)]), name);
    return open(`/product/${id}/upload`, { form });
  }

  /** Presses a button of the page. */
  function press(html: string, move: string) {
    const form = formIn(html);
    form.set('move', move);
    return open(`/product/${id}/pictures`, { form });
  }

  const pictures = async () => (await product(id)).media_ids;
  const png = (width: number) => flatPicture('png', { width, height: 20 });

  test('are uploaded, put in another order and removed', async () => {
    const added = await upload({ 'front.png': await png(30), 'back.png': await png(40) });
    expect(added.location).toContain('2+pictures+were+added');
    const [front, back] = await pictures();
    expect((await client().media.get(front!)).width).toBe(30);
    await Promise.all([front, back].map((each) => client().media.processed(each!)));
    const { html } = await open(`/product/${id}`);
    expect(html.match(/<img /g)).toHaveLength(2);
    expect((await press(html, `first ${back}`)).status).toBe(303);
    expect(await pictures()).toEqual([back, front]);
    await press((await open(`/product/${id}`)).html, `remove ${back}`);
    expect(await pictures()).toEqual([front]);
    expect((await client().media.get(back!)).status).toBe('ready');
  });

  test('are refused by the name of the file, and those before it stay', async () => {
    const refused = await upload({ 'tea.png': await png(30), 'notes.txt': Buffer.from('No picture at all') });
    expect([refused.status, refused.html]).toEqual([
      422,
      expect.stringContaining('notes.txt: The file is no JPEG, PNG, WebP, GIF or AVIF image'),
    ]);
    expect(await pictures()).toHaveLength(1);
    const large = await upload({ 'large.png': Buffer.concat([await png(30), Buffer.alloc(12_000_000)]) });
    expect([large.status, large.html]).toEqual([
      422,
      expect.stringContaining('large.png: The file is larger than'),
    ]);
    expect((await upload({ '': Buffer.alloc(0) })).html).toContain('No file: Invalid file');
    expect(await pictures()).toHaveLength(1);
  });

  test('that somebody else has changed meanwhile keep their order', async () => {
    await upload({ 'front.png': await png(30), 'back.png': await png(40) });
    const [front, back] = await pictures();
    const { html } = await open(`/product/${id}`);
    await client().publications.update(id, { media_ids: [front!] });
    const conflict = await press(html, `first ${back}`);
    expect([conflict.status, conflict.html]).toEqual([
      422,
      expect.stringContaining('Somebody has changed this meanwhile'),
    ]);
    expect(await pictures()).toEqual([front]);
  });
});

describe('a listing', () => {
  let id: string;
  const path = () => `/listing/${id}`;

  beforeEach(async () => {
    await signIn();
    id = (await client().listings.create({ name: 'Kitchen' })).id;
  });

  test('features products in an order', async () => {
    const publish = async (title: string, visibility: 'public' | 'private' = 'public') =>
      (await client().publications.create({ ...TEA, title, visibility, listing_id: id })).id;
    const [cup, pan] = [await publish('Cup'), await publish('Pan', 'private')];
    await publish('Mug');
    const press = (move: string) => open(`${path()}/featured`, { form: { move } });
    const featured = async () => {
      const list = client().listings.publications(id, { visibility: 'all' }, { consistent: true });
      return (await list.page()).featured.map(({ title }) => title);
    };
    expect((await open('/listings')).html).toContain(`/console/listing/${id}`);
    expect((await open(path())).html).toContain(`value="add ${cup}"`);
    await press(`add ${cup}`);
    expect((await press(`add ${pan}`)).status).toBe(303);
    expect(await featured()).toEqual(['Cup', 'Pan']);
    await press(`up ${pan}`);
    expect(await featured()).toEqual(['Pan', 'Cup']);
    await press(`remove ${pan}`);
    expect(await featured()).toEqual(['Cup']);
    await press(`add ${pan}`);
    const shown = `${cup} ${pan}`;
    const dragged = new URLSearchParams([
      ['shown', shown],
      ['publication_id', pan],
      ['publication_id', cup],
    ]);
    expect((await open(path())).html).toContain(`value="${shown}"`);
    await open(`${path()}/featured`, { form: dragged });
    expect(await featured()).toEqual(['Pan', 'Cup']);
    const late = await open(`${path()}/featured`, { form: dragged });
    expect([late.status, late.html]).toEqual([
      422,
      expect.stringContaining('Somebody has changed the order'),
    ]);
    await press(`remove ${pan}`);
    const found = (await open(`${path()}?q=pan`)).html;
    expect([found.includes(`value="add ${pan}"`), found.includes('Mug')]).toEqual([true, false]);
    const elsewhere = await client().publications.create({ ...TEA, title: 'Elsewhere' });
    const refused = await press(`add ${elsewhere.id}`);
    expect([refused.status, refused.html]).toEqual([
      422,
      expect.stringContaining('expected a publication of the listing'),
    ]);
    expect(await featured()).toEqual(['Cup']);
  });

  test('is edited, deleted and restored', async () => {
    const form = formIn((await open(path())).html);
    form.set('visibility', 'private');
    expect((await open(path(), { form })).status).toBe(303);
    const listing = await client().listings.get(id, { visibility: 'all' }, { consistent: true });
    expect(listing).toMatchObject({ name: 'Kitchen', visibility: 'private' });
    form.set('name', '');
    form.set('description', 'Pots and pans');
    const invalid = await open(path(), { form });
    expect([invalid.status, invalid.html]).toEqual([
      422,
      expect.stringContaining('>\nPots and pans</textarea>'),
    ]);

    const below = await client().listings.create({ name: 'Pans', parent_id: id });
    const kept = await open(`${path()}/delete`, { form: {} });
    expect([kept.status, kept.html]).toEqual([422, expect.stringContaining('Move or delete them first')]);
    await client().listings.delete(below.id);
    expect((await open(`${path()}/delete`, { form: {} })).location).toContain('Deleted+Kitchen');
    expect((await open('/listings?visibility=deleted')).html).toContain(`/console/listing/${id}/restore`);
    expect((await open(`${path()}/restore`, { form: {} })).location).toContain('Restored');
    expect((await open(path())).html).toContain('Kitchen');
  });
});

test('listings and reviews are edited', async () => {
  await signIn();
  await open('/listings', { form: { name: 'Drinks', parent_id: '' } });
  const listings = await open('/listings');
  const id = /console\/listing\/([^"]+)/.exec(listings.html)![1]!;
  const of_listing = formIn((await open(`/listing/${id}`)).html);
  of_listing.set('name', 'Teas');
  await open(`/listing/${id}`, { form: of_listing });
  expect((await open('/listings')).html).toContain('Teas');
  of_listing.set('name', 'Somebody else’s name');
  const conflict = await open(`/listing/${id}`, { form: of_listing });
  expect([conflict.status, conflict.html]).toEqual([
    422,
    expect.stringContaining('Somebody has changed this'),
  ]);
  expect((await open(`/listing/${id}`, { form: { name: 'Without a version' } })).status).toBe(422);
  expect((await open('/listings')).html).toContain('Teas');
  expect((await open('/listings', { form: { name: '', parent_id: '' } })).html).toContain('Invalid name');

  const tea = await client().publications.create(TEA);
  const review = await client().reviews.create(tea.id, { rating: 2, author_name: 'Ana', body: 'Bitter' });
  expect((await open('/reviews?status=all')).html).toContain('Bitter');
  await open(`/review/${review.id}`, { form: { status: 'rejected', shown: 'all' } });
  expect((await open('/reviews?status=rejected')).html).toContain('Bitter');
  await open(`/review/${review.id}`, { form: { status: 'deleted', shown: 'all' } });
  expect((await open('/reviews?status=all')).html).not.toContain('Bitter');
});

test('a store is edited, one field at a time', async () => {
  await signIn();
  const store = async () => client().store.get({}, { consistent: true });
  const change = async (changes: Readonly<Record<string, string>>) => {
    const form = formIn((await open('/store')).html);
    for (const [name, value] of Object.entries(changes)) form.set(name, value);
    const answer = await open('/store', { form });
    await harness.settled();
    return answer;
  };
  expect(
    (await change({ 'contact.phone': '+51 1 555 0123', 'policies.returns': '\nWithin 30 days' })).status,
  ).toBe(303);
  const hours = 'Monday to Friday: 9:00–18:00\n\n"7:00 ""club""": on call\n';
  await change({ businessHours: `${hours}Sunday: closed`, ruc: '20123456789' });
  const shown = formIn((await open('/store')).html).get('businessHours')!;
  await change({ businessHours: shown.replace('closed', 'open') });
  await change({ 'contact.email': 'tea@example.com', new_review_status: 'pending' });
  expect(await store()).toMatchObject({
    contact: { phone: '+51 1 555 0123', email: 'tea@example.com' },
    policies: { returns: '\nWithin 30 days' },
    businessHours: [
      { day: 'Monday to Friday', hours: '9:00–18:00' },
      { day: '7:00 "club"', hours: 'on call' },
      { day: 'Sunday', hours: 'open' },
    ],
    ...{ ruc: '20123456789', new_review_status: 'pending' },
  });
  await change({ 'contact.phone': '', new_review_status: 'published' });
  expect((await store()).contact).toEqual({ email: 'tea@example.com' });
  expect(await store()).toHaveProperty('new_review_status', 'published');

  const invalid = await change({ businessHours: 'always', ruc: '1' });
  expect([invalid.status, invalid.html]).toEqual([422, expect.stringContaining('expected a colon')]);
  expect((await change({ 'contact.email': 'no address' })).html).toContain('aria-invalid');
  expect((await store()).ruc).toBe('20123456789');
});

test('the catalog is downloaded, with the address of the shop, by a key that may read it', async () => {
  await signIn();
  await client().publications.create(TEA);
  const lines = await open('/export?format=jsonl');
  expect([lines.status, lines.headers.get('content-disposition')]).toEqual([
    200,
    'attachment; filename="catalog.jsonl"',
  ]);
  expect(
    lines.html
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toContainEqual(expect.objectContaining({ title: 'Tea' }));
  const table = await open('/export?format=shopify');
  expect([table.headers.get('content-type'), table.html]).toEqual([
    expect.stringContaining('text/csv'),
    expect.stringMatching(/^Handle,Title,/),
  ]);
  const limited = await harness.newKey('secret', [shop.store_id], ['read:stores', 'read:publications']);
  await merchant.signIn(limited.key);
  const refused = await open('/export?format=jsonl');
  expect([refused.status, refused.html]).toEqual([403, expect.stringContaining('read:listings')]);
});

test('webhooks are made, tried, paused and deleted', async () => {
  await signIn();
  const receiver = await Receiver.start();
  try {
    expect((await open('/webhooks', { form: { url: 'erp' } })).html).toContain('expected an https:// URL');
    const made = await open('/webhooks', { form: { url: receiver.url } });
    const secret = /whsec_[\w+/=]+/.exec(made.html)![0];
    const path = /\/console(\/webhook\/[^"]+)/.exec(made.html)![1]!;
    await open(path, { form: { action: 'ping' } });
    const [ping] = await waitFor(() => receiver.received.length > 0 && receiver.received);
    expect([ping!.type, isSignedWith(secret, ping!)]).toEqual(['webhook.ping', true]);
    const page = await waitFor(async () => {
      const { html } = await open('/webhooks');
      return html.includes('webhook.ping') && html;
    });
    expect([page.includes('204'), page.includes('whsec_')]).toEqual([true, false]);
    expect((await open(path, { form: { action: 'rotate' } })).html).toMatch(/whsec_/);
    await open(path, { form: { action: 'pause' } });
    expect((await open('/webhooks')).html).toContain('paused');
    await open(path, { form: { action: 'activate' } });
    expect((await open('/webhooks')).html).toContain('active ·');
    await open(path, { form: { action: 'delete' } });
    expect((await open('/webhooks')).html).toContain('No address hears of changes');
  } finally {
    receiver.close();
  }
});

test('is off unless it is set, when there is no demo; that of the operator needs a token', async () => {
  expect((await fetch(`${harness.url}/console/operator`)).status).toBe(404);
  const other = await startHarness();
  try {
    const answer = await fetch(`${other.url}/console/products`);
    expect(answer.status).toBe(404);
  } finally {
    await other.close();
  }
});

describe('API keys', () => {
  beforeEach(signIn);

  /** The key that a page shows once. */
  const keyIn = (html: string): string => /<code>([sp]k_live_[\w-]+)<\/code>/.exec(html)![1]!;
  /** The path of the form that changes the key of this name. */
  const pathOf = (html: string, name: string): string =>
    new RegExp(`<td>${name}</td>.*?/console(/key/[^"]+)`).exec(html)![1]!;
  const mayRead = async (key: string): Promise<boolean> =>
    (await harness.request('POST', '/auth/token', { headers: { 'x-api-key': key } })).status === 200;

  test('a merchant makes a key, replaces it, and revokes the new one', async () => {
    const made = await merchant.open('/keys', { form: { name: 'App', type: 'public' } });
    const key = keyIn(made.html);
    expect(key).toMatch(/^pk_live_/);
    expect(await mayRead(key)).toBe(true);
    const { html } = await merchant.open('/keys');
    expect(html).toMatch(new RegExp(`<td>App</td><td>public …${key.slice(-4)}</td><td>active`));
    expect(html).not.toContain(key);

    const asked = await merchant.open(pathOf(html, 'App'), { form: { action: 'rotate' } });
    expect(asked.html).toContain('Replace App?');
    const confirmed = /name="confirmed" value="([^"]+)"/.exec(asked.html)![1]!;
    const replace = () => merchant.open(pathOf(html, 'App'), { form: { action: 'rotate', confirmed } });
    const replaced = await replace();
    const next = keyIn(replaced.html);
    expect(next).not.toBe(key);
    expect([await mayRead(key), await mayRead(next)]).toEqual([true, true]);
    // A reload sends the form again.
    expect((await replace()).html).toContain('Replace App?');
    // Of the two keys with this name, the page has the older one first.
    const newer = replaced.html.slice(replaced.html.lastIndexOf('<td>App</td>'));
    const path = pathOf(newer, 'App');
    expect((await merchant.open(path, { form: { action: 'revoke' } })).html).toContain('cannot be undone');
    expect(await mayRead(next)).toBe(true);
    const revoked = await merchant.open(path, { form: { action: 'revoke', confirmed: 'never' } });
    expect(revoked.location).toContain('Revoked+App');
    await waitFor(async () => !(await mayRead(next)), { what: 'the refusal of the revoked key' });
    expect(await mayRead(key)).toBe(true);
    expect((await merchant.open(path, { form: { action: 'rotate' } })).location).toContain('does+not+work');
  });

  test('a key with an expiry or limits of its own manages none; a session does not revoke its own key', async () => {
    const revoked = await merchant.open(`/key/${shop.secret.id}`, {
      form: { action: 'revoke', confirmed: 'never' },
    });
    expect(revoked.location).toContain('key+of+your+session');
    const grants = { account_id: harness.account_id, name: 'Contractor', type: 'secret' as const };
    const expires_at = '2100-01-01T00:00:00.000Z';
    const limits = { per_minute: 10, per_day: 100, burst: 10 };
    for (const [request_id, restriction] of Object.entries({ expiry: { expires_at }, limits: { limits } })) {
      const input = { ...grants, ...restriction, stores: [shop.store_id] };
      const { key } = await createApiKey(harness.deps, { source: 'cli', request_id }, input);
      await harness.settled();
      const contractor = new ConsoleVisitor(harness);
      await contractor.signIn(key);
      expect((await contractor.open('/keys', { form: { name: 'More', type: 'secret' } })).status).toBe(403);
    }
    // A key that is replaced keeps its expiry.
    const path = pathOf((await merchant.open('/keys')).html, 'Contractor');
    await merchant.open(path, { form: { action: 'rotate', confirmed: expires_at } });
    const { html } = await merchant.open('/keys');
    expect(html.match(/2100-01-01/g)).toHaveLength(1);
  });

  test('a name that is missing is refused with the reason', async () => {
    const { status, html } = await merchant.open('/keys', { form: { name: ' ', type: 'secret' } });
    expect([status, html]).toEqual([422, expect.stringContaining('name')]);
  });

  test('a key without all permissions manages none, and none reaches those of another store', async () => {
    const limited = await harness.newKey('secret', [shop.store_id], ['read:stores', 'write:publications']);
    const employee = new ConsoleVisitor(harness);
    await employee.signIn(limited.key);
    for (const form of [undefined, { name: 'More', type: 'secret' }]) {
      const { status, html } = await employee.open('/keys', form && { form });
      expect([status, html]).toEqual([403, expect.stringContaining('has all permissions')]);
    }
    const other = await harness.newShop();
    const path = `/key/${other.public.id}`;
    const html = (await merchant.open('/keys')).html;
    expect(html).not.toContain(path);
    for (const id of [path, '/key/none', '/key/..'])
      expect(
        (await merchant.open(id, { form: { action: 'revoke', confirmed: 'never' } })).status,
      ).toBeGreaterThanOrEqual(404);
    expect(await mayRead(other.public.key)).toBe(true);
    // A key of both stores is not within a session that has one of them.
    const both = await harness.newKey('secret', [shop.store_id, other.store_id]);
    expect(
      (await merchant.open(`/key/${both.id}`, { form: { action: 'revoke', confirmed: 'never' } })).status,
    ).toBe(404);
  });
});
