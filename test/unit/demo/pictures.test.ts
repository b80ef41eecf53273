import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { openRuntime, type Runtime } from '../../../services/boot/runtime';
import { liveItems } from '../../../services/demo/catalog';
import { ensureDemo } from '../../../services/demo/ensure';
import { paintDemo } from '../../../services/demo/paint';
import { drawingOf, groupOf } from '../../../services/demo/pictures/drawing';
import { rasterise } from '../../../services/media/images/draw';
import { inspectImage } from '../../../services/media/images/inspect';
import { type DomainEvent, decodeEvent } from '../../../shared/catalog/events/codec';
import { START } from '../../../shared/catalog/events/envelope';
import { parseConfig } from '../../../shared/kernel/config';
import { realSystem } from '../../../shared/kernel/system';
import { hashOf } from '../../support/media';
import { flatPicture } from '../../support/pictures';
import { withTempDir } from '../../support/temp-dir';

const products = liveItems()
  .filter((item) => item.kind === 'publication')
  .map(({ external_id, listing }) => ({ id: external_id, listing: listing ?? null }));
const never = new AbortController().signal;
/** Quick, where it does not matter what is to be seen. */
const draw = () => flatPicture('png', { width: 8, height: 8 });

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
  const found: DomainEvent[] = [];
  const stop = new AbortController();
  for await (const batch of runtime.events[environment].subscribe({ after: START, signal: stop.signal })) {
    found.push(...batch.events.map(decodeEvent));
    if (batch.caught_up) stop.abort();
  }
  return found;
}
const count = (events: DomainEvent[], type: DomainEvent['type']): number =>
  events.filter((event) => event.type === type).length;

test('every product looks the same each time, and like no other', async () => {
  const drawings = products.map((product) => drawingOf(product));
  expect(products.map((product) => drawingOf(product))).toEqual(drawings);
  expect(new Set(drawings).size).toBe(products.length);
  expect(drawings.filter((svg) => /undefined|NaN/.test(svg))).toEqual([]);
  const some = drawings.filter((_, index) => index % 9 === 0);
  const pictures = await Promise.all(some.map((svg) => rasterise(svg, 'jpeg')));
  expect(new Set(pictures.map(hashOf)).size).toBe(some.length);
  for (const bytes of pictures)
    expect(await inspectImage(bytes)).toMatchObject({ mime_type: 'image/jpeg', width: 1200, height: 1200 });
  const group = await rasterise(groupOf(products.slice(0, 3)), 'webp');
  expect(await inspectImage(group)).toMatchObject({ mime_type: 'image/webp', width: 1600, height: 900 });
});

test('a demo that was just made gets its pictures, goes on where it was ended, and then is left alone', () =>
  withRuntime(async (runtime, folder) => {
    const { config } = runtime;
    const { demo } = (await ensureDemo(runtime, config))!;
    const marker = join(folder, 'demo.unpainted');
    expect(existsSync(marker)).toBe(true);

    let appends = 9;
    const live = Object.create(runtime.events.live) as typeof runtime.events.live;
    live.append = async (...call) => {
      if (appends-- <= 0) throw new Error('the power went out');
      return runtime.events.live.append(...call);
    };
    const failing = { ...runtime, events: { ...runtime.events, live } };
    await expect(paintDemo(failing, config, demo, never, draw)).rejects.toThrow('the power went out');
    const begun = count(await eventsOf(runtime, 'live'), 'MediaUploaded');
    expect(begun).toBeGreaterThan(3);
    expect(existsSync(marker)).toBe(true);

    await paintDemo(runtime, config, demo, never, draw);
    expect(existsSync(marker)).toBe(false);
    const painted = await eventsOf(runtime, 'live');
    const featured = count(painted, 'MediaUploaded') - products.length - 9;
    expect(featured).toBeGreaterThan(5);
    // Every product has its pictures, in one event; so has every listing.
    expect(count(painted, 'PublicationMediaArranged')).toBe(products.length);
    expect(count(painted, 'ListingMediaArranged')).toBe(9);
    expect(count(await eventsOf(runtime, 'test'), 'PublicationMediaArranged')).toBeGreaterThan(5);

    // A demo of before, and one whose pictures somebody takes away, stay as they are.
    await paintDemo(runtime, config, demo, never, draw);
    expect(await eventsOf(runtime, 'live')).toHaveLength(painted.length);
  }));

test('painting stops where it is asked to, and says that it is not done', () =>
  withRuntime(async (runtime, folder) => {
    const { demo } = (await ensureDemo(runtime, runtime.config))!;
    await paintDemo(runtime, runtime.config, demo, AbortSignal.abort());
    expect(count(await eventsOf(runtime, 'live'), 'MediaUploaded')).toBe(0);
    expect(existsSync(join(folder, 'demo.unpainted'))).toBe(true);
  }));
