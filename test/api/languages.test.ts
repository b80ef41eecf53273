import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Té', price_currency: 'USD', price_amount: 1_250 };

const here = ownShop();
const { send } = here;
const create = async (path: string, body: object) => (await send('POST', path, { body })).body.data;
const patch = (path: string, body: object) => send('PATCH', path, { body });
const setLocales = (...locales: string[]) => patch('/api/store', { locales });
const eventsOf = async (stream: string) =>
  (await here.harness.deps.events.live.readStream(`live.${stream}` as never)).map(({ type, data }) => ({
    type,
    data,
  }));

describe('the locales of a store', () => {
  test('are canonical, and stay at least one', async () => {
    const { status, body } = await setLocales('ES', 'pt-br', 'zh-hant-tw');
    expect([status, body.data.locales]).toEqual([200, ['es', 'pt-BR', 'zh-Hant-TW']]);
    expectError(await setLocales(), 400, 'FIELD_TOO_SHORT', 'locales');
    expectError(await patch('/api/store', { locales: null }), 400, 'FIELD_REQUIRED', 'locales');
    expectError(await setLocales('es', 'ES'), 400, 'FIELD_INVALID', 'locales.1');
    expectError(await setLocales('es', 'de_DE'), 400, 'FIELD_INVALID', 'locales.1');
    const many = Array.from({ length: 21 }, (_, n) => `es-x-${n}`);
    expectError(await setLocales(...many), 400, 'FIELD_TOO_LONG', 'locales');
  });
});

