import fc from 'fast-check';
import type { JsonObject } from '../../../shared/catalog/events/envelope';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { compareByOrder, featuredFirst, orderOf, type SortOrder } from '../../../shared/catalog/sorting';
import { runs, SEED } from '../../support/long';
import { publicationKeys } from './catalog-documents';
import { ReadWorld } from './read-world';
import { minute, sampleListing, samplePublication, sampleStore } from './sample';

const store = sampleStore('store');
const shirts = sampleListing(store, 'Shirts', { default_sort_mode: 'price_asc' });

/** Few values each, so that ties are frequent. */
const anyFields = fc.record({
  listing_id: fc.constantFrom(shirts.id, shirts.id, null),
  price_amount: fc.constantFrom(100, 200, 300, 400),
  quantity_available: fc.constantFrom(0, 3, null),
  featured_position: fc.constantFrom(1, 2, null, null, null),
  tags: fc.constantFrom<string[][]>(['new'], [], ['new', 'red']),
  created_at: fc.constantFrom(minute(1), minute(2), minute(3)),
});
const NAMES = ['Blue', 'blue', 'Grün', 'red', 'Ärmellos'];

interface List {
  readonly path: string;
  readonly query: string;
  readonly order: SortOrder;
  readonly matches: (item: Publication) => boolean;
}

const of_shirts = ({ listing_id }: Publication): boolean => listing_id === shirts.id;
const isNew = ({ tags }: Publication): boolean => tags?.includes('new') === true;
const all = (query: string, order: SortOrder, matches: List['matches'] = () => true): List => ({
  ...{ path: '/api/publications', query, order, matches },
});
const in_listing = (query: string, order: SortOrder, matches: List['matches'] = () => true): List => ({
  ...{ path: '/api/listing/:id/publications', query, order },
  matches: (item) => of_shirts(item) && matches(item),
});
const LISTS: readonly List[] = [
  all('', orderOf('created_at_desc')),
  all('sort=created_at&order=asc', orderOf('created_at_asc')),
  all('sort=price', orderOf('price_asc')),
  all('sort=price&order=desc', orderOf('price_desc')),
  all('sort=name', orderOf('name_asc')),
  all('tag=new', orderOf('created_at_desc'), isNew),
  all('tag=new&sort=price', orderOf('price_asc'), isNew),
  all('sort=name&min_price=200', orderOf('name_asc'), ({ price_amount }) => price_amount >= 200),
  all('sort=price&min_price=200', orderOf('price_asc'), ({ price_amount }) => price_amount >= 200),
  all(`listing_id=${shirts.id}&in_stock=true`, orderOf('created_at_desc'), (item) => {
    return of_shirts(item) && item.quantity_available !== 0;
  }),
  all(`listing_id=${shirts.id}&featured=true`, featuredFirst('created_at_desc'), (item) => {
    return of_shirts(item) && item.featured_position !== null;
  }),
  in_listing('', featuredFirst('price_asc')),
  in_listing('sort=name&order=desc', featuredFirst('name_desc')),
  in_listing('tag=new', featuredFirst('price_asc'), isNew),
  { ...all('q=shirt&sort=price', orderOf('price_asc')), path: '/api/store/search' },
];

test('an item that nobody changes is on one page, while others are created, deleted, featured and moved', async () => {
  const world = await ReadWorld.open([store.id]);
  let made = 0;
  const make = (fields: Partial<Publication>): Publication =>
    samplePublication(store, `${NAMES[made % NAMES.length]} shirt ${made++}`, fields);
  let seed = SEED;
  const some = (numRuns: number) => fc.sample(anyFields, { numRuns, seed: ++seed });
  const unchanged = some(runs(90, 250)).map(make);
  let others = some(runs(90, 250)).map(make);
  const write = (deleted: readonly Publication[] = []) =>
    world.fill(
      { store, listings: [shirts], publications: [...unchanged, ...others] },
      deleted.map(({ id }) => id),
    );
  await write();

  const walks = LISTS.map((list) => ({ list, read: [] as string[], start: 'page=1' }));
  const isOpen = ({ start }: (typeof walks)[number]): boolean => start !== '';
  while (walks.some(isOpen)) {
    for (const walk of walks.filter(isOpen)) {
      const { path, query } = walk.list;
      const asked = { id: shirts.id, query: `${query}&limit=18&${walk.start}` };
      const { data, meta } = await world.ask(path, asked);
      const { featured, others: rest, meta: own_meta } = data as Record<string, JsonObject[]>;
      const page = (Array.isArray(data) ? data : [...featured!, ...rest!]) as unknown as Publication[];
      walk.read.push(...page.map(({ id }) => id));
      const { next_cursor } = (meta ?? (own_meta as unknown as JsonObject)).pagination as JsonObject;
      walk.start = next_cursor === undefined ? '' : `cursor=${next_cursor}`;
    }
    const [deleted, kept] = [others.slice(0, 6), others.slice(6)];
    const moved = some(20).map(({ created_at: _, ...fields }, n) => ({ ...kept[n]!, ...fields }));
    others = [...kept.slice(moved.length), ...moved, ...some(6).map(make)];
    await write(deleted);
  }

  for (const { list, read } of walks) {
    const expected = unchanged
      .filter(list.matches)
      .map((item) => ({ id: item.id, keys: publicationKeys(item) }))
      .sort((a, b) => compareByOrder(list.order, a, b))
      .map(({ id }) => id as string);
    const of_unchanged = read.filter((id) => unchanged.some((item) => item.id === id));
    expect({ ...list, read: of_unchanged }).toEqual({ ...list, read: expected });
  }
  await world.close();
});
