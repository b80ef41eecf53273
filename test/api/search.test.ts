import { type Harness, type Reply, startHarness } from '../support/harness';
import { namesOf, type StockedShop, stockShop } from './reads-shop';

let harness: Harness;
let shop: StockedShop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await stockShop(harness);
});
afterAll(() => harness.close());

const get = (path: string, token = shop.public.token): Promise<Reply> =>
  harness.request('GET', path, { token });
const write = async (method: string, path: string, body?: unknown): Promise<Reply> => {
  const reply = await harness.request(method, path, { token: shop.secret.token, body });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
  return reply;
};
const search = async (query: Record<string, string>, token?: string): Promise<string[]> => {
  const reply = await get(`/api/store/search?${new URLSearchParams(query)}`, token);
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return namesOf(reply.body.data);
};
/** Creates a store, and returns functions that create a publication in it and that search it. */
async function openOwn() {
  const own = await harness.newShop();
  const { publications } = harness.client(own.secret);
  const publish = async (title: string, fields: object = {}) =>
    (await publications.create({ title, price_currency: 'PEN', price_amount: 1, ...fields })).id;
  return { publications, publish, find: (q: string) => search({ q }, own.public.token) };
}

describe('GET /api/store/search', () => {
  test('finds codes, vendor, type, tags, options and attributes, also by their beginning', async () => {
    const { publications, publish, find } = await openOwn();
    const id = await publish('Alpaca', {
      ...{ vendor: 'Taller Rímac', product_type: 'Abrigo', tags: ['hecho a mano'] },
      attributes: { lana: 'merino', care: ['lavado en frío'], grams: 73_331 },
      options: [{ name: 'Color', values: ['Turquesa'] }],
      variants: [{ sku: 'ALP-77-TQ', barcode: '7750182003834', option_values: { Color: 'Turquesa' } }],
    });
    const queries = ['ALP-77-TQ', 'alp-77', 'alp77t', '7750182003834', '77501820', 'rimac', 'abrigo', 'mano'];
    for (const q of [...queries, 'turquesa', 'merino', 'alpaca frio'])
      expect([q, await find(q)]).toEqual([q, ['Alpaca']]);
    expect(await find('73331')).toEqual([]);
    await publications.update(id, { vendor: 'Hilos', tags: [] });
    expect([await find('rimac'), await find('hilos'), await find('alp-77')]).toEqual([
      [],
      ['Alpaca'],
      ['Alpaca'],
    ]);
  });

  test('finds a title of two words that the query has as one', async () => {
    const { publish, find } = await openOwn();
    await publish('Air Fryer digital');
    await publish('iPhone 15');
    await publish('Kaffee Maschine');
    expect(await find('airfryer')).toEqual(['Air Fryer digital']);
    expect(await find('iphone15')).toEqual(['iPhone 15']);
    expect(await find('kaffeemaschine')).toEqual(['Kaffee Maschine']);
    expect(await find('airfryer digital')).toEqual(['Air Fryer digital']);
  });

  test('finds a title with another number before a description, and before a longer word', async () => {
    const { publish, find } = await openOwn();
    await publish('Cuchara amancay');
    await publish('Taza amancay');
    await publish('Plato amancay', { description: 'Combina con las tazas' });
    await publish('Tazaso amancay');
    expect(await find('tazas amancay')).toEqual(['Taza amancay', 'Plato amancay']);
    expect(await find('amancay tazas')).toEqual(['Taza amancay', 'Tazaso amancay', 'Plato amancay']);
  });

  test('finds a word with another ending after the word as it is', async () => {
    const { publish, find } = await openOwn();
    for (const title of ['Caja roja', 'Cajas de regalo', 'Arboles', 'Cajero']) await publish(title);
    expect(await find('cajas')).toEqual(['Cajas de regalo', 'Caja roja']);
    expect(await find('caja')).toEqual(['Caja roja', 'Cajas de regalo']);
    expect(await find('roja cajas')).toEqual(['Caja roja']);
    expect(await find('árbol')).toEqual(['Arboles']);
  });

  test('finds the publications of a listing that it names, after all others', async () => {
    const own = await harness.newShop();
    const { publications, listings } = harness.client(own.secret);
    const publish = (title: string, fields: object) =>
      publications.create({ title, price_currency: 'PEN', price_amount: 1, ...fields });
    const tazas = (await listings.create({ name: 'Tazas' })).id;
    const copas = (await listings.create({ name: 'Copas de vino' })).id;
    const hidden = (await listings.create({ name: 'Ofertas', visibility: 'private' })).id;
    await publish('Taza azul', {});
    await publish('Jarro azul', { listing_id: tazas });
    await publish('Jarro rojo', { listing_id: hidden, listing_ids: [tazas] });
    await publish('Cristal', { listing_id: copas });
    const find = (q: string, token = own.public.token) => search({ q }, token);
    expect(await find('tazas')).toEqual(['Taza azul', 'Jarro rojo', 'Jarro azul']);
    expect(await find('taza')).toEqual(['Taza azul', 'Jarro rojo', 'Jarro azul']);
    expect(await find('tazas azul')).toEqual(['Taza azul', 'Jarro azul']);
    expect(await find('copa de vino')).toEqual([]);
    expect(await find('copas de vino')).toEqual(['Cristal']);
    expect(await find('cristal copas de vino')).toEqual(['Cristal']);
    expect(await find('oferta')).toEqual([]);
    expect(await search({ q: 'oferta', visibility: 'all' }, own.secret.token)).toEqual(['Jarro rojo']);
    const { meta } = (await get('/api/store/search?q=tazas&limit=1&facets=price', own.public.token)).body;
    expect([meta.item_count, meta.facets[0].values[0].count]).toEqual([3, 3]);
  });

  test('reflects changes of text, visibility, listing and price, and deletions', async () => {
    const { listings } = shop;
    const body = { title: 'Zeppelin', price_currency: 'EUR', price_amount: 700, listing_id: listings.Shirts };
    const id = (await write('POST', '/api/publication', body)).body.data.id;
    const found = () => search({ q: 'zeppelin', listing_id: listings.Shirts });
    expect(await found()).toEqual(['Zeppelin']);
    await write('PATCH', `/api/publication/${id}`, { title: 'Balloon', description: 'No zeppelin' });
    expect(await found()).toEqual(['Balloon']);
    await write('PATCH', `/api/publication/${id}`, {
      description: '',
      description_html: '<p>A <b>Z</b>eppelin</p>',
    });
    expect(await found()).toEqual(['Balloon']);
    await write('PATCH', `/api/publication/${id}`, { visibility: 'private' });
    expect(await found()).toEqual([]);
    await write('PATCH', `/api/publication/${id}`, { visibility: 'public', listing_id: null });
    expect(await found()).toEqual([]);
    expect(await search({ q: 'zeppelin', max_price: '700' })).toEqual(['Balloon']);
    await write('PATCH', `/api/publication/${id}`, { price_amount: 701 });
    expect(await search({ q: 'zeppelin', max_price: '700' })).toEqual([]);
    await write('DELETE', `/api/publication/${id}`);
    expect(await search({ q: 'zeppelin' })).toEqual([]);
    expect(await search({ q: 'balloon' })).toEqual([]);
  });

  test('finds nothing with a deleted listing as filter, and without the filter still finds its publications', async () => {
    const listing_id = (await write('POST', '/api/listing', { name: 'Brief' })).body.data.id;
    const body = { title: 'Quokka', price_currency: 'EUR', price_amount: 1, listing_id };
    await write('POST', '/api/publication', body);
    expect(await search({ q: 'quokka', listing_id })).toEqual(['Quokka']);
    await write('DELETE', `/api/listing/${listing_id}`);
    expect(await search({ q: 'quokka', listing_id })).toEqual([]);
    expect(await search({ q: 'quokka' })).toEqual(['Quokka']);
  });
});