describe('translations', () => {
  test('are patched by locale and text, with one event for each change', async () => {
    await setLocales('es', 'de', 'en');
    const { id } = await create('/api/publication', { ...TEA, translations: { de: { title: 'Tee' } } });
    const path = `/api/publication/${id}`;
    const shown = async (translations: unknown) =>
      (await patch(path, { translations })).body.data.translations;
    expect(await shown({ de: { seo: { title: 'Tee kaufen' } }, en: { title: 'Tea' } })).toEqual({
      de: { title: 'Tee', seo: { title: 'Tee kaufen' } },
      en: { title: 'Tea' },
    });
    expect(await shown({ de: { title: null }, en: { description: '' } })).toEqual({
      de: { seo: { title: 'Tee kaufen' } },
      en: { title: 'Tea' },
    });
    // The same again changes nothing, and neither does a removal of what is not there.
    expect(await shown({ en: { title: 'Tea', description: null }, de: {} })).toHaveProperty(
      'en.title',
      'Tea',
    );
    expect(await shown({ de: null })).toEqual({ en: { title: 'Tea' } });
    expect(await shown(null)).toBeUndefined();
    expect(await shown(null)).toBeUndefined();
    const events = await eventsOf(`publication-${id}`);
    expect(events.map(({ type }) => type)).toEqual([
      'PublicationCreated',
      ...Array(4).fill('PublicationTranslated'),
    ]);
    expect(events.at(-1)).toEqual({ type: 'PublicationTranslated', data: { translations: null } });
    const { body } = await send('GET', `${path}/history`);
    expect(body.data[0].changed).toEqual({
      translations: { before: { en: { title: 'Tea' } }, after: null },
    });
  });

  test('are of listings, media, options and the store, too', async () => {
    await setLocales('es', 'de');
    const listing = await create('/api/listing', { name: 'Bebidas' });
    const de = { name: 'Getränke', seo: { description: 'Heiß' } };
    const placed = await patch(`/api/listing/${listing.id}`, { translations: { de } });
    expect(placed.body.data.translations).toEqual({ de });
    const store = { policies: { returns: 'Nie' }, businessHours: [{ day: 'Montag', hours: '9–18' }] };
    expect((await patch('/api/store', { translations: { de: store } })).body.data.translations).toEqual({
      de: store,
    });
    const options = { Color: { name: 'Farbe', values: { Rojo: 'Rot' } } };
    const product = await create('/api/publication', {
      ...{ ...TEA, variants: [{ option_values: { Color: 'Rojo' } }, { option_values: { Color: 'Azul' } }] },
      translations: { de: { options } },
    });
    expect(product.translations).toEqual({ de: { options } });
    const more = { Color: { values: { Rojo: null, Azul: 'Blau' } } };
    const patched = await patch(`/api/publication/${product.id}`, {
      translations: { de: { options: more } },
    });
    expect(patched.body.data.translations.de.options).toEqual({
      Color: { name: 'Farbe', values: { Azul: 'Blau' } },
    });
  });

  test.each([
    [{ de: { title: 'x'.repeat(201) } }, 'FIELD_TOO_LONG', 'translations.de.title'],
    [{ de: { price_amount: 1 } }, 'FIELD_INVALID', 'translations.de.price_amount'],
    [{ de: 'Tee' }, 'FIELD_INVALID', 'translations.de'],
    [{ DE: { title: 'Tee' } }, 'FIELD_INVALID', 'translations.DE'],
    [{ fr: { title: 'Thé' } }, 'FIELD_INVALID', 'translations.fr'],
    [{ es: { title: 'Té' } }, 'FIELD_INVALID', 'translations.es'],
    [
      { de: { options: { Color: { values: { ' ': 'Rot' } } } } },
      'FIELD_INVALID',
      'translations.de.options.Color.values. ',
    ],
    [
      { de: { description_html: `<p>${'&'.repeat(20_000)}</p>` } },
      'FIELD_TOO_LONG',
      'translations.de.description_html',
    ],
  ])('are refused with a fault of their place (%#)', async (translations, code, field) => {
    await setLocales('es', 'de');
    expectError(await send('POST', '/api/publication', { body: { ...TEA, translations } }), 400, code, field);
  });

  test('need a store with locales, and fit into one event', async () => {
    const product = await create('/api/publication', TEA);
    const path = `/api/publication/${product.id}`;
    const first = await patch(path, { translations: { de: { title: 'Tee' } } });
    expectError(first, 400, 'FIELD_INVALID', 'translations.de');
    expect(first.text).toContain('Add its `locales` first');
    const locales = Array.from({ length: 20 }, (_, n) => `es-x-${n}`);
    await setLocales(...locales);
    const long = { description_html: 'é'.repeat(45_000) };
    const translations = Object.fromEntries(locales.slice(1, 6).map((locale) => [locale, long]));
    expectError(await patch(path, { translations }), 400, 'FIELD_TOO_LONG', 'translations');
  });

  test('are safe HTML', async () => {
    await setLocales('es', 'de');
    const html = { description_html: '<p onclick="x()">Grün</p><script>x()</script>' };
    const { translations } = await create('/api/publication', { ...TEA, translations: { de: html } });
    expect(translations.de.description_html).toBe('<p>Grün</p>');
  });

  test('stay when their locale is removed, and can be removed then, but not changed', async () => {
    await setLocales('es', 'de', 'en');
    const translations = { de: { title: 'Tee' }, en: { title: 'Tea' } };
    const { id } = await create('/api/publication', { ...TEA, translations });
    const path = `/api/publication/${id}`;
    await setLocales('es', 'en');
    const same = await patch(path, { translations, price_amount: 5 });
    expect([same.status, same.body.data.translations]).toEqual([200, translations]);
    const changed = await patch(path, { translations: { de: { title: 'Der Tee' } } });
    expectError(changed, 400, 'FIELD_INVALID', 'translations.de');
    expect((await patch(path, { translations: { de: null } })).body.data.translations).toEqual({
      en: { title: 'Tea' },
    });
  });

  test('return with a revert, except in a locale that the store no longer has', async () => {
    await setLocales('es', 'de', 'en', 'fr');
    const translations = { de: { title: 'Tee' }, en: { title: 'Tea' } };
    const { id } = await create('/api/publication', { ...TEA, translations });
    const path = `/api/publication/${id}`;
    await patch(path, { translations: { de: null, en: { title: 'Green tea' }, fr: { title: 'Thé' } } });
    await setLocales('es', 'en', 'fr');
    const { status, body } = await send('POST', `${path}/revert`, { body: { revision: 1 } });
    expect([status, body.data.not_restored]).toEqual([200, ['translations']]);
    expect(body.data.translations).toEqual({ en: { title: 'Tea' } });
    await setLocales('es', 'de', 'en');
    const again = await send('POST', `${path}/revert`, { body: { revision: 1 } });
    expect([again.body.data.not_restored, again.body.data.translations]).toEqual([[], translations]);
  });

  test('are exported, and imported again without what was changed by hand', async () => {
    await setLocales('es', 'de', 'en');
    const listing = await create('/api/listing', {
      name: 'Bebidas',
      translations: { de: { name: 'Getränke' } },
    });
    const translations = { de: { title: 'Tee' }, en: { title: 'Tea' } };
    await create('/api/publication', { ...TEA, external_id: 'tea', listing_id: listing.id, translations });
    const { text } = await send('GET', '/api/export');
    const shop = await here.harness.newShop();
    const merchant = here.harness.client(shop.secret, { consistent: true });
    const ended = ({ id }: { readonly id: string }) =>
      waitFor(async () => {
        const found = await merchant.imports.get(id);
        return found.status !== 'running' && found;
      });
    const imported = async (content: string) => {
      const { id } = await ended(await merchant.imports.create(new File([content], 'in.jsonl')));
      await ended(await merchant.imports.start(id));
      return merchant.imports.rows(id, { limit: 1_000 }).all();
    };
    const outcomes = async (content: string) => (await imported(content)).map(({ outcome }) => outcome);
    // A store without the locales refuses the rows, and says why.
    expect(await imported(text)).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining('translations.de') },
      { outcome: 'failed', reason: expect.stringContaining('translations.de') },
    ]);
    await merchant.store.update({ locales: ['es', 'de', 'en'] });
    expect(await outcomes(text)).toEqual(['created']);
    const [tea] = await merchant.publications.list({ expand: ['listing'] }).all();
    expect([tea!.translations, tea!.listing!.translations]).toEqual([
      translations,
      { de: { name: 'Getränke' } },
    ]);
    expect(await outcomes(text)).toEqual([]);
    // A file with a part of the translations changes this part only.
    await merchant.publications.update(tea!.id, { translations: { en: { title: 'Green tea' } } });
    const line = (translations: object) => JSON.stringify({ ...TEA, external_id: 'tea', translations });
    expect(await imported(line({ de: { title: 'Grüntee' } }))).toMatchObject([
      { outcome: 'kept', fields: ['translations'] },
    ]);
    expect((await merchant.publications.get(tea!.id)).translations).toEqual({
      de: { title: 'Tee' },
      en: { title: 'Green tea' },
    });
  });
});
