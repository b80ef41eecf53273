import { CHANGES_PERMISSIONS, reads } from '../../shared/api/operations/reads';
import {
  type Actor,
  actorOf,
  CHANGED_CATEGORIES,
  type Change,
  type ChangedCategory,
  type ChangedResource,
  changeOf,
  changingAggregate,
  fieldsAsCreated,
} from '../../shared/catalog/changes';
import type { State } from '../../shared/catalog/events/aggregate';
import { decodeIfReadable } from '../../shared/catalog/events/codec';
import { isCorrection } from '../../shared/catalog/events/correction';
import {
  type Position,
  parseStreamName,
  type RecordedEvent,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { longTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { hasUnknownOwner, withCorrections } from '../../shared/ports/corrections';
import type { EventStore } from '../../shared/ports/event-store';
import {
  BEGINNING,
  markOf,
  offsetOf,
  type Place,
  tailOf,
  unlessMismatch,
} from '../../shared/ports/log-offset';
import { loadReadable, type StreamRef } from '../../shared/ports/stream-state';
import {
  assertActive,
  openStore,
  type ReadDeps,
  requestedStore,
  requirePermissions,
  requireSecretKey,
} from './read';
import { withWakeups } from './wakeups';

/** Maximum number of changes in an answer. */
const PAGE_MAX = 100;
/** An answer ends after so many events of the log, which may be those of other stores, and after so many characters. */
const SCANNED_MAX = 10_000;
const LENGTH_MAX = 1_000_000;
const BATCH_SIZE = 500;
/** How long a long poll waits. Shorter than the time that each answer has. */
export const POLL_MS = 4_000;
/** How long server-sent events are sent. The client then connects again. */
const SSE_MS = 55_000;

/** A change as it is shown (docs/interface.md#changes). */
export interface Entry {
  readonly id: string;
  readonly type: `${ChangedResource}.${Change['verb']}`;
  readonly resource: ChangedResource;
  readonly resource_id: string;
  /** Of a variant. */
  readonly publication_id?: string;
  /** The number of the event in its stream, from 1. */
  readonly revision: number;
  readonly occurred_at: string;
  readonly actor: Actor & { readonly name?: string };
  readonly request_id?: string;
  readonly changed: Change['changed'];
}

/** Which changes of a store are wanted. */
interface Filter {
  readonly store_id: string;
  wants(change: Entry): boolean;
}

/** Returns the filter that all changes of a store match. */
export const allChangesOf = (store_id: string): Filter => ({ store_id, wants: () => true });

/** The parameters of a filter. Without one, or with an empty list, it keeps every change. */
export interface Wanted {
  readonly type?: readonly string[] | undefined;
  readonly resource?: readonly ChangedResource[] | undefined;
  /** Deletions and restorations, which name no fields, are kept with any. */
  readonly fields?: readonly string[] | undefined;
}

/** Returns whether a change matches all parameters. */
export function isWanted({ type, resource, changed }: Entry, wanted: Wanted): boolean {
  const has = (list: readonly string[] | undefined, value: string): boolean =>
    !list?.length || list.includes(value);
  const is_whole = type.endsWith('.deleted') || type.endsWith('.restored');
  const { fields } = wanted;
  const has_field = !fields?.length || fields.some((name) => Object.hasOwn(changed, name));
  return has(wanted.type, type) && has(wanted.resource, resource) && (is_whole || has_field);
}

interface Page {
  readonly entries: readonly Entry[];
  readonly next: Place;
  readonly is_up_to_date: boolean;
}

/** Handles `GET /api/changes`: the read side of Durable Streams 1.0 (docs/interface.md#changes). */
export async function readChanges(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'The feed of changes');
  requirePermissions(request, CHANGES_PERMISSIONS);
  const { offset = '-1', live, ...query } = parseQuery(reads.readChanges.query, request.query);
  const store_id = requestedStore(request);
  assertActive(await (await openStore(deps, request, store_id)).get('stores', store_id));
  const { events } = deps[request.principal.environment];
  const filter: Filter = { store_id, wants: (entry) => isWanted(entry, query) };
  const feed = new Feed(deps, events, filter);
  const read: Read = (after, wait_ms) =>
    after.existing && after.existing.index < CHANGED_CATEGORIES.length
      ? readExisting(deps, request, filter, after, after.existing)
      : feed.read(after, wait_ms);
  const form = request.header('accept')?.includes(CLOUD_EVENTS) ? toCloudEvents(store_id) : undefined;
  if (request.method === 'HEAD' || (offset === 'now' && !live))
    return pageAnswer({ entries: [], next: await tailOf(events), is_up_to_date: true }, { form });
  const after = await markOf(events, offset);
  if (live === 'sse') return sseAnswer(read, after);
  return pageAnswer(await read(after, live ? POLL_MS : 0), { form, is_live: live !== undefined });
}

type Read = (after: Place, wait_ms: number) => Promise<Page>;

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
    return { status: 204, headers, data: null, stream: {} };
  const bytes = oneChunk(JSON.stringify(form ? entries.map(form) : entries));
  const content_type = form ? CLOUD_EVENTS : 'application/json; charset=utf-8';
  return { headers, data: null, stream: { content_type, bytes } };
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function sseAnswer(read: Read, after: Place): Answer {
  const headers = { ...headersAt(after), 'X-Accel-Buffering': 'no' };
  return {
    headers,
    data: null,
    stream: { content_type: 'text/event-stream', bytes: serverSentEvents(read, after) },
  };
}

async function* serverSentEvents(read: Read, start: Place): AsyncGenerator<Uint8Array> {
  const end_ms = performance.now() + SSE_MS;
  let wait_ms = 0;
  for (let after = start; performance.now() < end_ms; wait_ms = POLL_MS) {
    const { entries, next, is_up_to_date } = await read(after, wait_ms);
    const control = {
      streamNextOffset: offsetOf(next),
      streamCursor: cursorNow(),
      ...(is_up_to_date && { upToDate: true }),
    };
    const data = entries.length > 0 ? `event: data\ndata: ${JSON.stringify(entries)}\n\n` : '';
    // Also without changes, so that a client which has left is noticed.
    yield Buffer.from(`${data}event: control\ndata: ${JSON.stringify(control)}\n\n`);
    after = next;
  }
}

/** Changes every 20 seconds, so that caches do not join requests of different times. */
const cursorNow = (): string => String(Math.floor(Date.now() / 20_000));

// --- Pages ---

/** Reads the changes of one store from its log. */
export class Feed {
  constructor(
    private readonly deps: Pick<ReadDeps, 'control_view'>,
    private readonly events: EventStore,
    private readonly filter: Filter,
  ) {}

  /** Returns the changes after an event. If there is none, waits for the next one at most `wait_ms`. */
  async read(after: Place, wait_ms: number): Promise<Page> {
    const page = await unlessMismatch(() =>
      wait_ms > 0 ? this.readOrWait(after, wait_ms) : this.readUnnamed(after),
    );
    return { ...page, entries: await withKeyNames(this.deps, page.entries) };
  }

  private readOrWait(after: Place, wait_ms: number): Promise<Page> {
    const until_ms = performance.now() + wait_ms;
    return withWakeups(this.events, async (wakeups) => {
      for (let place = after; ; ) {
        const { seen } = wakeups;
        const page = await this.readUnnamed(place);
        const left_ms = until_ms - performance.now();
        if (page.entries.length > 0 || !page.is_up_to_date || left_ms <= 0) return page;
        place = page.next;
        await wakeups.next(this.filter.store_id, seen, left_ms);
      }
    });
  }

  private async readUnnamed(after: Place): Promise<Page> {
    const page = new ChangeCollector(this.events, this.filter, after);
    if (after.position >= (await this.events.head())) return page.end(true);
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), POLL_MS);
    let is_up_to_date: boolean | undefined;
    let reached = after.position;
    try {
      const options = { after: after.position, signal: ended.signal, batch_size: BATCH_SIZE };
      for await (const { events, position, caught_up } of this.events.subscribe(options)) {
        for (const event of events) if (!page.isFull()) await page.add(event);
        is_up_to_date = caught_up && !page.isFull();
        reached = position;
        if (page.isFull() || caught_up) break;
      }
      // No batch in all the time: the log cannot be read now.
      if (is_up_to_date === undefined) throw new CatalogError('unavailable');
      // The next page then does not examine events of other realms again.
      if (!page.isFull()) await page.moveTo(reached);
      return page.end(is_up_to_date);
    } finally {
      clearTimeout(timer);
      ended.abort();
    }
  }
}

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

