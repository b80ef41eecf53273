import { CHANGES_PERMISSIONS, reads } from '../../shared/api/operations/reads';
import {
  type Actor,
  actorOf,
  type Change,
  type ChangedCategory,
  type ChangedResource,
  changeOf,
  changingAggregate,
} from '../../shared/catalog/changes';
import type { State } from '../../shared/catalog/events/aggregate';
import { type DomainEvent, decodeEvent } from '../../shared/catalog/events/codec';
import {
  parseStreamName,
  type RecordedEvent,
  START,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { CatalogError, LogMismatchError } from '../../shared/kernel/errors';
import type { EventStore, LogMark } from '../../shared/ports/event-store';
import { loadUpTo, type StreamRef } from '../../shared/ports/stream-state';
import {
  assertActive,
  openStore,
  type ReadDeps,
  requestedStore,
  requirePermissions,
  requireSecretKey,
} from './read';

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

/** Empty lists keep every change. */
interface Filter {
  readonly store_id: string;
  readonly type: readonly string[];
  readonly resource: readonly ChangedResource[];
  readonly fields: readonly string[];
}

/** Returns the filter that all changes of a store match. */
export const allChangesOf = (store_id: string): Filter => ({ store_id, type: [], resource: [], fields: [] });

interface Page {
  readonly entries: readonly Entry[];
  readonly next: LogMark;
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
  const feed = new Feed(deps, events, { ...query, store_id });
  if (request.method === 'HEAD' || (offset === 'now' && !live))
    return pageAnswer({ entries: [], next: await tailOf(events), is_up_to_date: true });
  const after = await markOf(events, offset);
  if (live === 'sse') return sseAnswer(feed, after);
  return pageAnswer(await feed.read(after, live ? POLL_MS : 0), live !== undefined);
}

/** The headers of an answer after which a reader goes on at `next`. */
const headersAt = (next: LogMark) => ({
  'Cache-Control': 'no-store',
  'Stream-Next-Offset': offsetOf(next),
  'Stream-Cursor': cursorNow(),
  // For a copy: reads with this minimum position contain what is before the offset.
  'X-Catalog-Position': String(next.position),
});

function pageAnswer({ entries, next, is_up_to_date }: Page, is_live = false): Answer {
  const headers = {
    ...headersAt(next),
    ...(is_up_to_date && { 'Stream-Up-To-Date': 'true' }),
  };
  if (is_live && entries.length === 0 && is_up_to_date)
    return { status: 204, headers, data: null, stream: {} };
  const bytes = oneChunk(JSON.stringify(entries));
  return { headers, data: null, stream: { content_type: 'application/json; charset=utf-8', bytes } };
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function sseAnswer(feed: Feed, after: LogMark): Answer {
  const headers = { ...headersAt(after), 'X-Accel-Buffering': 'no' };
  return {
    headers,
    data: null,
    stream: { content_type: 'text/event-stream', bytes: serverSentEvents(feed, after) },
  };
}

async function* serverSentEvents(feed: Feed, start: LogMark): AsyncGenerator<Uint8Array> {
  const end_ms = performance.now() + SSE_MS;
  let wait_ms = 0;
  for (let after = start; performance.now() < end_ms; wait_ms = POLL_MS) {
    const { entries, next, is_up_to_date } = await feed.read(after, wait_ms);
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

// --- Offsets ---

/** Returns the offset after an event. It sorts by position, and names the log by the end of the event's id. */
const offsetOf = ({ position, event_id }: LogMark): string =>
  `${String(position).padStart(20, '0')}-${event_id.slice(-8)}`;

const BEGINNING: LogMark = { position: START, event_id: '0'.repeat(8) };

async function tailOf(events: EventStore): Promise<LogMark> {
  return (await events.markAt(await events.head())) ?? BEGINNING;
}

async function unlessMismatch<Result>(read: () => Promise<Result>): Promise<Result> {
  return read().catch((error: unknown) => {
    throw error instanceof LogMismatchError ? new CatalogError('offset_of_other_log') : error;
  });
}

/** Returns the event of an offset. Throws `offset_of_other_log` unless the log contains it. */
export async function markOf(events: EventStore, offset: string): Promise<LogMark> {
  if (offset === '-1' || offset === offsetOf(BEGINNING)) return BEGINNING;
  if (offset === 'now') return tailOf(events);
  const [digits = '', hash = ''] = offset.split('-');
  const position = BigInt(digits);
  const found = await unlessMismatch(async () =>
    position > (await events.head()) ? undefined : events.markAt(position),
  );
  // A later event is found if an operator has erased this one.
  const is_known = found && (found.position > position || found.event_id.endsWith(hash));
  if (!is_known) throw new CatalogError('offset_of_other_log');
  return { position, event_id: hash };
}

// --- Pages ---

/** Reads the changes of one store from its log. */
export class Feed {
  constructor(
    private readonly deps: Pick<ReadDeps, 'control_view'>,
    private readonly events: EventStore,
    private readonly filter: Filter,
  ) {}

  /** Returns the changes after an event. If there is none, waits for the next one at most `wait_ms`. */
  async read(after: LogMark, wait_ms: number): Promise<Page> {
    const page = await unlessMismatch(() => this.readUnnamed(after, wait_ms));
    return { ...page, entries: await withKeyNames(this.deps, page.entries) };
  }

  private async readUnnamed(after: LogMark, wait_ms: number): Promise<Page> {
    const page = new ChangeCollector(this.events, this.filter, after);
    if (wait_ms === 0 && after.position >= (await this.events.head())) return page.end(true);
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), wait_ms || POLL_MS);
    let is_up_to_date: boolean | undefined;
    try {
      const options = { after: after.position, signal: ended.signal, batch_size: BATCH_SIZE };
      for await (const { events, caught_up } of this.events.subscribe(options)) {
        for (const event of events) if (!page.isFull()) await page.add(event);
        is_up_to_date = caught_up && !page.isFull();
        if (page.isFull() || (caught_up && (wait_ms === 0 || page.hasEntries))) break;
      }
      // No batch in all the time: the log cannot be read now.
      if (is_up_to_date === undefined) throw new CatalogError('unavailable');
      return page.end(is_up_to_date);
    } finally {
      clearTimeout(timer);
      ended.abort();
    }
  }
}

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
    private last: LogMark = BEGINNING,
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
    if (event.metadata.partition_key === this.filter.store_id) await this.addOwn(event);
    this.last = { position: event.position, event_id: event.id };
  }

  private async addOwn(event: RecordedEvent): Promise<void> {
    const { category, id, realm } = parseStreamName(event.stream) ?? {};
    const aggregate = category && changingAggregate(category);
    if (!aggregate || !id || !realm) return;
    const { events } = this;
    const ref = { aggregate, events, realm, id } as unknown as StreamRef<never>;
    const decoded = decodedOrUndefined(event);
    if (!decoded) return;
    const before = await this.stateBefore(ref, event);
    const state = aggregate.evolve(before, decoded, id, event.metadata.occurred_at) as State<never>;
    this.streams.set(event.stream, { revision: event.revision, state });
    const change = changeOf(category as ChangedCategory, id, decoded, before, state);
    if (!change) return;
    const entry = entryOf(event, id, change);
    if (!this.isWanted(entry)) return;
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
    return (await loadUpTo(ref, revision - 1)).state;
  }

  private isWanted({ type, resource, changed }: Entry): boolean {
    const { filter } = this;
    const has = (list: readonly string[], value: string): boolean =>
      list.length === 0 || list.includes(value);
    const is_whole = type.endsWith('.deleted') || type.endsWith('.restored');
    const has_field =
      filter.fields.length === 0 || filter.fields.some((name) => Object.hasOwn(changed, name));
    return has(filter.type, type) && has(filter.resource, resource) && (is_whole || has_field);
  }
}

/** Returns undefined for an event of the dead-letter list, which this release cannot read. */
function decodedOrUndefined(event: RecordedEvent): DomainEvent | undefined {
  try {
    return decodeEvent(event);
  } catch {
    return undefined;
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
