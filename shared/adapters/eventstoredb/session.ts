import { type Position, type RecordedEvent, START } from '../../catalog/events/envelope';
import type { LogBatch } from '../../ports/event-store';
import type { Connection, Lease } from './connection';
import { isServersOwn, positionOf, type StreamNames, toRecordedEvent } from './events';
import { SilenceError } from './failures';
import { Feed, type FeedItem } from './feed';
import { scanQuiet } from './quiet-stretch';
import { readAllFrom, readHead } from './reading';

/** How long nothing may arrive before the log's end is asked for; grows while there is nothing new. */
const IDLE_FIRST_MS = 25;
const IDLE_MAX_MS = 250;
/** How long a batch is filled while catching up. */
const GATHER_MS = 10;
/** Batches without events, for others' traffic, come no faster than this. */
const EMPTY_BATCH_EVERY_MS = 50;
/** An event stands in the log and has not arrived for this long: the subscription is dead. */
const OVERDUE_MS = 2_000;

export interface Following {
  readonly connection: Connection;
  readonly names: StreamNames;
  readonly after: Position;
  readonly batch_size: number;
  readonly ended: AbortSignal;
}

export interface Session extends Following {
  readonly lease: Lease;
}

/** One subscription from `after` until it ends; throws what ended it where the server said so. */
export async function* followOnce(session: Session): AsyncGenerator<LogBatch, void, undefined> {
  const start = await anchor(session);
  if (start.events.length > 0) yield { ...start, caught_up: false };
  const { prefix } = session.names;
  const feed = new Feed(session.lease, { prefix, after: start.from, buffer: session.batch_size });
  try {
    yield* new Reader(session, feed, start.position).batches();
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
async function anchor({ connection, names, after }: Session): Promise<Anchor> {
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
  private readonly connection: Connection;
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

  constructor(session: Session, feed: Feed, position: Position) {
    this.connection = session.connection;
    this.names = session.names;
    this.size = session.batch_size;
    this.ended = session.ended;
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
