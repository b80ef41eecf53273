import { decodeEvent } from '../../shared/catalog/events/codec';
import { parseStreamName, type RecordedEvent, START } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import type { AccountId, ListingId, MediaId, PublicationId } from '../../shared/kernel/ids';
import type { EventStore } from '../../shared/ports/event-store';
import type { StoreDeps, WriteContext } from '../command/execute';
import { deleteListing } from '../command/listing';
import { deleteMedia } from '../command/media';
import { deletePublication } from '../command/publication';
import { runPool } from '../import/pool';

const CONCURRENCY = 32;

export interface TestData {
  readonly publications: readonly PublicationId[];
  readonly listings: readonly ListingId[];
  readonly media: readonly MediaId[];
}

/** What the account's test stores hold, from the log itself: complete, however far the documents are behind. */
export async function findTestData(log: EventStore, account_id: AccountId): Promise<TestData> {
  const stores = new Set<string>();
  const publications = new Set<PublicationId>();
  const listings = new Set<ListingId>();
  const media = new Set<MediaId>();
  for await (const event of wholeLog(log)) {
    const id = parseStreamName(event.stream)?.id ?? '';
    if (event.type === 'StoreCreated' && isStoreOf(event, account_id)) stores.add(id);
    if (!stores.has(event.metadata.store_id ?? '')) continue;
    if (event.type === 'PublicationCreated') publications.add(id as PublicationId);
    if (event.type === 'PublicationDeleted') publications.delete(id as PublicationId);
    if (event.type === 'ListingCreated') listings.add(id as ListingId);
    if (event.type === 'ListingDeleted') listings.delete(id as ListingId);
    if (event.type === 'MediaUploaded') media.add(id as MediaId);
    if (event.type === 'MediaDeleted') media.delete(id as MediaId);
  }
  return { publications: [...publications], listings: [...listings], media: [...media] };
}

function isStoreOf(event: RecordedEvent, account_id: AccountId): boolean {
  const decoded = decodeEvent(event);
  return decoded.type === 'StoreCreated' && decoded.data.account_id === account_id;
}

/** Up to where the log ended when it was asked. */
async function* wholeLog(log: EventStore): AsyncGenerator<RecordedEvent> {
  const head = await log.head();
  if (head === START) return;
  const stop = new AbortController();
  try {
    for await (const batch of log.subscribe({ after: START, signal: stop.signal })) {
      yield* batch.events;
      if (batch.position >= head) return;
    }
  } finally {
    stop.abort();
  }
}

/** Publications first, so that none is ever without its listing. What somebody deleted meanwhile is no failure. */
export async function deleteTestData(
  deps: StoreDeps,
  context: WriteContext,
  found: TestData,
  options: { readonly on_progress: (done: number) => void; readonly signal: AbortSignal },
): Promise<{ publications: number; listings: number; media: number }> {
  let done = 0;
  const deleteAll = async <Id>(
    ids: readonly Id[],
    deleteOne: (id: Id) => Promise<unknown>,
  ): Promise<number> => {
    let deleted = 0;
    const work = async (id: Id): Promise<void> => {
      if (await unlessGone(deleteOne(id))) deleted++;
      options.on_progress(++done);
    };
    await runPool(each(ids), CONCURRENCY, work, options.signal);
    return deleted;
  };
  const environment = 'test';
  const publications = await deleteAll(found.publications, (id) =>
    deletePublication(deps, context, { environment, id }),
  );
  const listings = await deleteAll(found.listings, (id) => deleteListing(deps, context, { environment, id }));
  const media = await deleteAll(found.media, (id) => deleteMedia(deps, context, { environment, id }));
  return { publications, listings, media };
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

async function unlessGone(deleting: Promise<unknown>): Promise<boolean> {
  try {
    await deleting;
    return true;
  } catch (error) {
    const gone = ['publication_not_found', 'listing_not_found', 'media_not_found'];
    if (error instanceof CatalogError && gone.includes(error.condition)) return false;
    throw error;
  }
}
