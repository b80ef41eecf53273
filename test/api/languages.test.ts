import { waitFor } from '../support/wait-for';
import { MediaShop } from './media-shop';
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
    // Of the languages, a change has those that the write changed.
    const de = { seo: { title: 'Tee kaufen' } };
    expect(
      body.data.map(({ changed }: { changed: Record<string, unknown> }) => changed.translations)[1],
    ).toEqual({
      before: { de },
      after: {},
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
    [{ de: { title: '' } }, 'FIELD_TOO_SHORT', 'translations.de.title'],
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
      await here.harness.settled();
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

test('the publications without a translation are listed, for a secret key', async () => {
  await setLocales('es', 'de', 'en');
  const add = async (title: string, de?: object, more: object = {}) =>
    (await create('/api/publication', { ...TEA, title, ...more, translations: de && { de } })).id;
  await add('Té', { title: 'Tee' });
  await add('Mate');
  const partly = await add('Café', { title: 'Kaffee' }, { description: 'Molido', seo: { title: 'Café' } });
  const options = { Color: { name: 'Farbe', values: { Rojo: 'Rot' } } };
  const variants = [{ option_values: { Color: 'Rojo' } }];
  const whole = await add('Taza', { title: 'Tasse', options }, { variants, visibility: 'private' });
  const titlesOf = async (query: string) => {
    const { status, body } = await send('GET', `/api/publications?sort=name&${query}`);
    expect(status).toBe(200);
    expect(body.meta.item_count).toBe(body.data.length);
    return body.data.map(({ title }: { title: string }) => title);
  };
  expect(await titlesOf('untranslated=de')).toEqual(['Café', 'Mate']);
  expect(await titlesOf('untranslated=en&visibility=all')).toEqual(['Café', 'Mate', 'Taza', 'Té']);
  expect(await titlesOf('untranslated=de&has_price=true&min_price=1&visibility=all')).toEqual([
    'Café',
    'Mate',
  ]);
  const de = { description: 'Gemahlen', seo: { title: 'Kaffee' } };
  await patch(`/api/publication/${partly}`, { translations: { de } });
  expect(await titlesOf('untranslated=de')).toEqual(['Mate']);
  await patch(`/api/publication/${partly}`, { seo: { title: 'Café', description: 'Nuevo' } });
  const color = [{ option_values: { Color: 'Rojo' } }, { option_values: { Color: 'Azul' } }];
  await patch(`/api/publication/${whole}`, { variants: color });
  expect(await titlesOf('untranslated=de&visibility=all')).toEqual(['Café', 'Mate', 'Taza']);
  const refused = (query: string) => send('GET', `/api/publications?${query}`);
  expectError(await refused('untranslated=es'), 400, 'VALIDATION_ERROR', 'untranslated');
  expectError(await refused('untranslated=de&facets=vendor'), 400, 'VALIDATION_ERROR', 'untranslated');
  const visitor = { token: here.shop.public.token };
  const by_visitor = await here.harness.request('GET', '/api/publications?untranslated=de', visitor);
  expectError(by_visitor, 403, 'INSUFFICIENT_PERMISSIONS');
});

describe('a read', () => {
  const get = (path: string, headers: Record<string, string> = {}, { token } = here.shop.public) =>
    here.harness.request('GET', path, { token, headers });
  const inLocale = async (path: string, locale: string) => (await get(`${path}locale=${locale}`)).body.data;

  /** Waits until reads by id know the locales, which they do within a second. */
  const shopWith = async (...locales: string[]) => {
    await setLocales(...locales);
    const { id } = await create('/api/listing', { name: 'Bebidas' });
    await waitFor(
      async () => (await get(`/api/listing/${id}`)).headers.get('content-language') === locales[0],
    );
  };

  test('has the best language for locale and for Accept-Language, for public keys', async () => {
    await shopWith('es', 'de', 'de-AT', 'zh-Hant', 'he');
    const translations = { de: { title: 'Tee', description: 'Grün' }, 'de-AT': { title: 'Tee, bitte' } };
    const { id } = await create('/api/publication', { ...TEA, description: 'Verde', translations });
    const path = `/api/publication/${id}`;
    const texts = async (query: string, accepted?: string) => {
      const { headers, body } = await get(path + query, accepted ? { 'accept-language': accepted } : {});
      expect(body.data).not.toHaveProperty('translations');
      expect(headers.get('vary')).toBe('Authorization, Accept-Encoding, Accept-Language');
      return [headers.get('content-language'), body.data.title, body.data.description];
    };
    const [es, de, at] = [
      ['es', 'Té', 'Verde'],
      ['de', 'Tee', 'Grün'],
      ['de-AT', 'Tee, bitte', 'Grün'],
    ];
    expect(await texts('')).toEqual(es);
    expect(await texts('?locale=de')).toEqual(de);
    expect(await texts('?locale=de-CH-1996')).toEqual(de);
    expect(await texts('?locale=DE-at')).toEqual(at);
    expect(await texts('?locale=fr')).toEqual(es);
    expect(await texts('?locale=es', 'de')).toEqual(es);
    expect(await texts('', 'fr, de-AT;q=0.8, de;q=0.9')).toEqual(de);
    expect(await texts('', 'de;q=0, *')).toEqual(es);
    expect(await texts('', 'zh-Hant-TW')).toEqual(['zh-Hant', 'Té', 'Verde']);
    for (const [query, accepted] of [['?locale=iw'], ['?locale=IW-IL'], ['', 'fr, *, iw-IL']] as const)
      expect((await texts(query, accepted))[0]).toBe('he');
    expect(await texts('', `${'x, '.repeat(500)}de`)).toEqual(es);
    // Its forms would take half a second.
    expect(await texts('', `de${'-aa'.repeat(5_000)}`)).toEqual(es);
    expectError(await get(`${path}?locale=de_DE`), 400, 'VALIDATION_ERROR', 'locale');
  });

  test('has all languages for a secret key, or one and the names of what it lacks', async () => {
    await shopWith('es', 'de');
    const options = { Color: { name: 'Farbe', values: { Rojo: 'Rot' } } };
    const translations = { de: { title: 'Tee', seo: { title: 'Tee kaufen' }, options } };
    const { id } = await create('/api/publication', {
      ...{ ...TEA, description: 'Verde', seo: { title: 'Té', description: 'Verde' }, translations },
      variants: [{ option_values: { Color: 'Rojo' } }, { option_values: { Color: 'Azul' } }],
    });
    const whole = await get(`/api/publication/${id}`, { 'accept-language': 'de' }, here.shop.secret);
    expect(whole.body.data).toMatchObject({ title: 'Té', translations });
    expect([whole.headers.get('content-language'), whole.headers.get('vary')]).toEqual([
      null,
      'Authorization, Accept-Encoding',
    ]);
    const { body } = await get(`/api/publication/${id}?locale=de&expand=variants`, {}, here.shop.secret);
    const { data } = body;
    expect(data).toMatchObject({
      title: 'Tee',
      seo: { title: 'Tee kaufen', description: 'Verde' },
      options: [{ name: 'Farbe', values: ['Rot', 'Azul'] }],
      untranslated: ['description', 'seo.description', 'options'],
    });
    expect(data.variants.data.map((each: { option_values: object }) => each.option_values)).toEqual([
      { Farbe: 'Rot' },
      { Farbe: 'Azul' },
    ]);
    expect(data).not.toHaveProperty('translations');
    const spanish = await get(`/api/publication/${id}?locale=es`, {}, here.shop.secret);
    expect(spanish.body.data).not.toHaveProperty('untranslated');
    const visitors = await inLocale(`/api/publication/${id}?`, 'de');
    expect(visitors).not.toHaveProperty('untranslated');
  });

  test('shows no translation in the locale that is the default now', async () => {
    await shopWith('en', 'de', 'de-AT');
    const options = (name: string, value: string) => ({
      options: { Color: { name, values: { Rot: value } } },
    });
    const { id } = await create('/api/publication', {
      ...{ ...TEA, title: 'Shirt', variants: [{ option_values: { Color: 'Rot' } }] },
      translations: { de: { title: 'Hemd', ...options('Farbe', 'Röte') }, 'de-AT': { title: 'Leiberl' } },
    });
    await shopWith('de', 'en', 'de-AT');
    await patch(`/api/publication/${id}`, { title: 'Neues Hemd', description: 'Rot' });
    const shown = async (locale: string) => {
      const path = `/api/publication/${id}?locale=${locale}`;
      const { title, options, untranslated } = (await get(path, {}, here.shop.secret)).body.data;
      return [title, options[0].name, untranslated];
    };
    expect(await shown('de')).toEqual(['Neues Hemd', 'Color', undefined]);
    expect(await shown('fr')).toEqual(['Neues Hemd', 'Color', undefined]);
    expect(await shown('en')).toEqual(['Neues Hemd', 'Color', ['title', 'description', 'options']]);
    expect(await shown('de-AT')).toEqual(['Leiberl', 'Color', ['description', 'options']]);
    const { facets } = (await get('/api/publications?facets=option.Color&locale=en')).body.meta;
    expect([facets[0].label, facets[0].values[0].label]).toEqual([undefined, undefined]);
    // Texts in the default locale count more than those in a less specific one.
    await shopWith('de-AT', 'de');
    expect(await shown('de-AT')).toEqual(['Neues Hemd', 'Color', undefined]);
    expect((await shown('de'))[0]).toBe('Hemd');
  });

  test('shows the language in lists, expansions, paths, variants, search and the store', async () => {
    await shopWith('es', 'de');
    await patch('/api/store', { translations: { de: { name: 'Laden', policies: { returns: 'Nie' } } } });
    await patch('/api/store', { policies: { returns: 'Nunca', shipping: 'Lima' } });
    const parent = await create('/api/listing', {
      name: 'Bebidas',
      translations: { de: { name: 'Getränke' } },
    });
    const listing = await create('/api/listing', {
      ...{ name: 'Calientes', parent_id: parent.id },
      translations: { de: { name: 'Heiß' } },
    });
    const product = await create('/api/publication', {
      ...{ ...TEA, listing_id: listing.id, variants: [{ option_values: { Color: 'Rojo' } }] },
      translations: { de: { title: 'Tee', options: { Color: { name: 'Farbe', values: { Rojo: 'Rot' } } } } },
    });
    const other = await create('/api/publication', {
      ...{ ...TEA, title: 'Mate', listing_id: listing.id, variants: [{ option_values: { Color: 'Rojo' } }] },
      translations: { de: { handle: 'mate-tee' } },
    });
    const [other_variant] = await inLocale(`/api/publication/${other.id}/variants?`, 'de');
    expect(other_variant).not.toHaveProperty('handle');
    expect(await inLocale('/api/store?expand=listing&', 'de')).toMatchObject({
      name: 'Laden',
      policies: { returns: 'Nie', shipping: 'Lima' },
      listings: { data: expect.arrayContaining([expect.objectContaining({ name: 'Heiß' })]) },
    });
    const shown = { title: 'Tee', options: [{ name: 'Farbe', values: ['Rot'] }] };
    const placed = await inLocale(`/api/listing/${listing.id}?expand=publication&`, 'de');
    expect(placed).toMatchObject({ name: 'Heiß', path: [{ name: 'Getränke' }] });
    expect(placed.publications.data).toEqual(expect.arrayContaining([expect.objectContaining(shown)]));
    expect((await inLocale(`/api/listings?parent_id=${parent.id}&`, 'de'))[0].path[0]).toEqual({
      id: parent.id,
      name: 'Getränke',
    });
    const listed = await inLocale('/api/publications?expand=listing,variants&sort=name&order=desc&', 'de');
    expect(listed[0]).toMatchObject({ ...shown, listing: { name: 'Heiß' } });
    expect(listed[0].variants.data[0].option_values).toEqual({ Farbe: 'Rot' });
    expect(await inLocale(`/api/publications?ids=${product.id}&`, 'de')).toMatchObject([shown]);
    expect((await inLocale(`/api/listing/${listing.id}/publications?`, 'de')).others).toHaveLength(2);
    expect((await inLocale(`/api/listing/${listing.id}/publications?`, 'de')).others).toContainEqual(
      expect.objectContaining(shown),
    );
    expect(await inLocale('/api/store/search?q=te&', 'de')).toMatchObject([shown]);
    expect(await inLocale(`/api/publication/${other.id}/related?`, 'de')).toMatchObject([shown]);
    expect(await inLocale(`/api/publication/by-handle/${product.handle}?`, 'de')).toMatchObject(shown);
    const [variant] = await inLocale(`/api/publication/${product.id}/variants?`, 'de');
    expect(variant.option_values).toEqual({ Farbe: 'Rot' });
    expect(await inLocale(`/api/variant/${variant.id}?`, 'de')).toEqual(variant);
    const revision = `/api/publication/${product.id}/history/1?locale=de`;
    expect((await get(revision, {}, here.shop.secret)).body.data).toMatchObject(shown);
    // A secret key gets the whole resources, whose paths name no translations.
    const edited = (await get(`/api/listing/${listing.id}`, {}, here.shop.secret)).body.data;
    expect([edited.translations, edited.path]).toEqual([
      { de: { name: 'Heiß' } },
      [{ id: parent.id, name: 'Bebidas' }],
    ]);
  });

  test('by name is in the order of the titles that it shows, and then of all others', async () => {
    await shopWith('es', 'sv', 'sv-FI', 'de');
    const listing = await create('/api/listing', { name: 'Frutas', default_sort_mode: 'name_asc' });
    const titles: [es: string, translations: object, featured_position?: number][] = [
      ['Ajo', { sv: { title: 'Öl te' }, de: { title: 'Bier' } }],
      ['Higo', {}],
      ['Coco', { 'sv-FI': { title: 'Zon' }, sv: { description: 'Grön' } }],
      ['Uva', { sv: { title: 'Åsna' }, 'sv-FI': { title: 'Anka' } }],
      ['Ñame', {}],
      ['Limón', {}, 1],
    ];
    for (const [title, translations, featured_position] of titles) {
      const place = { listing_id: listing.id, ...(featured_position && { featured_position }) };
      await create('/api/publication', { ...TEA, ...place, title, description: 'Té', translations });
    }
    const placed = `/api/listing/${listing.id}/publications`;
    const all = '/api/publications?sort=name';
    /** Follows the cursors of a list. */
    const walk = async (path: string, locale: string): Promise<string[]> => {
      const shown: string[] = [];
      for (let cursor = ''; ; ) {
        const { body } = await get(`${path}&limit=2&locale=${locale}${cursor && `&cursor=${cursor}`}`);
        const items = body.data.others ? [...body.data.featured, ...body.data.others] : body.data;
        shown.push(...items.map(({ title }: { title: string }) => title));
        const { next_cursor } = (body.data.meta ?? body.meta).pagination;
        if (next_cursor === undefined) return shown;
        cursor = next_cursor;
      }
    };
    const own = ['Ajo', 'Coco', 'Higo', 'Ñame', 'Uva'];
    expect(await walk(`${placed}?`, 'es')).toEqual(['Limón', ...own]);
    expect(await walk(`${placed}?`, 'de')).toEqual(['Limón', 'Bier', 'Coco', 'Higo', 'Ñame', 'Uva']);
    // The locales of a language share one order, whose titles are those of the shortest one.
    expect(await walk(`${placed}?`, 'sv')).toEqual(['Limón', 'Coco', 'Åsna', 'Öl te', 'Higo', 'Ñame']);
    expect(await walk(`${placed}?`, 'sv-FI')).toEqual(['Limón', 'Zon', 'Anka', 'Öl te', 'Higo', 'Ñame']);
    const down = ['Öl te', 'Åsna', 'Coco', 'Ñame', 'Limón', 'Higo'];
    expect(await walk(`${all}&order=desc`, 'sv')).toEqual(down);
    expect(await walk(`/api/store/search?q=te&sort=name&order=desc`, 'sv')).toEqual(down);
    const now = encodeURIComponent(new Date(Date.now() + 1_000).toISOString());
    const { body } = await get(`${placed}?locale=sv&sort=name&as_of=${now}`, {}, here.shop.secret);
    expect(body.data.others.map(({ title }: { title: string }) => title)).toEqual([
      'Coco',
      'Åsna',
      'Öl te',
      'Higo',
      'Ñame',
    ]);
    // A secret key without `locale` sees the texts of the default locale.
    const edited = (await get(`${all}&limit=2`, {}, here.shop.secret)).body;
    expect(edited.data.map(({ title }: { title: string }) => title)).toEqual(['Ajo', 'Coco']);
    const { next_cursor } = edited.meta.pagination;
    expectError(
      await get(`${all}&limit=2&locale=sv&cursor=${next_cursor}`),
      400,
      'VALIDATION_ERROR',
      'cursor',
    );
  });

  test('counts options by their texts in the default locale, and names them in the language', async () => {
    await shopWith('es', 'de', 'de-AT');
    const options = (name: string, values: object) => ({ options: { Color: { name, values } } });
    const translated = {
      de: options('Farbe', { Rojo: 'Rot', Azul: 'Blau' }),
      'de-AT': options('Färbung', {}),
    };
    const add = (Color: string, translations?: object) =>
      create('/api/publication', { ...TEA, variants: [{ option_values: { Color } }], translations });
    await add('Rojo', translated);
    await add('Rojo', { de: options('Farbe', { Rojo: 'Rot' }) });
    await add('Rojo', { de: options('Ton', { Rojo: 'Rötlich' }) });
    await add('Verde');
    const value = (value: string, count: number, label?: string) => ({
      ...{ value, count, query: `option.Color=${value}` },
      ...(label && { label }),
    });
    const paths = ['/api/publications?', '/api/store/search?q=te&'];
    for (const path of paths) {
      const facetsIn = async (query: string) =>
        (await get(`${path}facets=option.Color,vendor&${query}`)).body.meta.facets;
      const [colors, vendors] = await facetsIn('locale=de');
      expect(colors).toEqual({
        ...{ name: 'option.Color', label: 'Farbe', has_more: false },
        values: [value('Rojo', 3, 'Rot'), value('Verde', 1)],
      });
      expect(vendors).toEqual({ name: 'vendor', values: [], has_more: false });
      expect((await facetsIn('locale=de-AT'))[0]).toMatchObject({
        label: 'Färbung',
        values: [{ label: 'Rot' }, {}],
      });
      expect((await facetsIn('locale=es'))[0]).toEqual({
        ...{ name: 'option.Color', has_more: false },
        values: [value('Rojo', 3), value('Verde', 1)],
      });
    }
    const found = await get('/api/publications?option.Color=Rojo&locale=de');
    expect(found.body.data).toHaveLength(3);
  });

  test('of a store with one language has no other headers and no translations', async () => {
    const { id } = await create('/api/publication', TEA);
    const path = `/api/publication/${id}?locale=de`;
    const before = await get(path, { 'accept-language': 'de' });
    expect([before.headers.get('content-language'), before.headers.get('vary')]).toEqual([
      null,
      'Authorization, Accept-Encoding',
    ]);
    await shopWith('es', 'de');
    await patch(`/api/publication/${id}`, { translations: { de: { title: 'Tee' } } });
    expect((await get(path)).body.data.title).toBe('Tee');
    const { headers } = await setLocales('es');
    const position = { 'x-catalog-min-position': headers.get('x-catalog-position')! };
    const after = await get(path, position);
    expect([after.body.data.title, after.headers.get('content-language')]).toEqual(['Té', null]);
    expect(after.body.data).not.toHaveProperty('translations');
    const same = await waitFor(async () => {
      const reply = await get(path);
      return reply.headers.get('content-language') === null && reply;
    });
    expect(same.text.replace(/"updated_at":"[^"]+"/, '')).toBe(
      before.text.replace(/"updated_at":"[^"]+"/, ''),
    );
  });

  test('of media shows the alternative text, and its record varies by the language', async () => {
    await shopWith('es', 'de');
    const media = await MediaShop.of(here.harness, here.shop);
    const id = await media.upload({ alt: 'Una taza' });
    await patch(`/api/media/${id}`, { translations: { de: { alt: 'Eine Tasse' } } });
    const { id: product } = await create('/api/publication', { ...TEA, media_ids: [id] });
    expect((await inLocale(`/api/publication/${product}?expand=media&`, 'de')).media.data).toMatchObject([
      { alt: 'Eine Tasse' },
    ]);
    expect((await inLocale(`/api/media?publication_id=${product}&`, 'de'))[0].alt).toBe('Eine Tasse');
    const { headers, body } = await get(`/api/media/${id}`, { 'accept-language': 'de' });
    expect([body.data.alt, headers.get('vary')]).toEqual([
      'Eine Tasse',
      'Authorization, Accept, Accept-Encoding, Accept-Language',
    ]);
  });
});
