import { reads } from '../../shared/api/operations/reads';
import { type ChangedCategory, changingAggregate } from '../../shared/catalog/changes';
import { ABSENT, type State } from '../../shared/catalog/events/aggregate';
import { type RecordedEvent, type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { type Listing, listingAggregate, listingResource } from '../../shared/catalog/listing/listing';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { type Publication, publicationResource } from '../../shared/catalog/publication/publication';
import type { SortOrder } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import { CatalogError, type Condition } from '../../shared/kernel/errors';
import type { ListingId } from '../../shared/kernel/ids';
import { readCorrected } from '../../shared/ports/corrections';
import type { EventStore } from '../../shared/ports/event-store';
import { loadReadable, type StreamRef, streamNameOf } from '../../shared/ports/stream-state';
import { allChangesOf, ChangeCollector, isSameWrite, withKeyNames } from './change-collector';
import { endOf, placeOf } from './list-place';
import { EXPANSIONS, presentPublication } from './present';
import { presentationOf } from './presentation';
import {
  accessibleStores,
  openStore,
  parseRead,
  type ReadDeps,
  type ReadHandler,
  type ReadQuery,
  requestedStore,
  requireSecretKey,
  requireStore,
  settingsOf,
} from './read';

/** How many revisions a history covers. */
const REVISIONS_MAX = 1_000;

const CATEGORIES = {
  publication: { operation: reads.listPublicationHistory, not_found: 'publication_not_found' },
  listing: { operation: reads.listListingHistory, not_found: 'listing_not_found' },
  store: { operation: reads.listStoreHistory, not_found: 'store_not_found' },
} as const satisfies Partial<Record<ChangedCategory, unknown>>;

/** The kinds of resources that are read as they were. */
type DatedCategory = Exclude<keyof typeof CATEGORIES, 'store'>;

/** Finds the stream of the resource of a request, also if it is deleted. Throws `not_found` if there is none in the store. */
export async function openStream(
  deps: ReadDeps,
  request: ApiRequest,
  category: keyof typeof CATEGORIES,
  not_found: Condition,
) {
  const { environment } = request.principal;
  const requested = requestedStore(request);
  const version = await openStore(deps, request, requested);
  const { events } = deps[environment];
  const id = category === 'store' ? requested : (request.params.id ?? '');
  const aggregate = changingAggregate(category);
  const ref = { aggregate, events, realm: environment, id } as unknown as StreamRef<Publication | Listing>;
  const { state, revision } = await loadReadable(ref);
  if (state.tag === 'absent') throw new CatalogError(not_found);
  const owned = state.tag === 'present' ? state.resource : state;
  const store_id = category === 'store' ? requested : owned.store_id;
  if (!accessibleStores(request).includes(store_id)) throw new CatalogError(not_found);
  const store = settingsOf(await requireStore(version, store_id));
  return { ref, events, stream: streamName(environment, category, id), store_id, store, revision };
}

/** A cursor of a history has its last revision. Nothing changes before that, so the number of changes is enough. */
const BY_END: SortOrder = [['version', 'desc']];

/** Returns the handler of the history of a kind of resource. It reads the stream of the resource (docs/interface/changes.md#history). */
export const readHistory =
  (category: keyof typeof CATEGORIES) =>
  async (deps: ReadDeps, request: ApiRequest): Promise<Answer> => {
    const { operation, not_found } = CATEGORIES[category];
    requireSecretKey(request, 'A history');
    const query = parseQuery(operation.query, request.query);
    const { since, actor, before = Number.POSITIVE_INFINITY } = query;
    const { events, stream, store_id, revision } = await openStream(deps, request, category, not_found);
    const place = placeOf(request, query, `history ${category}`, BY_END);
    // With a cursor, the history ends where it did for the first page.
    const last = Math.min(revision, Number(place.after?.[0] ?? before - 1));
    // One event more shows whether the first of the newest 1,000 begins a write.
    const first = Math.max(0, last - REVISIONS_MAX);
    const collector = new ChangeCollector(events, allChangesOf(store_id));
    const recorded = last < 0 ? [] : await events.readStream(stream, first, last - first + 1);
    const second_write = recorded.findIndex((event, n) => n > 0 && !isSameWrite(recorded[n - 1], event));
    const whole = first === 0 ? recorded : recorded.slice(Math.max(0, second_write));
    for (const event of whole) await collector.add(event);
    const wanted = collector
      .takeEntries()
      // A change has the revision of its last event. The event `before` was read so that its write is not cut.
      .filter((entry) => entry.revision < before)
      .filter((entry) => since === undefined || Date.parse(entry.occurred_at) >= Date.parse(since))
      .filter((entry) => actor === undefined || entry.actor.id === actor)
      .reverse();
    const shown = wanted.slice(place.before, place.before + place.limit);
    const data = (await withKeyNames(deps, shown)) as unknown as Answer['data'];
    const has_more = wanted.length > place.before + shown.length;
    const page = shown.map(({ id }) => ({ id, keys: { version: last } }));
    return { data, meta: pageMeta({ ...place, total: wanted.length }, endOf(place, page, has_more)) };
  };

// --- Time travel ---

/** Returns the handler of a read by id. With `as_of`, it answers with the resource as it was then (RFC 7089). */
export const orAsOf =
  (category: DatedCategory, read: ReadHandler): ReadHandler =>
  (deps, request) =>
    request.query.as_of === undefined ? read(deps, request) : readAsOf(deps, request, category);

async function readAsOf(deps: ReadDeps, request: ApiRequest, category: DatedCategory): Promise<Answer> {
  requireSecretKey(request, 'as_of');
  const { as_of = '', ...query } = parseRead(reads.getPublication, request, EXPANSIONS[category]);
  const { not_found } = CATEGORIES[category];
  const opened = await openStream(deps, request, category, not_found);
  const { events, stream, revision } = opened;
  const until_ms = Date.parse(as_of);
  const event = await lastEventUntil(events, stream, revision, until_ms);
  return answerAfter(category, request, opened, event, query, until_ms);
}

/** Returns the handler of a resource as it was at a revision of its history, which counts from 1. */
export const readRevision =
  (category: DatedCategory): ReadHandler =>
  async (deps, request) => {
    requireSecretKey(request, 'A history');
    const query = parseRead(reads.getPublicationRevision, request, EXPANSIONS[category]);
    const asked = request.params.revision ?? '';
    if (!/^[1-9]\d{0,9}$/.test(asked))
      throw CatalogError.ofFaults([
        { condition: 'invalid_query', field: 'revision', constraint: 'a revision of the history' },
      ]);
    const { not_found } = CATEGORIES[category];
    const opened = await openStream(deps, request, category, not_found);
    const [event] = await opened.events.readStream(opened.stream, Number(asked) - 1, 1);
    // The events before a purge are gone.
    const found = event?.revision === Number(asked) - 1 ? event : undefined;
    return answerAfter(category, request, opened, found, query);
  };

/**
 * Returns the resource as it was after the event, with the listings that existed at `at_ms`, by default the time of the
 * event. Throws `not_found` if there is no event, or if it deleted the resource.
 */
async function answerAfter(
  category: DatedCategory,
  request: ApiRequest,
  { ref, store }: Pick<Awaited<ReturnType<typeof openStream>>, 'ref' | 'store'>,
  event: RecordedEvent | undefined,
  query: ReadQuery,
  at_ms?: number,
): Promise<Answer> {
  const { state } = event ? await loadReadable(ref, event.revision) : { state: ABSENT };
  if (!event || state.tag !== 'present') throw new CatalogError(CATEGORIES[category].not_found);
  const occurred_ms = Date.parse(event.metadata.occurred_at);
  const withListings = listingsAt(ref, at_ms ?? occurred_ms);
  const resource =
    category === 'publication' ? await withListings(state.resource as Publication) : state.resource;
  const headers = { 'Memento-Datetime': new Date(occurred_ms).toUTCString() };
  return { data: presentAsOf(category, resource, query), headers, as: presentationOf(store, request) };
}

/**
 * Returns a function that leaves out the listings of a publication that did not exist at a time: a publication keeps the
 * ids of deleted listings. It reads each listing once.
 */
export function listingsAt({ events, realm }: Pick<StreamRef<unknown>, 'events' | 'realm'>, at_ms: number) {
  const states = new Map<string, Promise<State<Listing>>>();
  const stateOf = (id: ListingId): Promise<State<Listing>> => {
    const found = states.get(id) ?? stateAt({ aggregate: listingAggregate, events, realm, id }, at_ms);
    states.set(id, found);
    return found;
  };
  return async (publication: Publication): Promise<Publication> => {
    const { listing_id, listing_ids, featured_positions } = publication;
    const gone = new Set<string>();
    for (const id of [...(listing_id === null ? [] : [listing_id]), ...listing_ids])
      if ((await stateOf(id as ListingId)).tag !== 'present') gone.add(id);
    if (gone.size === 0) return publication;
    const positions = Object.entries(featured_positions).filter(([id]) => !gone.has(id));
    return {
      ...publication,
      listing_id: listing_id !== null && gone.has(listing_id) ? null : listing_id,
      listing_ids: listing_ids.filter((id) => !gone.has(id)),
      featured_positions: Object.fromEntries(positions),
    };
  };
}

/** Returns the state of the stream at a time, after those events that this release can read. */
export async function stateAt<Resource extends { readonly updated_at: string }>(
  ref: StreamRef<Resource>,
  until_ms: number,
): Promise<State<Resource>> {
  const { state, revision } = await loadReadable(ref);
  if (state.tag === 'present' && lastChangeOf(state.resource) <= until_ms) return state;
  const event = await lastEventUntil(ref.events, streamNameOf(ref), revision, until_ms);
  return event ? (await loadReadable(ref, event.revision)).state : ABSENT;
}

/** Returns the latest time at which the resource may have changed: a sale begins and ends without a change of `updated_at`. */
function lastChangeOf(
  resource: { readonly updated_at: string } & Partial<Pick<Publication, 'sale_from' | 'sale_to'>>,
) {
  const { updated_at, sale_from, sale_to } = resource;
  return sale_from || sale_to ? Number.POSITIVE_INFINITY : Date.parse(updated_at);
}

/** Returns the newest event of the stream until a time, by bisection. */
async function lastEventUntil(
  events: EventStore,
  stream: StreamName,
  last_revision: number,
  until_ms: number,
): Promise<RecordedEvent | undefined> {
  let found: RecordedEvent | undefined;
  for (let low = 0, high = last_revision; low <= high; ) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await readCorrected(events, stream, middle, 1);
    if (event && Date.parse(event.metadata.occurred_at) <= until_ms) {
      found = event;
      low = middle + 1;
    } else high = middle - 1;
  }
  return found;
}

/** Presents the fields that a resource had, and its variants. Nothing else of that time is known. */
export function presentAsOf(category: DatedCategory, resource: Publication | Listing, query: ReadQuery) {
  if (category === 'listing')
    return { ...listingResource(resource as Listing), media_ids: [...resource.media_ids] };
  const publication = resource as Publication;
  const { store_id, listing_id } = publication;
  const body = publicationResource(publication, publication, undefined);
  const document = { body, keys: { store_id, listing_id }, state: { publication }, expansions: {} };
  const expand = query.expand.filter((value) => value === 'variants');
  return presentPublication(document as unknown as PublicationDocument, { ...query, expand });
}
