import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { openRuntime, type Runtime } from '../../../services/boot/runtime';
import { liveItems } from '../../../services/demo/catalog';
import { ensureDemo, type ReadyDemo } from '../../../services/demo/ensure';
import { demoRequests } from '../../../services/demo/start';
import { uploadDemoPictures } from '../../../services/demo/upload-pictures';
import { hashKey } from '../../../shared/catalog/api-key/api-key';
import { type DomainEvent, decodeEvent } from '../../../shared/catalog/events/codec';
import { START } from '../../../shared/catalog/events/envelope';
import type { Realm } from '../../../shared/catalog/realm';
import { inspectImage } from '../../../shared/images/inspect';
import { parseConfig } from '../../../shared/kernel/config';
import { realSystem } from '../../../shared/kernel/system';
import { hashOf } from '../../support/media';
import { readLog } from '../../support/read-log';
import { withTempDir } from '../../support/temp-dir';

const log = pino({ level: 'silent' });

async function withRuntime<Result>(
  folder: string,
  story: (runtime: Runtime, demo: () => Promise<ReadyDemo | undefined>) => Promise<Result>,
  environment: Record<string, string> = {},
): Promise<Result> {
  const config = parseConfig({ DATA_DIR: folder, ...environment });
  const runtime = await openRuntime(config, log, realSystem);
  try {
    return await story(runtime, () => ensureDemo(runtime, config));
  } finally {
    await runtime.close();
  }
}

async function eventsOf(runtime: Runtime, realm: Realm): Promise<DomainEvent[]> {
  return (await readLog(runtime.events[realm])).map(decodeEvent);
}

/** A name is reserved again if the write that reserved it was interrupted. */
const withoutReservations = (events: DomainEvent[]) => events.filter(({ type }) => type !== 'NameReserved');

const ofType = <Type extends DomainEvent['type']>(events: DomainEvent[], type: Type) =>
  events.filter((event): event is Extract<DomainEvent, { type: Type }> => event.type === type);

const count = (events: DomainEvent[], type: DomainEvent['type']): number => ofType(events, type).length;

/** Returns the runtime with a live log whose first appends succeed, and all others fail. */
function failingAfter(appends: number, runtime: Runtime): Runtime {
  let left = appends;
  const live = Object.create(runtime.events.live) as Runtime['events']['live'];
  live.append = async (...call) => {
    if (left-- <= 0) throw new Error('the power went out');
    return runtime.events.live.append(...call);
  };
  return { ...runtime, events: { ...runtime.events, live } };
}