/** Adds the names of the API keys. */
export async function withKeyNames(
  { control_view }: Pick<ReadDeps, 'control_view'>,
  entries: readonly Entry[],
): Promise<Entry[]> {
  const view = await control_view.current();
  const ids = new Set(entries.flatMap(({ actor }) => actor.id ?? []));
  const keys = await Promise.all([...ids].map((id) => view?.get('api_keys', id)));
  const names = new Map(keys.map((key) => [key?.id, key?.document?.body.name]));
  return entries.map((entry) => {
    const name = names.get(entry.actor.id);
    return name === undefined ? entry : { ...entry, actor: { ...entry.actor, name } };
  });
}

interface StreamState {
  readonly revision: number;
  readonly state: State<never>;
}

/** Collects the changes of one store from consecutive events. */
export class ChangeCollector {
  readonly entries: Entry[] = [];
  private readonly streams = new Map<StreamName, StreamState>();
  private scanned = 0;
  private length = 0;

  constructor(
    private readonly events: EventStore,
    private readonly filter: Filter,
    private last: Place = BEGINNING,
  ) {}

  get hasEntries(): boolean {
    return this.entries.length > 0;
  }

  isFull(): boolean {
    return this.entries.length >= PAGE_MAX || this.scanned >= SCANNED_MAX || this.length >= LENGTH_MAX;
  }

