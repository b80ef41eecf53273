import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';

const here = ownShop();
const { send } = here;
const PRICE = { price_currency: 'EUR', price_amount: 1_250 };
const create = async (title: string, more: object = {}) =>
  (await send('POST', '/api/publication', { body: { ...PRICE, title, ...more } })).body.data;
const get = (path: string, headers: Record<string, string> = {}, { token } = here.shop.public) =>
  here.harness.request('GET', path, { token, headers });

/** Waits until reads know the locales, which they do within a second. */
async function shopWith(...locales: string[]): Promise<void> {
  await send('PATCH', '/api/store', { body: { locales } });
  await waitFor(async () => {
    const { headers } = await get('/api/publications');
    return headers.get('content-language') === locales[0];
  });
}

describe('a search in a language', () => {
  const titlesOf = async (q: string, locale?: string, more = '') => {
    const query = new URLSearchParams({ q, ...(locale && { locale }) });
    const { status, body } = await get(`/api/store/search?${query}${more}`);
    expect(status).toBe(200);
    expect(body.meta.item_count).toBe(body.data.length);
    return body.data.map(({ title }: { title: string }) => title);
  };

  test('finds the words of the language with their plurals, beginnings and typos, and those of the default locale', async () => {
    await shopWith('es', 'de', 'de-AT', 'ja');
    const options = { Color: { values: { Rojo: 'Karmesin' } } };
    await create('Camisa', {
      variants: [{ option_values: { Color: 'Rojo' } }],
      translations: {
        de: { title: 'Blaues Hemd', description: 'Aus Leinen', options },
        'de-AT': { title: 'Pfoad' },
        ja: { description_html: '<p>青い<b>シャツ</b></p>' },
      },
    });
    await create('Hemdsärmel');
    expect(await titlesOf('hemd', 'de')).toEqual(['Blaues Hemd', 'Hemdsärmel']);
    for (const q of [
      'hemd blau',
      'hemden',
      'LEINEN',
      'karmesin',
      'lainen hemd',
      'blaueshemd',
      'camisas',
      'karm',
    ])
      expect([q, await titlesOf(q, 'de')]).toEqual([q, ['Blaues Hemd']]);
    expect(await titlesOf('leinen blaues pfoad', 'de-AT')).toEqual(['Pfoad']);
    expect(await titlesOf('シャツ', 'ja')).toEqual(['Camisa']);
    // The words of one language are no words of another one.
    for (const locale of ['es', 'ja', undefined]) expect(await titlesOf('leinen', locale)).toEqual([]);
    expect(await titlesOf('pfoad', 'de')).toEqual([]);
    const by_header = await get('/api/store/search?q=leinen', { 'accept-language': 'de-CH' });
    expect(by_header.body.data).toHaveLength(1);
    const by_secret = await get('/api/store/search?q=leinen', {}, here.shop.secret);
    expect(by_secret.body.data).toEqual([]);
  });

  test('ranks what has a word in the language before what has words in the default locale only', async () => {
    await shopWith('es', 'en', 'de');
    const en = (title: string, description = '') => ({ translations: { en: { title, description } } });
    await create('Velador', en('Standing lamp'));
    await create('Foco', en('Bulb', 'For a lamp'));
    await create('Bombilla', en('Lamp'));
    await create('Lamp');
    await create('Lamp de noche', { translations: { de: { title: 'Nachttischlampe' } } });
    await create('Una lamp', { vendor: 'Acme' });
    await create('Acme', en('Lamp shade'));
    const in_english = ['Lamp', 'Lamp shade', 'Standing lamp', 'Bulb'];
    expect(await titlesOf('lamp', 'en')).toEqual([...in_english, 'Lamp', 'Lamp de noche', 'Una lamp']);
    expect(await titlesOf('acme lamp', 'en')).toEqual(['Lamp shade', 'Una lamp']);
    expect(await titlesOf('lamp', 'es')).toEqual(['Lamp', 'Lamp de noche', 'Una lamp']);
    const pages = [0, 1, 2, 3, 4, 5, 6].map(async (n) => {
      const { data } = (await get(`/api/store/search?q=lamp&locale=en&limit=1&page=${n + 1}`)).body;
      return data[0].title;
    });
    expect(await Promise.all(pages)).toEqual(await titlesOf('lamp', 'en'));
    expect(await titlesOf('lamp', 'en', '&sort=name')).toHaveLength(7);
  });

  test('follows the changes of translations, also while the texts in the default locale stay', async () => {
    await shopWith('es', 'de');
    const { id } = await create('Té', { translations: { de: { title: 'Tee' } } });
    const patch = (body: object) => send('PATCH', `/api/publication/${id}`, { body });
    await patch({ translations: { de: { title: 'Aufguss' } } });
    expect([await titlesOf('tee', 'de'), await titlesOf('aufguss', 'de')]).toEqual([[], ['Aufguss']]);
    await patch({ title: 'Mate' });
    expect([await titlesOf('aufguss', 'de'), await titlesOf('mate', 'de')]).toEqual([
      ['Aufguss'],
      ['Aufguss'],
    ]);
    await patch({ translations: null });
    expect(await titlesOf('aufguss', 'de')).toEqual([]);
  });
});
