import {
  type AllStreamRecordedEvent,
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  streamNameFilter,
} from '@eventstore/db-client';
import { type Position, type RecordedEvent, START } from '../../catalog/events/envelope';
import { backoff, pause, withTimeout } from '../../kernel/async';
import { isOutage } from '../../kernel/errors';
import type { LogBatch } from '../../ports/event-store';
import type { CurrentClient, EventStoreDbConnection } from './connection';
import { isServersOwn, positionOf, type StreamNames, toRecordedEvent } from './events';
import { failureOf, SilenceError } from './failures';
import { readAllFrom, readHead, toServersPosition } from './reading';

const pauseMs = backoff(50, 1_000);
/** How long nothing may arrive before the log's end is asked for; grows while there is nothing new. */
const IDLE_FIRST_MS = 25;
const IDLE_MAX_MS = 250;
/** How long a batch is filled while catching up. */
const GATHER_MS = 10;
/** Batches without events, for others' traffic, come no faster than this. */
const EMPTY_BATCH_EVERY_MS = 50;
/** A subscription is dead if an event in the log has not arrived for this long. */
const OVERDUE_MS = 2_000;
/**
 * The server reports how far its filter has come after this many times 32 events: as often as it can, for one report
 * costs less than to look at what the filter passed over.
 */
const CHECKPOINT_INTERVAL = 1;
/** More than the server's filter passes over between two reports. */
const SCAN_MAX = 512;

interface Following {
  readonly connection: EventStoreDbConnection;
  readonly names: StreamNames;
  readonly after: Position;
  readonly batch_size: number;
  readonly ended: AbortSignal;
}

/** A `Following` from the last batch given, over one client. */
interface Attempt extends Following {
  readonly current: CurrentClient;
}

/**
 * Follows a realm for ever. The client never resumes a subscription and the server ends them for many reasons, some
 * without an error (a slow consumer, a new leader, a restart): after any end it starts again behind the last batch given.
 */
export async function* follow(following: Following): AsyncGenerator<LogBatch, void, undefined> {
  const { ended, connection } = following;
  let { after } = following;
  /** In a row, without a batch that went further. */
  let failures = 0;
  while (!ended.aborted) {
    const { current } = connection;
    try {
      for await (const batch of followOnce({ ...following, after, current })) {
        if (batch.position !== after) failures = 0;
        after = batch.position;
        yield batch;
      }
    } catch (error) {
      const failure = failureOf(error);
      if (failure) connection.note(failure, current);
      else if (!isOutage(error)) throw error;
    }
    await pause(pauseMs(++failures), ended);
  }
}

/** One subscription from `after` until it ends; throws what ended it where the server said so. */
async function* followOnce(attempt: Attempt): AsyncGenerator<LogBatch, void, undefined> {
  const start = await anchor(attempt);
  if (start.events.length > 0) yield { ...start, caught_up: false };
  const { prefix } = attempt.names;
  const feed = new Feed(attempt.current, { prefix, after: start.from, buffer: attempt.batch_size });
  try {
    yield* new Reader(attempt, feed, start.position).batches();
  } finally {
    feed.close();
  }
}

interface Anchor {
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
  /** An event's own position: the server's subscription begins behind it. */
  readonly from: Position;
}

/**
 * The server begins a subscription by skipping the first event at or after the position asked for. Where the event
 * that stood there is gone (another's, scavenged), that would skip one that was never given: so the event after is
 * looked up, given where it is ours, and the subscription begins behind it.
 */
async function anchor({ connection, names, after }: Attempt): Promise<Anchor> {
  if (after === START) return { events: [], position: after, from: START };
  const [first] = await readAllFrom(connection, after, 1);
  if (!first) return { events: [], position: after, from: await readHead(connection) };
  const from = positionOf(first);
  const unseen = from > after && first.streamId.startsWith(names.prefix) && !isServersOwn(first);
  return {
    events: unseen ? [toRecordedEvent(first, names)] : [],
    position: from > after ? from : after,
    from,
  };
}

