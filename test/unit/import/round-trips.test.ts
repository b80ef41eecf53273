import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { catchUpBeforeRead } from '../../../services/cli/catch-up';
import { CHANNELS } from '../../../services/feeds/channels';
import { productsOf } from '../../../services/feeds/products';
import { exportLines } from '../../../services/query/export-lines';
import { cases } from '../../support/long';
import { itemsIn, notesIn, type Shop, someCatalog, withShop } from './some-catalog';

/** What an export of the store has, as texts that do not depend on the order of its products. */
type Write = (shop: Shop) => Promise<string>;

const textOf = async (lines: AsyncIterable<string>): Promise<string> => {
  let text = '';
  for await (const line of lines) text += line;
  return text;
};

const sourceOf = async ({ runtime, store }: Shop) => {
  await catchUpBeforeRead(runtime, 'live');
  return { view: runtime.views.live, store_id: store.id, base_url: 'https://shop.example' };
};

const exported =
  (format: 'jsonl' | 'shopify'): Write =>
  async (shop) =>
    textOf(exportLines(await sourceOf(shop), { format }));

const google: Write = async (shop) => {
  const source = { ...(await sourceOf(shop)), name: 'Shop', now: Date.now() };
  const { begin, write, end } = CHANNELS.google;
  let text = begin(source);
  for await (const { product } of productsOf(source)) if (product) text += write(product);
  return text + end;
};

/** Returns what an import of the catalog writes, and what an import of that text into an empty store writes. */
async function written(catalog: readonly object[], write: Write): Promise<[first: string, second: string]> {
  const first = await withShop(async (shop) => {
    expect(await shop.run(catalog)).toMatchObject({ failed: [] });
    return write(shop);
  });
  const second = await withShop(async (shop) => {
    const read = await itemsIn(first).catch((error: unknown) => {
      // A feed without public products has no items.
      if (write === google && !first.includes('<item>')) return undefined;
      throw error;
    });
    if (!read) return first;
    expect(notesIn(read.items)).toEqual([]);
    expect(await shop.runItems(read)).toMatchObject({ failed: [], warnings: [] });
    return write(shop);
  });
  return [first, second];
}

const sorted = (text: string): string[] => text.split('\n').sort();

const property = (compare: (catalog: object[]) => Promise<void>) =>
  fc.assert(fc.asyncProperty(someCatalog(), compare), cases(4, 40));

test('JSON Lines lose nothing', () =>
  property(async (catalog) => {
    const [first, second] = await written(catalog, exported('jsonl'));
    expect(second).toBe(first);
  }));

test("Shopify's file is the same again, in any order", () =>
  property(async (catalog) => {
    const [first, second] = await written(catalog, exported('shopify'));
    expect(sorted(second)).toEqual(sorted(first));
  }));

test('a feed loses only ids, the names of options, and the order of their values in titles', () =>
  property(async (catalog) => {
    const [first, second] = (await written(catalog, google)).map(offersIn);
    expect(second).toEqual(first);
  }));

/** Returns the items of a feed without what the documentation says that an import loses. */
function offersIn(feed: string): unknown[] {
  const parser = new XMLParser({ isArray: (name) => name === 'item', parseTagValue: false });
  const { item = [] } = parser.parse(feed).rss.channel;
  return (item as Record<string, string>[])
    .map(({ 'g:id': _id, 'g:item_group_id': group, 'g:title': title, 'g:link': link, ...others }) => ({
      ...others,
      is_in_group: group !== undefined,
      path: new URL(link!).pathname,
      words: title!.split(/ - | \/ /).sort(),
    }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
