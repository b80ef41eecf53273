import { CHANGES_PERMISSIONS, reads } from '../../shared/api/operations/reads';
import { CHANGED_CATEGORIES, changingAggregate, fieldsAsCreated } from '../../shared/catalog/changes';
import { requirePermissions } from '../../shared/http/auth';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { StreamSlots } from '../../shared/http/stream-slots';
import { parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { markOf, offsetOf, type Place, tailOf } from '../../shared/ports/log-offset';
import { loadReadable } from '../../shared/ports/stream-state';
import {
  ChangeCollector,
  type Entry,
  type Filter,
  isWanted,
  jsonOf,
  PAGE_MAX,
  type Page,
} from './change-collector';
import { Feed, POLL_MS } from './feed';
import { openStore, type ReadDeps, requestedStore, requireSecretKey, requireStore } from './read';

/** How long server-sent events are sent. The client then connects again. */
const SSE_MS = 55_000;

/** Returns the slots of the reads of changes of a process. Most are long polls and server-sent events, which wait. */
export const changeSlots = () => new StreamSlots({ what: 'reads of changes', per_key: 100, in_all: 2_000 });

/** Handles `GET /api/changes`: the read side of Durable Streams 1.0 (docs/interface/changes.md). */
export async function readChanges(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'The feed of changes');
  requirePermissions(request, CHANGES_PERMISSIONS);
  const { offset = '-1', live, ...query } = parseQuery(reads.readChanges.query, request.query);
  const store_id = requestedStore(request);
  await requireStore(await openStore(deps, request, store_id), store_id);
  const { events } = deps[request.principal.environment];
  const wants = (entry: Entry): boolean => isWanted(entry, query);
  const filter: Filter = { store_id, key: JSON.stringify(query), wants };
  const feed = new Feed(deps, events, filter, deps.stopping);
  const form = request.header('accept')?.includes(CLOUD_EVENTS) ? toCloudEvents(store_id) : undefined;
  if (request.method === 'HEAD' || (offset === 'now' && !live))
    return pageAnswer({ entries: [], next: await tailOf(events), is_up_to_date: true }, { form });
  const after = await markOf(events, offset);
  const read: Read = (place, readOther) =>
    place.existing && place.existing.index < CHANGED_CATEGORIES.length
      ? readExisting(deps, request, filter, place, place.existing)
      : readOther(place);
  if (live === 'sse') return sseAnswer(request, feed, read, after);
  const page = await read(after, (place) => (live ? readNext(feed, place) : feed.read(place)));
  return pageAnswer(page, { form, is_live: live !== undefined });
}

/** Reads a page. An offset of a snapshot gives a page of the resources that exist. `readOther` reads any other offset. */
type Read = (place: Place, readOther: (place: Place) => Promise<Page>) => Promise<Page>;

/** Returns the next changes, for a long poll. */
async function readNext(feed: Feed, after: Place): Promise<Page> {
  const hold = feed.follow();
  try {
    return await feed.readOrWait(after, POLL_MS, hold.changes);
  } finally {
    hold.release();
  }
}

/** The headers of an answer after which a reader goes on at `next`. */
const headersAt = (next: Place) => ({
  'Cache-Control': 'no-store',
  'Stream-Next-Offset': offsetOf(next),
  'Stream-Cursor': cursorNow(),
  // For a copy: reads with this minimum position contain what is before the offset.
  'X-Catalog-Position': String(next.position),
});

const CLOUD_EVENTS = 'application/cloudevents-batch+json';

/** Returns a function that makes an event of CloudEvents 1.0, with the extension `sequence`, of a change. */
const toCloudEvents = (store_id: string) => (entry: Entry) => ({
  specversion: '1.0',
  id: entry.id,
  source: `/api/store?store_id=${store_id}`,
  type: entry.type,
  subject: entry.resource_id,
  time: entry.occurred_at,
  datacontenttype: 'application/json',
  sequence: entry.id,
  data: entry,
});

interface PageForm {
  readonly form: ReturnType<typeof toCloudEvents> | undefined;
  readonly is_live?: boolean;
}

function pageAnswer({ entries, next, is_up_to_date }: Page, { form, is_live = false }: PageForm): Answer {
  const headers = {
    ...headersAt(next),
    ...(is_up_to_date && { 'Stream-Up-To-Date': 'true' }),
  };
  if (is_live && entries.length === 0 && is_up_to_date)
    return { data: null, reply: { status: 204, headers } };
  const body = Buffer.from(form ? JSON.stringify(entries.map(form)) : textOf(entries));
  const content_type = form ? CLOUD_EVENTS : 'application/json; charset=utf-8';
  return { data: null, reply: { status: 200, headers: { ...headers, 'Content-Type': content_type }, body } };
}

