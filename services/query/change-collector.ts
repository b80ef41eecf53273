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
import { decodeIfReadable } from '../../shared/catalog/events/codec';
import { isCorrection } from '../../shared/catalog/events/correction';
import {
  type Position,
  parseStreamName,
  type RecordedEvent,
  runOf,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import { longTurn } from '../../shared/kernel/async';
import { LRUCache } from '../../shared/kernel/cache';
import { hasUnknownOwner, withCorrections } from '../../shared/ports/corrections';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import { BEGINNING, offsetOf, type Place } from '../../shared/ports/log-offset';
import { loadReadable, type StreamRef } from '../../shared/ports/stream-state';

/** Maximum number of changes in an answer. */
export const PAGE_MAX = 100;
/** An answer ends after so many events of the log, which may be those of other stores, and after so many characters. */
const SCANNED_MAX = 10_000;
const LENGTH_MAX = 1_000_000;
/** How many streams have their state in memory between two of their events. */
const STREAMS_MAX = 100;

/** A change as it is shown (docs/interface/changes.md). */
export interface Entry {
  readonly id: string;
  readonly type: `${ChangedResource}.${Change['verb']}`;
  readonly resource: ChangedResource;
  readonly resource_id: string;
  /** Of a publication and its variants: the title after the change. Of a listing: the name. */
  readonly title?: string;
  /** Of a variant. */
  readonly publication_id?: string;
  /** The number of the event in its stream, from 1. */
  readonly revision: number;
  readonly occurred_at: string;
  readonly actor: Actor & { readonly name?: string };
  readonly request_id?: string;
  /** The run that the write belongs to. */
  readonly run?: string;
  readonly changed: Change['changed'];
}

/** Which changes of a store are wanted. */
export interface Filter {
  readonly store_id: string;
  /** Different for filters of a store that want different changes. */
  readonly key: string;
  wants(change: Entry): boolean;
}

/** Returns the filter that all changes of a store match. */
export const allChangesOf = (store_id: string): Filter => ({ store_id, key: '', wants: () => true });

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

export interface Page {
  readonly entries: readonly Entry[];
  readonly next: Place;
  readonly is_up_to_date: boolean;
}

/** The JSON of changes that several readers may get. */
const texts = new WeakMap<Entry, string>();

/** Returns the JSON of a change. Makes it once. */
export function jsonOf(entry: Entry): string {
  const text = texts.get(entry) ?? JSON.stringify(entry);
  texts.set(entry, text);
  return text;
}

/** Where the names of API keys are. */
export interface KeyNames {
  readonly control_view: ActiveView;
}

/** Adds the names of the API keys. */
export async function withKeyNames({ control_view }: KeyNames, entries: readonly Entry[]): Promise<Entry[]> {
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

export type StreamStates = LRUCache<StreamName, StreamState>;

/** Returns an empty cache of the states of streams after the last event that was examined. */
export const streamStates = (): StreamStates => new LRUCache({ max: STREAMS_MAX });

/** Returns whether two events were appended by one write, one after the other. */
export function isSameWrite(before: RecordedEvent | undefined, event: RecordedEvent): boolean {
  if (before?.stream !== event.stream || before.revision + 1 !== event.revision) return false;
  const { occurred_at, request_id } = event.metadata;
  return before.metadata.occurred_at === occurred_at && before.metadata.request_id === request_id;
}

/** A change that later events of the same write may extend, and the state before it. */
interface OpenChange {
  readonly entry: Entry;
  readonly before: State<never>;
}

/** Collects the changes of one store from consecutive events. The events of a write update a resource once. */
export class ChangeCollector {
  private readonly entries: Entry[] = [];
  /** The changes of the last write, by resource. The next event may be a part of one of them. */
  private readonly open = new Map<string, OpenChange>();
  private previous: RecordedEvent | undefined;
  private scanned = 0;
  private length = 0;

  constructor(
    private readonly events: EventStore,
    private readonly filter: Filter,
    private last: Place = BEGINNING,
    private readonly streams: StreamStates = streamStates(),
  ) {}

  isFull(): boolean {
    const count = this.entries.length + this.open.size;
    return count >= PAGE_MAX || this.scanned >= SCANNED_MAX || this.length >= LENGTH_MAX;
  }

  /** Returns whether the event is a part of the write of the last one. */
  continuesWith(event: RecordedEvent): boolean {
    return isSameWrite(this.previous, event);
  }

  end(is_up_to_date: boolean): Page {
    return { entries: this.takeEntries(), next: this.last, is_up_to_date };
  }

  /** Returns the changes so far. They are not returned again. */
  takeEntries(): readonly Entry[] {
    this.close();
    return this.entries.splice(0);
  }

  async add(event: RecordedEvent): Promise<void> {
    this.scanned++;
    const [read] = hasUnknownOwner(event) ? await withCorrections(this.events, [event]) : [event];
    if (read?.metadata.partition_key === this.filter.store_id) await this.addOwn(read);
    this.previous = event;
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
    const title = titleOf(category as ChangedCategory, state.tag === 'present' ? state : before);
    const entry = entryOf(event, id, change, title);
    if (!this.continuesWith(event)) this.close();
    const resource = `${entry.type} ${entry.resource_id}`;
    const open = this.open.get(resource);
    // A change has the place of its last event.
    this.open.delete(resource);
    if (!open || !entry.type.endsWith('.updated')) {
      if (open) this.collect(open.entry);
      this.open.set(resource, { entry, before });
      return;
    }
    const whole = changeOf(category as ChangedCategory, id, decoded, open.before, state);
    if (whole) this.open.set(resource, { entry: entryOf(event, id, whole, title), before: open.before });
  }

  private close(): void {
    for (const { entry } of this.open.values()) this.collect(entry);
    this.open.clear();
  }

  private collect(entry: Entry): void {
    if (!this.filter.wants(entry)) return;
    this.entries.push(entry);
    this.length += jsonOf(entry).length;
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

function titleOf(category: ChangedCategory, state: State<never>): string | undefined {
  if (state.tag !== 'present') return undefined;
  const { title, name } = state.resource as { readonly title?: string; readonly name?: string };
  if (category === 'publication') return title;
  return category === 'listing' ? name : undefined;
}

function entryOf(
  event: RecordedEvent,
  stream_id: string,
  { verb, ...change }: Change,
  title: string | undefined,
): Entry {
  const { occurred_at, request_id } = event.metadata;
  const { resource, resource_id, changed } = change;
  const run = runOf(event.metadata);
  return {
    id: offsetOf({ position: event.position, event_id: event.id }),
    type: `${resource}.${verb}`,
    resource,
    resource_id,
    ...(title !== undefined && { title }),
    ...(resource === 'variant' && { publication_id: stream_id }),
    revision: event.revision + 1,
    occurred_at,
    actor: actorOf(event.metadata),
    ...(request_id !== undefined && { request_id }),
    ...(run !== undefined && { run }),
    changed,
  };
}
