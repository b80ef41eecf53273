import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { openRuntime, type Runtime } from '../../../services/boot/runtime';
import { liveItems } from '../../../services/demo/catalog';
import { ensureDemo } from '../../../services/demo/ensure';
import { uploadDemoPictures } from '../../../services/demo/upload-pictures';
import { type DomainEvent, decodeEvent } from '../../../shared/catalog/events/codec';
import { inspectImage } from '../../../shared/images/inspect';
import { parseConfig } from '../../../shared/kernel/config';
import { realSystem } from '../../../shared/kernel/system';
import { hashOf } from '../../support/media';
import { readLog } from '../../support/read-log';
import { withTempDir } from '../../support/temp-dir';

const products = liveItems()
  .filter((item) => item.kind === 'publication')
  .map(({ external_id, listing }) => ({ id: external_id, listing: listing ?? null }));
const never = new AbortController().signal;
const PICTURES = 'services/demo/pictures';

async function withRuntime(story: (runtime: Runtime, folder: string) => Promise<void>): Promise<void> {
  await withTempDir(async (folder) => {
    const runtime = await openRuntime(
      parseConfig({ DATA_DIR: folder }),
      pino({ level: 'silent' }),
      realSystem,
    );
    await story(runtime, folder).finally(() => runtime.close());
  });
}

async function eventsOf(runtime: Runtime, environment: 'live' | 'test'): Promise<DomainEvent[]> {
  return (await readLog(runtime.events[environment])).map(decodeEvent);
}
const count = (events: DomainEvent[], type: DomainEvent['type']): number =>
  events.filter((event) => event.type === type).length;

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
  withRuntime(async (runtime, folder) => {
    const { config } = runtime;
    const { demo } = (await ensureDemo(runtime, config))!;
    const marker = join(folder, 'demo.pending.json');
    expect(existsSync(marker)).toBe(true);

    let appends = 9;
    const live = Object.create(runtime.events.live) as typeof runtime.events.live;
    live.append = async (...call) => {
      if (appends-- <= 0) throw new Error('the power went out');
      return runtime.events.live.append(...call);
    };
    const failing = { ...runtime, events: { ...runtime.events, live } };
    await expect(uploadDemoPictures(failing, config, demo, never)).rejects.toThrow('the power went out');
    const begun = count(await eventsOf(runtime, 'live'), 'MediaUploaded');
    expect(begun).toBeGreaterThan(3);
    expect(existsSync(marker)).toBe(true);

    await uploadDemoPictures(runtime, config, demo, never);
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
  }));

test('an aborted upload stops and stays pending', () =>
  withRuntime(async (runtime, folder) => {
    const { demo } = (await ensureDemo(runtime, runtime.config))!;
    await uploadDemoPictures(runtime, runtime.config, demo, AbortSignal.abort());
    expect(count(await eventsOf(runtime, 'live'), 'MediaUploaded')).toBe(0);
    expect(existsSync(join(folder, 'demo.pending.json'))).toBe(true);
  }));