const textOf = (entries: readonly Entry[]): string => `[${entries.map(jsonOf).join(',')}]`;

function sseAnswer(request: ApiRequest, feed: Feed, read: Read, after: Place): Answer {
  const headers = {
    ...headersAt(after),
    'X-Accel-Buffering': 'no',
    'Content-Type': 'text/event-stream',
  };
  return { data: null, reply: { status: 200, headers, body: serverSentEvents(request, feed, read, after) } };
}

async function* serverSentEvents(
  request: ApiRequest,
  feed: Feed,
  read: Read,
  start: Place,
): AsyncGenerator<Uint8Array> {
  const end_ms = performance.now() + SSE_MS;
  const hold = feed.follow();
  try {
    let wait_ms = 0;
    for (let after = start; performance.now() < end_ms; wait_ms = POLL_MS) {
      const page = await read(after, (place) => feed.readOrWait(place, wait_ms, hold.changes));
      if (page.entries.length > 0) yield dataOf(page.entries);
      // Also without changes, so that a client which has left is noticed.
      yield controlOf(page);
      if (feed.stopping?.aborted) return;
      if (!page.is_up_to_date && !(await admitsPage(request))) return;
      after = page.next;
    }
  } finally {
    hold.release();
  }
}

/**
 * Counts a page that is not the last one as a request, as it is for a client that polls. Returns false if the limit is
 * reached: the client then connects again, and is told when it may.
 */
async function admitsPage({ admitItems }: ApiRequest): Promise<boolean> {
  try {
    // The connection has counted as one already.
    await admitItems?.(2);
    return true;
  } catch (error) {
    if (error instanceof CatalogError && error.condition === 'rate_limited') return false;
    throw error;
  }
}

/** The events of changes. Readers that share a page share the bytes: 300 of them would have 300 MB of the same page. */
const sent = new WeakMap<readonly Entry[], Uint8Array>();

function dataOf(entries: readonly Entry[]): Uint8Array {
  const bytes = sent.get(entries) ?? Buffer.from(`event: data\ndata: ${textOf(entries)}\n\n`);
  sent.set(entries, bytes);
  return bytes;
}

function controlOf({ next, is_up_to_date }: Page): Uint8Array {
  const control = {
    streamNextOffset: offsetOf(next),
    streamCursor: cursorNow(),
    ...(is_up_to_date && { upToDate: true }),
  };
  return Buffer.from(`event: control\ndata: ${JSON.stringify(control)}\n\n`);
}

/** Changes every 20 seconds, so that caches do not join requests of different times. */
const cursorNow = (): string => String(Math.floor(Date.now() / 20_000));

/**
 * Returns changes that create the resources that exist, as they are now. The documents that name them contain all events
 * up to the place. What changes later comes again in the feed, with a higher revision.
 */
async function readExisting(
  deps: ReadDeps,
  request: ApiRequest,
  filter: Filter,
  after: Place,
  { index, after_id }: NonNullable<Place['existing']>,
): Promise<Page> {
  const { environment: realm } = request.principal;
  const { events } = deps[realm];
  const category = CHANGED_CATEGORIES[index]!;
  const { store_id } = filter;
  const version = await openStore(deps, request, store_id as StoreId, after.position);
  const found =
    category === 'store'
      ? [{ id: store_id }]
      : await version.scan(COLLECTIONS[category], { where: { store_id }, after_id, limit: PAGE_MAX });
  const page = new ChangeCollector(events, filter, after);
  for (const { id } of found) {
    const aggregate = changingAggregate(category);
    const { state, revision } = await loadReadable<Existing>({ aggregate, events, realm, id } as never);
    if (state.tag !== 'present') continue;
    const next = { ...after, existing: { index, after_id: id } };
    const { created_at, updated_at = created_at } = state.resource;
    page.take(
      {
        ...{ id: offsetOf(next), type: `${category}.created`, resource: category, resource_id: id },
        ...{ revision: revision + 1, occurred_at: updated_at, actor: { type: 'system' } },
        changed: fieldsAsCreated(state),
      },
      next,
    );
    if (page.isFull()) return page.end(false);
  }
  const is_last = found.length < PAGE_MAX;
  const existing = is_last ? { index: index + 1, after_id: '' } : { index, after_id: found.at(-1)!.id };
  return { ...page.end(false), next: { ...after, existing } };
}

interface Existing {
  readonly store_id: StoreId;
  readonly created_at: string;
  /** Absent for a review. */
  readonly updated_at?: string;
  readonly [name: string]: unknown;
}

const COLLECTIONS = {
  media: 'media',
  listing: 'listings',
  publication: 'publications',
  review: 'reviews',
} as const;
