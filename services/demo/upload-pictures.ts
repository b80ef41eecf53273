import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { Config } from '../../shared/kernel/config';
import { deriveId, type MediaId, type StoreId } from '../../shared/kernel/ids';
import type { WriteContext } from '../command/execute';
import { findListing, updateListing } from '../command/listing';
import { findStore } from '../command/store';
import { listingIdOf, publicationIdOf } from '../import/identity';
import type { ImportItem, PublicationItem } from '../import/item';
import { type CatalogWriter, type ImportDeps, writerTo } from '../import/writer';
import { DEMO_FOLDER, liveItems, testItems } from './catalog';
import { type Demo, DemoFiles } from './files';

/** JPEG files, one per product, listing and close-up. `pictureFile` defines their names. */
const FOLDER = join(DEMO_FOLDER, 'pictures');

/** The parameters of an upload into one store. */
interface Upload {
  readonly deps: ImportDeps;
  readonly context: WriteContext;
  readonly environment: Environment;
  readonly store: Store;
  readonly writer: CatalogWriter;
  readonly waitForPictures: WaitForPictures;
}

/** Resolves when the pictures of an upload are made. */
export type WaitForPictures = (environment: Environment, id: MediaId) => Promise<void>;

/**
 * Uploads a picture of every product and listing of a new demo. Continues an upload that was interrupted. Does nothing
 * once all pictures have been uploaded, even if some were deleted since. Waits for the pictures of each upload before the
 * next upload, so that an upload of a merchant waits behind at most one upload of the demo.
 */
export async function uploadDemoPictures(
  deps: ImportDeps,
  config: Config,
  demo: Demo,
  signal: AbortSignal,
  waitForPictures: WaitForPictures = async () => {},
): Promise<void> {
  const files = new DemoFiles(config.DATA_DIR);
  if (!(await files.readPending())) return;
  const stores = [
    { environment: 'live', id: demo.store_id, items: liveItems() },
    { environment: 'test', id: demo.test_store_id, items: testItems() },
  ] as const;
  for (const { environment, id, items } of stores) {
    const store = await findStore(deps, { environment, id: id as StoreId });
    if (!store) continue;
    const context: WriteContext = { source: 'system', request_id: randomUUID() };
    const writer = writerTo(deps, context, { environment, store_id: store.id });
    const upload: Upload = { deps, context, environment, store, writer, waitForPictures };
    await uploadForStore(upload, items, signal);
  }
  if (!signal.aborted) await files.markPicturesUploaded();
}

/** Uploads featured products first, because pages show them first. */
async function uploadForStore(
  upload: Upload,
  items: readonly ImportItem[],
  signal: AbortSignal,
): Promise<void> {
  const products = items.filter((item) => item.kind === 'publication');
  const featured = (item: PublicationItem): number => Number(item.fields.featured_position ?? 1_000);
  for (const item of products.toSorted((a, b) => featured(a) - featured(b))) {
    if (signal.aborted) return;
    await uploadForProduct(upload, item);
  }
  for (const name of new Set(products.map(({ listing }) => listing))) {
    if (signal.aborted) return;
    if (typeof name === 'string') await uploadForListing(upload, name);
  }
}

/** Uploads one picture of a product, and a close-up if the product is featured. */
async function uploadForProduct(upload: Upload, item: PublicationItem): Promise<void> {
  const { external_id, fields } = item;
  const alt = String(fields.title);
  const names = [`product ${external_id}`, ...(fields.featured_position ? [`detail ${external_id}`] : [])];
  const media_ids: MediaId[] = [];
  for (const name of names) media_ids.push(...(await uploadPicture(upload, name, alt)));
  if (media_ids.length > 0)
    await upload.writer.attachMedia(publicationIdOf(upload.store, external_id, 1), { media_ids });
}

async function uploadForListing(upload: Upload, name: string): Promise<void> {
  const { deps, context, environment, store } = upload;
  const id = listingIdOf(store, name, 1);
  const media_ids = await uploadPicture(upload, `listing ${name}`, name);
  const listing = await findListing(deps, environment, id);
  if (listing?.media_ids.length !== 0 || media_ids.length === 0) return;
  await updateListing(deps, context, { environment, id }, { media_ids });
}

/** Uploads a picture if an earlier run has not. Returns its id, or none if the media was deleted since. */
async function uploadPicture(upload: Upload, name: string, alt: string): Promise<MediaId[]> {
  const { writer, store, environment, waitForPictures } = upload;
  const media_id = deriveId<MediaId>(Date.parse(store.created_at), store.id, 'demo', name);
  const presence = await writer.media(media_id);
  if (presence === 'deleted') return [];
  if (presence === 'absent') {
    await writer.uploadMedia(media_id, createReadStream(pictureFile(name)), alt);
    await waitForPictures(environment, media_id);
  }
  return [media_id];
}

/** Returns the path of a picture, for example `listing-ceramica.jpg` for `listing Cerámica`. */
function pictureFile(name: string): string {
  const plain = name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  const file = plain.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
  return join(FOLDER, `${file}.jpg`);
}
