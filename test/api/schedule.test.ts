import { pino } from 'pino';
import { startAllInOne } from '../../services/boot/all-in-one';
import { streamName } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

const MINUTE = 60_000;

/** By how much the clock of the service is ahead of the machine's. */
let ahead_ms = 0;
const system = { ...realSystem, now: () => Date.now() + ahead_ms };
let harness: Harness;
let shop: Shop;
let listing_id: string;

beforeAll(async () => {
  harness = await startHarness({ system });
});
beforeEach(async () => {
  shop = await harness.newShop();
  listing_id = (await harness.client(shop.secret).listings.create({ name: 'Season' })).id;
});
afterAll(() => harness.close());

const inMinutes = (minutes: number): string => new Date(system.now() + minutes * MINUTE).toISOString();
const read = (path: string, token = shop.public.token) => harness.request('GET', path, { token });
const make = async (fields: object): Promise<string> => {
  const body = { title: 'Star', price_currency: 'EUR', price_amount: 100, tags: ['season'], listing_id };
  const { publications } = harness.client(shop.secret);
  return (await publications.create({ ...body, ...fields })).id;
};
const patch = (id: string, fields: object) => harness.client(shop.secret).publications.update(id, fields);

/** Returns the publication as the merchant sees it. */
const stored = async (id: string) =>
  (await read(`/api/publication/${id}?visibility=all`, shop.secret.token)).body.data;

/** Returns how often each read shows the publication to customers. */
async function shown(id: string): Promise<number[]> {
  const paths = ['publications?', `listing/${listing_id}/publications?`, 'store/search?q=star&'];
  const pages = await Promise.all(paths.map((path) => read(`/api/${path}facets=tag`)));
  const listing = (await read(`/api/listing/${listing_id}?expand=publication`)).body.data;
  return [
    Number((await read(`/api/publication/${id}`)).status === 200),
    ...pages.flatMap(({ body: { data, meta = data.meta } }) => [
      (Array.isArray(data) ? data : data.others).length,
      meta.item_count ?? meta.pagination.total,
      meta.facets[0].values[0]?.count ?? 0,
    ]),
    listing.stats.publication_count,
    listing.publications.data.length,
  ];
}
const isShown = async (id: string, expected: 0 | 1): Promise<boolean> =>
  (await shown(id)).every((count) => count === expected);

/** Returns what the schedule has appended to the stream. */
async function scheduledEvents(id: string): Promise<string[]> {
  const stream = streamName('live', 'publication', id);
  const events = await harness.deps.events.live.readStream(stream, 0, 100);
  return events.filter(({ metadata }) => metadata.source === 'schedule').map(({ type }) => type);
}

test('a publication becomes visible at publish_at and invisible at unpublish_at, in every read', async () => {
  const id = await make({ publish_at: inMinutes(1), unpublish_at: inMinutes(2) });
  expect(await stored(id)).toMatchObject({
    visibility: 'private',
    publish_at: expect.any(String),
    unpublish_at: expect.any(String),
  });
  expect(await isShown(id, 0)).toBe(true);
  ahead_ms += MINUTE;
  await waitFor(() => isShown(id, 1));
  expect(await stored(id)).not.toHaveProperty('publish_at');
  expect(await scheduledEvents(id)).toEqual(['PublicationVisibilityChanged', 'PublicationScheduled']);
  ahead_ms += MINUTE;
  await waitFor(() => isShown(id, 0));
  expect(await stored(id)).not.toHaveProperty('unpublish_at');
});

test.each([
  ['publish_at has passed', () => ({ publish_at: inMinutes(-1) }), 'public'],
  ['unpublish_at has passed', () => ({ unpublish_at: inMinutes(-1) }), 'private'],
  ['both have passed', () => ({ publish_at: inMinutes(-2), unpublish_at: inMinutes(-1) }), 'private'],
  [
    'only the first of both has passed',
    () => ({ visibility: 'private', publish_at: inMinutes(-1), unpublish_at: inMinutes(60) }),
    'public',
  ],
])('if %s, no further write is needed', async (_story, times, visibility) => {
  const id = await make(times());
  await waitFor(async () => (await scheduledEvents(id)).length > 0);
  await harness.settled();
  expect(await stored(id)).toMatchObject({ visibility });
});