/** Turns a feed into batches, and finds out by itself how far the log is where the feed has nothing to say. */
class Reader {
  private readonly connection: EventStoreDbConnection;
  private readonly names: StreamNames;
  private readonly size: number;
  private readonly ended: AbortSignal;
  private readonly feed: Feed;
  /** All of the realm up to here is given, or in the batch at hand. */
  private reached: Position;
  private given: Position;
  /** The feed was level with the log once: what it lacks is only on its way. */
  private live = false;
  private told_live = false;
  private given_at_ms = 0;
  private idle_ms = IDLE_FIRST_MS;
  private overdue_since_ms: number | undefined;

  constructor(attempt: Attempt, feed: Feed, position: Position) {
    this.connection = attempt.connection;
    this.names = attempt.names;
    this.size = attempt.batch_size;
    this.ended = attempt.ended;
    this.feed = feed;
    this.reached = position;
    this.given = position;
  }

  async *batches(): AsyncGenerator<LogBatch, void, undefined> {
    while (!this.ended.aborted) {
      const items = this.feed.take(this.size);
      const events = items.flatMap((item) => this.accept(item));
      if (events.length > 0 || this.hasNews()) yield this.give(events);
      else if (items.length === 0) await this.rest();
      if (this.feed.ended) return this.fail();
    }
  }

  private accept(item: FeedItem): RecordedEvent[] {
    this.overdue_since_ms = undefined;
    // A report of others' events makes nobody look ahead sooner: while they write, the next one is on its way.
    if (item.kind !== 'checkpoint') this.idle_ms = item.kind === 'caught_up' ? 0 : IDLE_FIRST_MS;
    const position =
      item.kind === 'event' ? positionOf(item.event) : item.kind === 'checkpoint' ? item.position : 0n;
    const isNew = position > this.reached;
    if (isNew) this.reached = position;
    if (item.kind !== 'event' || !isNew || isServersOwn(item.event)) return [];
    return [toRecordedEvent(item.event, this.names)];
  }

  /** Something to say without an event. */
  private hasNews(): boolean {
    if (this.live && !this.told_live && this.feed.empty) return true;
    return this.reached > this.given && performance.now() - this.given_at_ms >= EMPTY_BATCH_EVERY_MS;
  }

  private give(events: RecordedEvent[]): LogBatch {
    const caught_up = this.live && this.feed.empty;
    this.told_live ||= caught_up;
    this.given = this.reached;
    this.given_at_ms = performance.now();
    return { events, position: this.reached, caught_up };
  }

  private async rest(): Promise<void> {
    const held_back = this.reached > this.given;
    await this.feed.wait(1, held_back ? EMPTY_BATCH_EVERY_MS : this.idle_ms, this.ended);
    // Far behind, events come one by one as fast as they are taken: let some gather.
    if (!this.live && !this.feed.empty) await this.feed.wait(this.size, GATHER_MS, this.ended);
    if (!this.feed.empty || this.feed.ended || this.ended.aborted || held_back) return;
    this.idle_ms = Math.min(Math.max(this.idle_ms * 2, IDLE_FIRST_MS), IDLE_MAX_MS);
    await this.lookAhead();
  }

  /** Filters on the server report nothing for long while others write: what lies ahead is looked at instead. */
  private async lookAhead(): Promise<void> {
    const head = await readHead(this.connection);
    const quiet =
      head > this.reached ? await scanQuiet(this.connection, this.names, this.reached) : undefined;
    // The feed has gone on meanwhile, and knows better.
    if (!this.feed.empty) return;
    if (quiet && quiet.position > this.reached) this.reached = quiet.position;
    if (this.reached >= head) this.live = true;
    if (quiet?.ours_follows) this.checkOverdue();
  }

  private checkOverdue(): void {
    const now_ms = performance.now();
    this.overdue_since_ms ??= now_ms;
    if (now_ms - this.overdue_since_ms > OVERDUE_MS) throw new SilenceError('a subscription went silent');
  }

  private fail(): void {
    if (this.feed.failure) throw this.feed.failure;
  }
}

interface QuietStretch {
  /** Nothing of the realm stands between `after` and here. */
  readonly position: Position;
  /** The next event is the realm's. */
  readonly ours_follows: boolean;
}

