import { facetsOf } from '../../../services/query/facets';
import type { PageSource } from '../../../services/query/page-items';
import type { DocumentReader } from '../../../shared/ports/document-reader';
import type { WordCountsQuery } from '../../../shared/ports/view-store';

const FACETS = ['vendor', 'tag', 'attributes.roast', 'sku'];

test('facets that count the same publications are counted together, and by their work for the rate limit', async () => {
  const counted: (readonly string[])[] = [];
  const admitted: number[] = [];
  const version = {
    countWords: async (_: string, { prefixes }: WordCountsQuery) => {
      counted.push(prefixes);
      return prefixes.map((prefix) => ({ counts: [{ word: `${prefix}a=`, count: 1 }], is_complete: true }));
    },
  } as unknown as DocumentReader;
  const request = {
    assertAwaited: () => {},
    admitItems: async (count: number) => void admitted.push(count),
  };
  const source = { version, as: {}, request } as unknown as PageSource;
  const found = { scope: {}, whereOf: async () => ({}), terms: [] };
  const query = { facets: FACETS, tag: ['tea'] };
  const { facets } = await facetsOf(source, query, found, 20_000);
  expect(facets!.map(({ name }) => name)).toEqual(FACETS);
  expect(counted).toEqual([['==vendor=', '==attributes:2eroast='], ['==sku='], ['==tag=']]);
  expect(admitted).toEqual([2]);
});