test('a time that was cleared or moved has no effect, and an edited product keeps its schedule', async () => {
  const times = { publish_at: inMinutes(1) };
  const [cleared, moved, edited] = [await make(times), await make(times), await make(times)];
  await patch(cleared, { publish_at: null });
  await patch(moved, { publish_at: inMinutes(5) });
  await patch(edited, { title: 'Comet' });
  ahead_ms += MINUTE;
  await waitFor(async () => (await stored(edited)).visibility === 'public');
  expect(await Promise.all([cleared, moved].map(scheduledEvents))).toEqual([[], []]);
  ahead_ms += 4 * MINUTE;
  await waitFor(async () => (await stored(moved)).visibility === 'public');
  expect(await scheduledEvents(cleared)).toEqual([]);
});

test('a visibility that a write sends applies until publish_at, and times that do not fit are refused', async () => {
  const id = await make({ visibility: 'public', publish_at: inMinutes(10) });
  expect(await isShown(id, 1)).toBe(true);
  const path = `/api/publication/${id}`;
  const send = (body: object) => harness.request('PATCH', path, { token: shop.secret.token, body });
  const early = await send({ unpublish_at: inMinutes(9) });
  expect([early.status, early.body.error.details.field]).toEqual([400, 'unpublish_at']);
  expect((await send({ unpublish_at: inMinutes(11) })).status).toBe(200);
});

test('a deleted publication is not published; restored, it is', async () => {
  const id = await make({ publish_at: inMinutes(1) });
  await harness.client(shop.secret).publications.delete(id);
  const other = await make({ publish_at: inMinutes(1) });
  ahead_ms += MINUTE;
  await waitFor(async () => (await stored(other)).visibility === 'public');
  expect(await scheduledEvents(id)).toEqual([]);
  await harness.client(shop.secret).publications.restore(id);
  await waitFor(async () => (await stored(id)).visibility === 'public');
});

test('a listing becomes visible and invisible at its times, with its publications in it', async () => {
  const { listings } = harness.client(shop.secret);
  const times = { publish_at: inMinutes(3), unpublish_at: inMinutes(6) };
  const { id, visibility } = await listings.create({ name: 'Christmas', ...times });
  expect(visibility).toBe('private');
  await make({ listing_id: id });
  const statuses = async () => {
    const paths = [`/api/listing/${id}`, `/api/listing/${id}/publications`];
    const all = (await read('/api/listings')).body.data.map((listing: { name: string }) => listing.name);
    return [
      ...(await Promise.all(paths.map(async (path) => (await read(path)).status))),
      all.includes('Christmas'),
    ];
  };
  expect(await statuses()).toEqual([404, 404, false]);
  ahead_ms += 4 * MINUTE;
  await waitFor(async () => (await statuses()).join() === '200,200,true');
  const seen = await listings.get(id);
  expect([seen.publish_at, seen.unpublish_at, seen.stats?.publication_count]).toEqual([
    undefined,
    times.unpublish_at,
    1,
  ]);
  ahead_ms += 3 * MINUTE;
  await waitFor(async () => (await statuses()).join() === '404,404,false');
  const refused = listings.update(id, { publish_at: inMinutes(5), unpublish_at: inMinutes(3) });
  await expect(refused).rejects.toMatchObject({ code: 'FIELD_INVALID', details: { field: 'unpublish_at' } });
});

test('two services on one data folder publish 120 publications once each', async () => {
  const other = await startAllInOne(parseConfig(harness.settings), pino({ level: 'silent' }), system);
  try {
    const star = { title: 'Star', price_currency: 'EUR', price_amount: 100, publish_at: inMinutes(1) };
    const body = { items: Array.from({ length: 120 }, () => ({ action: 'create', body: star })) };
    const { token } = shop.secret;
    const made = await harness.request('POST', '/api/publications/batch', { token, body });
    const ids: string[] = made.body.data.items.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(120);
    ahead_ms += MINUTE;
    const isPublic = async () =>
      (await read('/api/publications?limit=1')).body.meta.item_count === ids.length;
    await waitFor(isPublic);
    const appended = await Promise.all(ids.map(scheduledEvents));
    expect(new Set(appended.map(String))).toEqual(
      new Set(['PublicationVisibilityChanged,PublicationScheduled']),
    );
  } finally {
    await other.close();
  }
});
