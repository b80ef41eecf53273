import { liveItems } from '../../../services/demo/catalog';
import type { PublicationItem } from '../../../services/import/item';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { ownNames, type ServerUrls } from '../../support/own-servers';
import { ReadWorld } from './read-world';
import { minute, samplePublication, sampleStore } from './sample';

/** Queries that a visitor of the demo store may type, with the first results. */
const EXPECTED: readonly (readonly [query: string, ...first: string[]])[] = [
  ['taza', 'Taza Amancay'],
  ['taza amancay', 'Taza Amancay'],
  ['amancay', 'Bolsa de tela Amancay', 'Taza Amancay'],
  ['TAZON', 'Tazón Neblina'],
  ['cafe jaen', 'Café Jaén honey, 250 g'],
  ['Jaén café', 'Café Jaén honey, 250 g'],
  ['choco', 'Chocolate para taza, 200 g', 'Chocolate con sal de Maras', 'Chocolate 70 % de Piura'],
  ['chocolate 70%', 'Chocolate 70 % de Piura'],
  ['chocolte taza', 'Chocolate para taza, 200 g'],
  ['vela cafe', 'Vela Café con leche'],
  ['cuaderno', 'Cuaderno de ceviches', 'Cuaderno cuadriculado', 'Cuaderno Barranco'],
  ['cuaderno barr', 'Cuaderno Barranco'],
  ['quaderno', 'Cuaderno de ceviches'],
  ['alpaca bebe', 'Chalina de alpaca bebé'],
  ['algodón', 'Camino de mesa de algodón nativo', 'Bolso Lliclla'],
  ['ayacuho', 'Manta de Ayacucho'],
  ['ñata', 'Sello de la llama Ñata'],
  ['regalo', 'Envoltura para regalo'],
  ['por', 'Portavela Adobe', 'Tapiz por encargo'],
  ['sal de maras', 'Sal de Maras, 250 g', 'Chocolate con sal de Maras'],
  ['filtros', 'Filtros de papel, 100 unidades'],
  ['infusion de muna', 'Infusión de muña y cedrón'],
  ['taller velas', 'Taller de velas'],
  ['cuadri culado', 'Cuaderno cuadriculado'],
];

const products = liveItems().filter((item): item is PublicationItem => item.kind === 'publication');

/** Registers the tests of searching the demo store's products, embedded or on the given servers. */
export function searchDemoStories(servers: ServerUrls = {}): void {
  const names = ownNames(servers);
  const store = sampleStore('Demo');
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id], names.settings);
    const publications = products.map(({ fields }, n): Publication => {
      const { title, ...rest } = fields as unknown as Publication;
      return samplePublication(store, title, { ...rest, created_at: minute(n) });
    });
    await world.fill({ store, listings: [], publications });
  });
  afterAll(async () => {
    await world.close();
    await names.dispose();
  });

  const titles = async (q: string): Promise<string[]> => {
    const { data } = await world.ask('/api/store/search', { query: new URLSearchParams({ q }).toString() });
    return (data as { title: string }[]).map(({ title }) => title);
  };

  test.each(EXPECTED)('%s', async (query, ...first) => {
    expect((await titles(query)).slice(0, first.length)).toEqual(first);
  });

  test('the title of every product finds that product first', async () => {
    const shown = products.filter(({ fields }) => fields.visibility !== 'private');
    expect(shown.length).toBeGreaterThan(60);
    for (const { fields } of shown) expect((await titles(String(fields.title)))[0]).toBe(fields.title);
  });
}
