import { EventEmitter } from 'node:events';
import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { pause } from '../../shared/kernel/async';
import { LRUCache } from '../../shared/kernel/cache';
import { hasUnknownOwner, withCorrections } from '../../shared/ports/corrections';
import type { EventStore, LogBatch } from '../../shared/ports/event-store';
import { BEGINNING, type Place, placeOf, tailOf } from '../../shared/ports/log-offset';
import {
  allChangesOf,
  ChangeCollector,
  type Entry,
  type Filter,
  isSameWrite,
  jsonOf,
  type KeyNames,
  type Page,
  type StreamStates,
  streamStates,
  withKeyNames,
} from './change-collector';

/** Time between two attempts to follow the log. */
const RETRY_MS = 1_000;
/** How much of the newest changes of a store is kept. A reader that is further behind reads the log. */
const KEPT_CHANGES_MAX = 200;
const KEPT_LENGTH_MAX = 500_000;
/** How many pages of the log are kept, of up to 1 MB, and for how long. Readers that begin at the same place share them. */
const PAGES_MAX = 16;
const PAGES_MS = 30_000;

/** A page, and the number of wake-ups before it was read. */
interface SeenPage {
  readonly page: Page;
  readonly seen: number;
}

interface KeptChange {
  readonly entry: Entry;
  readonly place: Place;
  readonly ends_write: boolean;
}

/** The newest changes of a store, oldest first. */
class KeptChanges {
  readonly collector: ChangeCollector;
  private readonly changes: KeptChange[] = [];
  private length = 0;

  constructor(
    events: EventStore,
    store_id: string,
    /** All changes after this position are kept. */
    private after: Position,
    states: StreamStates,
  ) {
    this.collector = new ChangeCollector(events, allChangesOf(store_id), BEGINNING, states);
  }

  add(entry: Entry, ends_write: boolean): void {
    this.changes.push({ entry, place: placeOf(entry.id), ends_write });
    this.length += jsonOf(entry).length;
    while (this.changes.length > KEPT_CHANGES_MAX || this.length > KEPT_LENGTH_MAX) {
      const { entry, place } = this.changes.shift()!;
      this.length -= jsonOf(entry).length;
      this.after = place.position;
    }
  }

  /** Returns the changes after a position, undefined if some of them are not kept. */
  since(position: Position): readonly KeptChange[] | undefined {
    if (position < this.after) return undefined;
    const last = this.changes.findLastIndex(({ place }) => place.position <= position);
    return this.changes.slice(last + 1);
  }
}

/**
 * The newest changes of the stores that somebody follows. One subscription reads each event once, and each change is
 * derived once, for all webhooks and readers of the process.
 */
export class LiveChanges {
  private readonly topics = new EventEmitter<Record<string, []>>().setMaxListeners(0);
  private readonly holders = new Map<string, number>();
  /** By topic, the number of its last wake-up. */
  private readonly newest = new Map<string, number>();
  private readonly stores = new Map<string, KeptChanges>();
  /** Shared by all stores, because there may be many and a state may have 900 kB. */
  private readonly states = streamStates();
  private readonly pages = new LRUCache<string, Promise<SeenPage>>({ max: PAGES_MAX, ttl: PAGES_MS });
  /** The last events, of one write, whose changes are not kept yet. */
  private pending: { readonly event: RecordedEvent; readonly kept: KeptChanges | undefined } | undefined;
  /** The last event whose change is kept. Undefined while the log is not followed. */
  private reached: Place | undefined;
  /** The position of the event that is being examined, or of the last one. */
  private examined: Position | undefined;
  /** The number of wake-ups when the subscription began. An earlier event may concern any topic. */
  private unknown_until = 0;
  /** The number of wake-ups so far. */
  private count = 0;

  constructor(
    private readonly deps: KeyNames,
    private readonly events: EventStore,
  ) {}

