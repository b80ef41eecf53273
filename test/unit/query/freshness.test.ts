import { openViewStore } from '../../../services/boot/open-adapters';
import { queryRoutes } from '../../../services/query/routes';
import { CachedActiveView } from '../../../shared/adapters/active-view';
import { permissionsOf } from '../../../shared/catalog/vocabulary';
import { parseConfig } from '../../../shared/kernel/config';
import { MemoryEventStore } from '../../support/memory-event-store';
import { noPictures } from '../../support/no-media';
import { withTempDir } from '../../support/temp-dir';
import { ReadWorld, refusal } from './read-world';
import { idOf, sampleListing, samplePublication, sampleStore } from './sample';

const POSITION = 'x-catalog-min-position';

describe('reads with a minimum position', () => {
  const store = sampleStore('store');
  const listing = sampleListing(store, 'Shirts');
  const shirt = samplePublication(store, 'Shirt');
  let world: ReadWorld;

  beforeEach(async () => {
    world = await ReadWorld.open([store.id]);
  });
  afterEach(() => world.close());

  const from = (position: bigint) => ({ headers: { [POSITION]: String(position) } });

  test('a read waits for its minimum position and returns that state', async () => {
    const first = await world.fill({ store, listings: [], publications: [] });
    const reading = world.ask('/api/publications', from(first + 1n));
    await world.fill({ store, listings: [], publications: [shirt] });
    expect((await reading).data).toMatchObject([{ id: shirt.id }]);
  });

  test('a read by id waits for a resource that does not exist yet', async () => {
    const first = await world.fill({ store, listings: [], publications: [] });
    const reading = world.ask('/api/publication/:id', { id: shirt.id, ...from(first + 1n) });
    await world.fill({ store, listings: [], publications: [shirt] });
    expect((await reading).data).toMatchObject({ id: shirt.id });
  });

  test('a read by id returns the newer state of an existing resource', async () => {
    const first = await world.fill({ store, listings: [listing], publications: [] });
    const reading = world.ask('/api/listing/:id', { id: listing.id, ...from(first + 1n) });
    await world.fill({ store, listings: [{ ...listing, name: 'Blouses', version: 2 }], publications: [] });
    expect(await reading).toMatchObject({ data: { name: 'Blouses' }, version: 2 });
  });

  test('the status of the store is read from that state, too', async () => {
    await world.fill({ store, listings: [], publications: [shirt] });
    await world.ask('/api/publication/:id', { id: shirt.id });
    const closed = await world.fill({
      store: { ...store, status: 'inactive' },
      listings: [],
      publications: [shirt],
    });
    const reading = world.ask('/api/publication/:id', { id: shirt.id, ...from(closed) });
    expect(await refusal(reading)).toBe('store_not_found');
  });

  test('a position that the log has not reached is unavailable after two seconds', async () => {
    await world.fill({ store, listings: [], publications: [shirt] });
    world.wait_ms = 1;
    const reads = [
      world.ask('/api/store', from(10_000n)),
      world.ask('/api/publication/:id', { id: shirt.id, ...from(10_000n) }),
      world.ask('/api/listing/:id/publications', { id: idOf('nothing'), ...from(10_000n) }),
      world.ask('/api/publications', from(BigInt('9'.repeat(1_000)))),
    ];
    const unavailable = { condition: 'unavailable', retry_after_s: 1 };
    await Promise.all(reads.map((read) => expect(read).rejects.toMatchObject(unavailable)));
    expect(new Set(world.requested_waits_ms)).toEqual(new Set([2_000]));
  });

  test.each(['', '-1', '1.5', 'newest', '0x10'])('rejects "%s" as a position', async (text) => {
    const asked = { headers: { [POSITION]: text } };
    for (const path of ['/api/store', '/api/publications'])
      expect(await refusal(world.ask(path, asked))).toBe('invalid_query');
    expect(await refusal(world.ask('/api/publication/:id', { id: shirt.id, ...asked }))).toBe(
      'invalid_query',
    );
  });
});

test('every read is unavailable until an event was projected', () =>
  withTempDir(async (folder) => {
    const views = await openViewStore(parseConfig({ DATA_DIR: folder }), 'live');
    const view = new CachedActiveView(views);
    const system = { now: Date.now, random: (size: number) => new Uint8Array(size) };
    const log = new MemoryEventStore();
    const events = { live: log, test: log };
    const all = { live: view, test: view, control: view };
    for (const route of queryRoutes({ views: all, events, system, pictures: noPictures })) {
      const reading = route.handler({
        method: 'GET',
        principal: {
          api_key_id: idOf('key'),
          account_id: idOf('account'),
          key_type: 'secret',
          environment: 'live',
          stores: [idOf('store')],
          permissions: permissionsOf('secret'),
        },
        params: { id: idOf('shirt'), revision: '1' },
        // Required by the search and the prices of a list, and ignored by the other reads.
        query: { q: ['shirt'], price_list: ['wholesale'] },
        body: {},
        request_id: 'request',
        answer_by_ms: performance.now() + 60_000,
        assertAwaited: () => {},
        header: () => undefined,
      });
      expect(await refusal(reading)).toBe('unavailable');
    }
    await views.close();
  }));