  end(is_up_to_date: boolean): Page {
    return { entries: this.entries, next: this.last, is_up_to_date };
  }

  async add(event: RecordedEvent): Promise<void> {
    this.scanned++;
    const [read] = hasUnknownOwner(event) ? await withCorrections(this.events, [event]) : [event];
    if (read?.metadata.partition_key === this.filter.store_id) await this.addOwn(read);
    this.last = { position: event.position, event_id: event.id };
  }

  /** Adds a change that no single event has made. The page then ends at `place`. */
  take(entry: Entry, place: Place): void {
    this.collect(entry);
    this.last = place;
  }

  /** Moves the end of the page to a later position. Between the two, the log has only events of other realms. */
  async moveTo(position: Position): Promise<void> {
    if (position <= this.last.position) return;
    const mark = await this.events.markAt(position);
    if (mark) this.last = mark;
  }

  private async addOwn(event: RecordedEvent): Promise<void> {
    const { category, id, realm } = parseStreamName(event.stream) ?? {};
    const aggregate = category && changingAggregate(category);
    if (!aggregate || !id || !realm) return;
    const { events } = this;
    const ref = { aggregate, events, realm, id } as unknown as StreamRef<never>;
    if (isCorrection(event)) return;
    const turn = longTurn();
    if (turn) await turn;
    const decoded = decodeIfReadable(event) ?? decodeIfReadable((await withCorrections(events, [event]))[0]!);
    if (!decoded) return;
    const before = await this.stateBefore(ref, event);
    const state = aggregate.evolve(before, decoded, id, event.metadata.occurred_at) as State<never>;
    this.streams.set(event.stream, { revision: event.revision, state });
    const change = changeOf(category as ChangedCategory, id, decoded, before, state);
    if (!change) return;
    this.collect(entryOf(event, id, change));
  }

  private collect(entry: Entry): void {
    if (!this.filter.wants(entry)) return;
    this.entries.push(entry);
    this.length += JSON.stringify(entry).length;
  }

  private async stateBefore(
    ref: StreamRef<never>,
    { stream, revision }: RecordedEvent,
  ): Promise<State<never>> {
    const known = this.streams.get(stream);
    if (known?.revision === revision - 1) return known.state;
    if (revision === 0) return { tag: 'absent' };
    return (await loadReadable(ref, revision - 1)).state;
  }
}

function entryOf(event: RecordedEvent, stream_id: string, { verb, ...change }: Change): Entry {
  const { occurred_at, request_id } = event.metadata;
  const { resource, resource_id, changed } = change;
  return {
    id: offsetOf({ position: event.position, event_id: event.id }),
    type: `${resource}.${verb}`,
    resource,
    resource_id,
    ...(resource === 'variant' && { publication_id: stream_id }),
    revision: event.revision + 1,
    occurred_at,
    actor: actorOf(event.metadata),
    ...(request_id !== undefined && { request_id }),
    changed,
  };
}
