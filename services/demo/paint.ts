import { randomUUID } from 'node:crypto';
import type { Environment } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { Config } from '../../shared/kernel/config';
import { deriveId, type ListingId, type MediaId, type StoreId } from '../../shared/kernel/ids';
import { listingAggregate } from '../command/aggregates';
import type { WriteContext } from '../command/context';
import { load } from '../command/execute';
import { updateListing } from '../command/listing/service';
import { findStore } from '../command/store/service';
import { listingIdOf, publicationIdOf } from '../import/identity';
import type { ImportItem, PublicationItem } from '../import/item';
import { type MediaDeps, type MediaWriter, mediaWriterTo } from '../import/media-writer';
import { rasterise } from '../media/images/draw';
import { liveItems, testItems } from './catalog';
import { type Demo, DemoFiles } from './files';
import { type Drawn, drawingOf, groupOf } from './pictures/drawing';

/** One store that is being painted. */
interface Studio {
  readonly deps: MediaDeps;
  readonly context: WriteContext;
  readonly environment: Environment;
  readonly store: Store;
  readonly writer: MediaWriter;
  readonly draw: typeof rasterise;
}

/**
 * Draws a picture of every product and listing of a demo that was just made, and uploads them as a merchant would. Goes
 * on where an earlier run was ended, and does nothing for a demo that has its pictures, whatever became of them since.
 */
export async function paintDemo(
  deps: MediaDeps,
  config: Config,
  demo: Demo,
  signal: AbortSignal,
  draw = rasterise,
): Promise<void> {
  const files = new DemoFiles(config.DATA_DIR);
  if (!(await files.isUnpainted())) return;
  const stores = [
    { environment: 'live', id: demo.store_id, items: liveItems() },
    { environment: 'test', id: demo.test_store_id, items: testItems() },
  ] as const;
  for (const { environment, id, items } of stores) {
    const store = await findStore(deps, { environment, id: id as StoreId });
    if (!store) continue;
    const context: WriteContext = { source: 'system', request_id: randomUUID() };
    const writer = mediaWriterTo(deps, context, { environment, store_id: store.id });
    await paintStore({ deps, context, environment, store, writer, draw }, items, signal);
  }
  if (!signal.aborted) await files.painted();
}

/** What is shown first is painted first. */
async function paintStore(studio: Studio, items: readonly ImportItem[], signal: AbortSignal): Promise<void> {
  const products = items.filter((item) => item.kind === 'publication');
  const featured = (item: PublicationItem): number => Number(item.fields.featured_position ?? 1_000);
  for (const item of products.toSorted((a, b) => featured(a) - featured(b))) {
    if (signal.aborted) return;
    await paintProduct(studio, item);
  }
  for (const name of new Set(products.map(({ listing }) => listing))) {
    if (signal.aborted) return;
    if (typeof name === 'string')
      await paintListing(
        studio,
        name,
        products.filter(({ listing }) => listing === name),
      );
  }
}

const drawn = ({ external_id, listing }: PublicationItem): Drawn => ({
  id: external_id,
  listing: listing ?? null,
});

/** One picture, or two of what is featured. */
async function paintProduct(studio: Studio, item: PublicationItem): Promise<void> {
  const { external_id, fields } = item;
  const alt = String(fields.title);
  const media_ids = [
    ...(await upload(studio, `product ${external_id}`, alt, () => drawingOf(drawn(item)))),
    ...(fields.featured_position
      ? await upload(studio, `detail ${external_id}`, alt, () => drawingOf(drawn(item), true))
      : []),
  ];
  if (media_ids.length > 0)
    await studio.writer.showMedia(publicationIdOf(studio.store, external_id, 1), media_ids);
}

async function paintListing(
  studio: Studio,
  name: string,
  products: readonly PublicationItem[],
): Promise<void> {
  const { deps, context, environment, store } = studio;
  const id: ListingId = listingIdOf(store, name, 1);
  const media_ids = await upload(studio, `listing ${name}`, name, () => groupOf(products.map(drawn)));
  const place = { events: deps.events[environment], realm: environment, aggregate: listingAggregate, id };
  const { state } = await load(place);
  if (state.tag !== 'present' || state.listing.media_ids.length > 0 || media_ids.length === 0) return;
  await updateListing(deps, context, { environment, id }, { media_ids });
}

/**
 * In one of the formats that shops deal in. What an earlier run uploaded is not drawn again; what somebody has deleted
 * meanwhile stays so, and is none.
 */
async function upload(
  { writer, store, draw }: Studio,
  name: string,
  alt: string,
  picture: () => string,
): Promise<MediaId[]> {
  const media_id = deriveId<MediaId>(Date.parse(store.created_at), store.id, 'demo', name);
  const presence = await writer.media(media_id);
  if (presence === 'deleted') return [];
  if (presence === 'absent') {
    const bytes = await draw(picture(), name.length % 3 === 0 ? 'webp' : 'jpeg');
    await writer.uploadMedia(media_id, oneChunk(bytes), alt);
  }
  return [media_id];
}

async function* oneChunk(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