/** How far the log goes on after `after` without an event of the realm, looking at 512 events at most. */
async function scanQuiet(
  connection: EventStoreDbConnection,
  names: StreamNames,
  after: Position,
): Promise<QuietStretch> {
  let position = after;
  for (const event of await readAllFrom(connection, after, SCAN_MAX)) {
    const at = positionOf(event);
    if (at <= after) continue;
    if (event.streamId.startsWith(names.prefix) && !isServersOwn(event))
      return { position, ours_follows: true };
    position = at;
  }
  return { position, ours_follows: false };
}

/** What arrives, in the server's order: an event, how far the filter has come, or that there is no more for now. */
type FeedItem =
  | { readonly kind: 'event'; readonly event: AllStreamRecordedEvent }
  | { readonly kind: 'checkpoint'; readonly position: Position }
  | { readonly kind: 'caught_up' };

/** Stands between the events in the client's own buffer, so that it is taken only after all that came before it. */
class Mark {
  readonly item: FeedItem;
  constructor(item: FeedItem) {
    this.item = item;
  }
}

/**
 * One subscription on the server, until it ends for whatever reason. Events wait in the client's buffer of `buffer`
 * items; while that is full the server is held back.
 */
class Feed {
  private readonly subscription: AllStreamSubscription;
  private readonly retired: AbortSignal;
  private over = false;
  private error: Error | undefined;
  private wake: () => unknown = () => {};

  constructor(current: CurrentClient, options: { prefix: string; after: Position; buffer: number }) {
    const filter = streamNameFilter({
      prefixes: [options.prefix],
      checkpointInterval: CHECKPOINT_INTERVAL,
      checkpointReached: (subscription, { commit }) => {
        subscription.push(new Mark({ kind: 'checkpoint', position: commit }));
      },
    });
    const from = { fromPosition: toServersPosition(options.after), filter };
    this.subscription = current.client.subscribeToAll(from, { highWaterMark: options.buffer });
    this.subscription.on('caughtUp', () => this.subscription.push(new Mark({ kind: 'caught_up' })));
    this.subscription.on('readable', () => this.wake());
    this.subscription.on('end', () => this.end());
    this.subscription.on('close', () => this.end());
    // For good: an error that nobody listens to would end the process.
    this.subscription.on('error', (error) => this.end(error));
    this.retired = current.retired;
    this.retired.addEventListener('abort', this.end);
  }

  get empty(): boolean {
    return this.subscription.readableLength === 0;
  }

  /** Nothing comes any more; what had arrived can still be taken. */
  get ended(): boolean {
    return this.over && this.empty;
  }

  /** Why it ended; undefined also where the server ended it without a reason. */
  get failure(): Error | undefined {
    return this.error;
  }

  /** What has arrived, at most `max` items, without waiting. */
  take(max: number): FeedItem[] {
    const items: FeedItem[] = [];
    while (items.length < max) {
      const next = this.subscription.read() as AllStreamResolvedEvent | Mark | null;
      if (next === null) break;
      if (next instanceof Mark) items.push(next.item);
      else if (next.event) items.push({ kind: 'event', event: next.event });
    }
    return items;
  }

  /** Until there are `enough` items to take, the end, `signal`, or `at_most_ms`. */
  async wait(enough: number, at_most_ms: number, signal: AbortSignal): Promise<void> {
    const isDue = (): boolean => this.subscription.readableLength >= enough || this.over || signal.aborted;
    if (isDue()) return;
    const due = new Promise<void>((resolve) => {
      this.wake = () => isDue() && resolve();
    });
    await withTimeout(due, at_most_ms, () => undefined, signal);
    this.wake = () => {};
  }

  /** Ends the call on the server: leaving off reading would not. */
  close(): void {
    this.retired.removeEventListener('abort', this.end);
    this.over = true;
    this.subscription.unsubscribe().catch(() => {});
    this.subscription.destroy();
  }

  private readonly end = (reason?: unknown): void => {
    this.over = true;
    if (reason instanceof Error) this.error ??= reason;
    this.wake();
  };
}