test('an empty folder gets a live store, a smaller test store, and four keys', () =>
  withTempDir((folder) =>
    withRuntime(folder, async (runtime, demo) => {
      const ready = await demo();
      expect(ready).toMatchObject({ is_new: true });
      const live = await eventsOf(runtime, 'live');
      const publications = ofType(live, 'PublicationCreated').map(({ data }) => data);
      const shown = publications.filter(({ visibility }) => visibility === 'public');
      const listings = ofType(live, 'ListingCreated');
      expect(shown.length).toBeGreaterThanOrEqual(60);
      expect(publications.length).toBeGreaterThan(shown.length);
      expect(listings.filter(({ data }) => data.visibility === 'public')).toHaveLength(8);
      expect(listings.filter(({ data }) => data.visibility === 'private')).toHaveLength(1);
      expect(publications.some(({ featured_position }) => featured_position === 1)).toBe(true);
      expect(publications.some(({ price_active }) => price_active === false)).toBe(true);
      expect(publications.some(({ quantity_available }) => quantity_available === 0)).toBe(true);
      const sold_in = publications.flatMap(({ options }) => options.map(({ name }) => name));
      expect(sold_in).toEqual(expect.arrayContaining(['Talla', 'Color']));
      expect(ofType(live, 'PaymentMethodAdded').length).toBeGreaterThanOrEqual(3);
      expect(ofType(live, 'ReviewPosted').length).toBeGreaterThanOrEqual(20);

      const test = ofType(await eventsOf(runtime, 'test'), 'PublicationCreated');
      expect(test.length).toBeGreaterThan(5);
      expect(test.length).toBeLessThan(publications.length);

      const keys = ofType(await eventsOf(runtime, 'control'), 'ApiKeyCreated').map(({ data }) => data);
      const saved = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Record<string, string>;
      expect(Object.keys(saved).sort()).toEqual(
        [
          'public_key',
          'secret_key',
          'store_id',
          'test_public_key',
          'test_secret_key',
          'test_store_id',
        ].sort(),
      );
      for (const [field, prefix] of Object.entries(PREFIXES)) {
        expect(saved[field]).toMatch(new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`));
        expect(keys).toContainEqual(expect.objectContaining({ key_hash: hashKey(saved[field]!) }));
      }
      expect(keys).toHaveLength(4);
      expect(statSync(join(folder, 'demo.json')).mode & 0o777).toBe(0o600);
    }),
  ));

const PREFIXES = {
  public_key: 'pk_live_',
  secret_key: 'sk_live_',
  test_public_key: 'pk_test_',
  test_secret_key: 'sk_test_',
};

test('a second start creates nothing and returns the same requests', () =>
  withTempDir((folder) =>
    withRuntime(folder, async (runtime, demo) => {
      await demo();
      const heads = await Promise.all(Object.values(runtime.events).map((store) => store.head()));
      const again = await demo();
      expect(again?.is_new).toBe(false);
      expect(await Promise.all(Object.values(runtime.events).map((store) => store.head()))).toEqual(heads);
      const requests = demoRequests(again!, 'http://127.0.0.1:8080');
      expect(requests.match(/^# \d/gm)).toEqual(['# 1', '# 2', '# 3', '# 4']);
      expect(requests).toContain(again!.demo.secret_key);
    }),
  ));

test('the next start completes an interrupted demo without duplicates', () =>
  withTempDir(async (folder) => {
    const event_count = await withRuntime(folder, async (runtime, demo) => {
      await demo();
      return withoutReservations(await eventsOf(runtime, 'live')).length;
    });
    await withTempDir((other) =>
      withRuntime(other, async (runtime) => {
        const config = parseConfig({ DATA_DIR: other });
        await expect(ensureDemo(failingAfter(25, runtime), config)).rejects.toThrow('the power went out');
        expect(existsSync(join(other, 'demo.json'))).toBe(false);
        expect((await eventsOf(runtime, 'live')).length).toBeGreaterThan(10);

        expect(await ensureDemo(runtime, config)).toMatchObject({ is_new: true });
        expect(withoutReservations(await eventsOf(runtime, 'live'))).toHaveLength(event_count);
        expect(ofType(await eventsOf(runtime, 'control'), 'AccountCreated')).toHaveLength(1);
      }),
    );
  }));

test('creates nothing with DEMO=off, and refuses an invalid demo.json', () =>
  withTempDir(async (folder) => {
    await withRuntime(
      folder,
      async (runtime, demo) => {
        expect(await demo()).toBeUndefined();
        expect(await runtime.events.control.head()).toBe(START);
      },
      { DEMO: 'off' },
    );
    await withRuntime(folder, async (_runtime, demo) => {
      await demo();
      const kept = readFileSync(join(folder, 'demo.json'), 'utf8');
      writeFileSync(join(folder, 'demo.json'), '{"store_id":7}');
      await expect(demo()).rejects.toThrow('expected the JSON of a demo');
      writeFileSync(join(folder, 'demo.json'), kept);
      expect(await demo()).toMatchObject({ is_new: false });
    });
  }));

const products = liveItems()
  .filter((item) => item.kind === 'publication')
  .map(({ external_id, listing }) => ({ id: external_id, listing: listing ?? null }));
const never = new AbortController().signal;
const PICTURES = 'services/demo/pictures';

test('every product and listing has its own picture of moderate size', async () => {
  const listings = new Set(products.flatMap(({ listing }) => listing ?? []));
  const names = readdirSync(PICTURES);
  const namesOf = (kind: string) => names.filter((name) => name.startsWith(`${kind}-`));
  expect(namesOf('product')).toHaveLength(products.length);
  expect(namesOf('listing')).toHaveLength(listings.size);
  expect(names).toHaveLength(products.length + listings.size + namesOf('detail').length);
  const pictures = names.map((name) => readFileSync(join(PICTURES, name)));
  expect(new Set(pictures.map(hashOf)).size).toBe(names.length);
  expect(pictures.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(2_500_000);
  for (const [index, bytes] of pictures.entries())
    expect(await inspectImage(bytes)).toMatchObject(
      names[index]!.startsWith('listing-')
        ? { mime_type: 'image/jpeg', width: 960, height: 540 }
        : { mime_type: 'image/jpeg', width: 800, height: 800 },
    );
});

test('a new demo gets its pictures, also after an interruption, and is not changed afterwards', () =>
  withTempDir((folder) =>
    withRuntime(folder, async (runtime, ensure) => {
      const { config } = runtime;
      const { demo } = (await ensure())!;
      const marker = join(folder, 'demo.pending.json');
      expect(existsSync(marker)).toBe(true);

      await expect(uploadDemoPictures(failingAfter(9, runtime), config, demo, never)).rejects.toThrow(
        'the power went out',
      );
      const begun = count(await eventsOf(runtime, 'live'), 'MediaUploaded');
      expect(begun).toBeGreaterThan(3);
      expect(existsSync(marker)).toBe(true);

      const uploads = async () => count(await eventsOf(runtime, 'live'), 'MediaUploaded');
      const waited_after: number[] = [];
      await uploadDemoPictures(runtime, config, demo, never, async (environment) => {
        if (environment === 'live') waited_after.push(await uploads());
      });
      // It waits for the pictures of each upload.
      const expected = Array.from({ length: (await uploads()) - begun }, (_, n) => begun + n + 1);
      expect(waited_after).toEqual(expected);
      expect(existsSync(marker)).toBe(false);
      const uploaded = await eventsOf(runtime, 'live');
      const featured = count(uploaded, 'MediaUploaded') - products.length - 9;
      expect(featured).toBeGreaterThan(5);
      // Each product and each listing gets its pictures with one event.
      expect(count(uploaded, 'PublicationMediaArranged')).toBe(products.length);
      expect(count(uploaded, 'ListingMediaArranged')).toBe(9);
      expect(count(await eventsOf(runtime, 'test'), 'PublicationMediaArranged')).toBeGreaterThan(5);
      const files = readdirSync(PICTURES).map((name) => hashOf(readFileSync(join(PICTURES, name))));
      const hashes = uploaded.flatMap((event) => (event.type === 'MediaUploaded' ? event.data.hash : []));
      expect(hashes.toSorted()).toEqual(files.toSorted());

      // Once all pictures were uploaded, a further call changes nothing.
      await uploadDemoPictures(runtime, config, demo, never);
      expect(await eventsOf(runtime, 'live')).toHaveLength(uploaded.length);
    }),
  ));

test('an aborted upload stops and stays pending', () =>
  withTempDir((folder) =>
    withRuntime(folder, async (runtime, ensure) => {
      const { demo } = (await ensure())!;
      await uploadDemoPictures(runtime, runtime.config, demo, AbortSignal.abort());
      expect(count(await eventsOf(runtime, 'live'), 'MediaUploaded')).toBe(0);
      expect(existsSync(join(folder, 'demo.pending.json'))).toBe(true);
    }),
  ));