  /** Follows the log until `signal` aborts. Never throws. */
  async follow(signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await pause(RETRY_MS, signal)) {
      try {
        const tail = await tailOf(this.events);
        this.begin(tail);
        for await (const batch of this.events.subscribe({ after: tail.position, signal }))
          await this.examine(batch);
      } catch {
        // Waiting readers read the log themselves and report the failure.
      }
      this.reached = undefined;
    }
  }

  private begin(tail: Place): void {
    this.pending = undefined;
    this.reached = tail;
    this.examined = tail.position;
    // The log may be another one.
    this.states.clear();
    for (const store_id of this.stores.keys()) this.keep(store_id);
    this.unknown_until = ++this.count;
    for (const topic of this.topics.eventNames()) this.topics.emit(String(topic));
  }

  private keep(store_id: string): void {
    this.stores.set(store_id, new KeptChanges(this.events, store_id, this.examined ?? 0n, this.states));
  }

  private async examine({ events, caught_up }: LogBatch): Promise<void> {
    for (const recorded of events) {
      if (!isSameWrite(this.pending?.event, recorded)) await this.finish();
      // If `hold` begins to follow a store now, it must not expect the change of this event.
      this.examined = recorded.position;
      const [event] = hasUnknownOwner(recorded) ? await withCorrections(this.events, [recorded]) : [recorded];
      const kept = this.stores.get(event!.metadata.partition_key);
      await kept?.collector.add(event!);
      this.pending = { event: event!, kept };
    }
    if (caught_up) await this.finish();
  }

  /** Keeps the changes of the pending events, and wakes those who follow them. */
  private async finish(): Promise<void> {
    if (!this.pending) return;
    const { event, kept } = this.pending;
    this.pending = undefined;
    const place = { position: event.position, event_id: event.id };
    const changes = kept?.collector.takeEntries() ?? [];
    const entries = changes.length > 0 ? await withKeyNames(this.deps, changes) : [];
    for (const entry of entries) kept?.add(entry, entry === entries.at(-1));
    this.reached = place;
    this.wake(event.stream);
    if (entries.length > 0) this.wake(event.metadata.partition_key);
  }

  private wake(topic: string): void {
    this.count++;
    if (!this.holders.has(topic)) return;
    this.newest.set(topic, this.count);
    this.topics.emit(topic);
  }

  // --- Readers ---

  /** Begins to follow a topic: a store, whose changes are kept, or a stream. */
  hold(topic: string, is_store: boolean): void {
    const holders = this.holders.get(topic) ?? 0;
    this.holders.set(topic, holders + 1);
    if (is_store && holders === 0) this.keep(topic);
  }

  release(topic: string): void {
    const holders = this.holders.get(topic)! - 1;
    if (holders > 0) {
      this.holders.set(topic, holders);
      return;
    }
    for (const each of [this.holders, this.newest, this.stores]) each.delete(topic);
  }

  /** The number of wake-ups so far. */
  get seen(): number {
    return this.count;
  }

  /** Returns whether a topic may have an event after the first `seen` wake-ups. */
  private hasNews(topics: readonly string[], seen: number): boolean {
    return this.unknown_until > seen || topics.some((topic) => (this.newest.get(topic) ?? 0) > seen);
  }

  /** Resolves at an event of one of the topics after the first `seen` wake-ups, after `ms`, or when `signal` aborts. */
  async next(topics: readonly string[], seen: number, ms: number, signal?: AbortSignal): Promise<void> {
    if (this.hasNews(topics, seen) || signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        for (const topic of topics) this.topics.off(topic, end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      for (const topic of topics) this.topics.on(topic, end);
      signal?.addEventListener('abort', end);
    });
  }

  /** Returns the changes after a place, undefined if the log must be read for them. */
  pageAfter(after: Place, filter: Filter): Page | undefined {
    const changes = this.reached && this.stores.get(filter.store_id)?.since(after.position);
    if (!changes) return undefined;
    const page = new ChangeCollector(this.events, filter, after);
    for (const { entry, place, ends_write } of changes) {
      page.take(entry, place);
      if (page.isFull() && ends_write) return page.end(false);
    }
    return { ...page.end(true), next: later(after, this.reached!) };
  }

  /**
   * Returns the page that `read` returns. Readers that ask with the same key at the same time share it. A page that is not
   * the last one is kept, because it does not change.
   */
  shared(key: string, read: () => Promise<Page>): Promise<SeenPage> {
    const known = this.pages.get(key);
    if (known) return known;
    const { seen } = this;
    const reading = read().then((page) => ({ page, seen }));
    this.pages.set(key, reading);
    const forget = (): void => void this.pages.delete(key);
    reading.then(({ page }) => page.is_up_to_date && forget(), forget);
    return reading;
  }
}

const later = (a: Place, b: Place): Place => (a.position > b.position ? a : b);

interface Shared {
  readonly changes: LiveChanges;
  readonly ended: AbortController;
  holders: number;
}

const shared = new WeakMap<EventStore, Shared>();

/** Somebody who follows topics. `release` ends it. */
export interface Hold {
  readonly changes: LiveChanges;
  release(): void;
}

/** Follows a store, and a stream if one is given. A log is followed as long as anybody holds it. */
export function holdLiveChanges(deps: KeyNames, events: EventStore, store_id: string, stream?: string): Hold {
  const used =
    shared.get(events) ??
    ({ changes: new LiveChanges(deps, events), ended: new AbortController(), holders: 0 } as Shared);
  const { changes, ended } = used;
  if (used.holders++ === 0) {
    shared.set(events, used);
    void changes.follow(ended.signal);
  }
  changes.hold(store_id, true);
  if (stream !== undefined) changes.hold(stream, false);
  return {
    changes,
    release: () => {
      changes.release(store_id);
      if (stream !== undefined) changes.release(stream);
      if (--used.holders > 0) return;
      shared.delete(events);
      ended.abort();
    },
  };
}
