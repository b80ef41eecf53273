import {
  type AllStreamRecordedEvent,
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  streamNameFilter,
} from '@eventstore/db-client';
import { type Position, type RecordedEvent, START } from '../../catalog/events/envelope';
import { greatest } from '../../catalog/events/positions';
import { backoff, pause, withTimeout } from '../../kernel/async';
import { isOutage, LogMismatchError } from '../../kernel/errors';
import { assertContains, type LogBatch, type LogMark } from '../../ports/event-store';
import type { CurrentClient, EventStoreDbConnection } from './connection';
import { isSystemEvent, positionOf, type StreamNames, toRecordedEvent } from './events';
import { failureOf, NoResponseError } from './failures';
import { readAllFrom, readHead, readMarkAt, toServersPosition } from './reading';

const pauseMs = backoff(50, 1_000);
/** Idle time after which a subscription reads the head of the log. The time is doubled while no event arrives. */
const IDLE_FIRST_MS = 25;
const IDLE_MAX_MS = 250;
/** How long to wait for more events of a batch during catch-up. */
const BATCH_WAIT_MS = 10;
/** The shortest time between two batches without events. Such a batch reports that other realms' events were skipped. */
const EMPTY_BATCH_EVERY_MS = 50;
/** The shortest time between two looks ahead while the server sends checkpoints without a pause. */
const LOOK_AHEAD_EVERY_MS = 500;
/** If the log contains an event of the realm that the subscription has not delivered for this long, it is replaced. */
const OVERDUE_MS = 2_000;
/**
 * The server sends a checkpoint each time its filter has skipped 32 times this many events of other realms. 1 is the
 * minimum. Without a checkpoint, the subscription must read the skipped events itself to find out that they belong to
 * other realms, which costs more than the checkpoint.
 */
const CHECKPOINT_INTERVAL = 1;
/** The most events that `scanGap` reads. More than the filter skips between two checkpoints, so one scan is enough. */
const SCAN_MAX = 512;

interface FollowOptions {
  readonly connection: EventStoreDbConnection;
  readonly names: StreamNames;
  readonly after: Position;
  readonly batch_size: number;
  readonly signal: AbortSignal;
}

/** Options of one subscription: it uses one client, and starts after the last yielded batch. */
interface Attempt extends FollowOptions {
  readonly current: CurrentClient;
  /** The newest event that an earlier subscription has yielded. */
  readonly yielded: LogMark | undefined;
}

/**
 * Yields a realm's events until `signal` aborts. The server ends subscriptions for many reasons (a slow consumer, a new
 * leader, a restart), some of them without an error, and the client does not resume a subscription that ended. So
 * whenever a subscription ends, this function starts a new one after the last yielded batch. Throws `LogMismatchError`
 * if the log no longer contains what was yielded.
 */
export async function* follow(options: FollowOptions): AsyncGenerator<LogBatch, void, undefined> {
  const { signal, connection } = options;
  let { after } = options;
  let yielded: LogMark | undefined;
  /** Number of subscriptions in a row that ended without progress. */
  let failures = 0;
  while (!signal.aborted) {
    const { current } = connection;
    try {
      for await (const batch of followOnce({ ...options, after, current, yielded })) {
        if (batch.position !== after) failures = 0;
        after = batch.position;
        const last = batch.events.at(-1);
        if (last) yielded = { position: last.position, event_id: last.id };
        yield batch;
      }
    } catch (error) {
      const failure = failureOf(error);
      if (failure) {
        connection.reportFailure(error, '$all');
        connection.reconnectAfter(failure, current);
      } else if (!isOutage(error)) throw error;
    }
    await pause(pauseMs(++failures), signal);
  }
}

/** Yields batches of one subscription from `after` until it ends. Throws the error that ended it, if there is one. */
async function* followOnce(attempt: Attempt): AsyncGenerator<LogBatch, void, undefined> {
  const start = await findStart(attempt);
  if (start.events.length > 0) yield { ...start, caught_up: false };
  const { prefix } = attempt.names;
  const buffer = new SubscriptionBuffer(attempt.current, {
    prefix,
    after: start.subscribe_after,
    size: attempt.batch_size,
  });
  try {
    yield* new BatchReader(attempt, buffer, start.position).batches();
  } finally {
    buffer.close();
  }
}

interface SubscriptionStart {
  /** The events to yield before the subscription: at most one. */
  readonly events: readonly RecordedEvent[];
  /** The position up to which all events are yielded, including `events`. */
  readonly position: Position;
  /** The subscription starts after this position. An event with exactly this position exists. */
  readonly subscribe_after: Position;
}

/**
 * Finds the position to subscribe after. The server starts a subscription by skipping the first event at or after the
 * requested position. Usually that is the event at `after`, which was yielded before. But if that event belonged to
 * another realm and the server has scavenged it, the server would skip the next event, which was never yielded. So this
 * function reads the first event at or after `after`, returns it if it is new and belongs to the realm, and lets the
 * subscription start after it.
 */
async function findStart({ connection, names, after, yielded }: Attempt): Promise<SubscriptionStart> {
  if (after === START) return { events: [], position: after, subscribe_after: START };
  if (yielded) assertContains(await readMarkAt(connection, yielded.position), yielded);
  const first = await readFirstFrom(connection, after);
  const first_position = positionOf(first);
  const is_new = first_position > after;
  const is_own = is_new && first.streamId.startsWith(names.prefix) && !isSystemEvent(first);
  return {
    events: is_own ? [toRecordedEvent(first, names)] : [],
    position: is_new ? first_position : after,
    subscribe_after: first_position,
  };
}

/** Reads the first event at or after `position`. Throws `LogMismatchError` if the log ends before `position`. */
async function readFirstFrom(
  connection: EventStoreDbConnection,
  position: Position,
): Promise<AllStreamRecordedEvent> {
  for (;;) {
    const [first] = await readAllFrom(connection, position, 1);
    if (first) return first;
    const head = await readHead(connection);
    if (head < position)
      throw new LogMismatchError(`Position ${position} is after the end of the log, which is at ${head}.`);
    // An event was appended between the two reads.
  }
}

/** Reads batches from the buffer. While the buffer is empty, reads the log to find out whether events are missing. */
class BatchReader {
  private readonly connection: EventStoreDbConnection;
  private readonly names: StreamNames;
  private readonly size: number;
  private readonly signal: AbortSignal;
  private readonly buffer: SubscriptionBuffer;
  /** All events of the realm up to this position are yielded, or are in the batch that is being built. */
  private reached_position: Position;
  /**
   * All events of the realm before this position are delivered, by a checkpoint. It may be where the next event begins,
   * so it is neither reached nor a position to start from.
   */
  private passed_position: Position = START;
  /** The position of the last yielded batch. */
  private yielded_position: Position;
  /** True if the subscription has reached the head of the log once. */
  private is_live = false;
  private reported_caught_up = false;
  private yielded_at_ms = 0;
  private looked_ahead_at_ms = performance.now();
  private idle_ms = IDLE_FIRST_MS;
  private overdue_since_ms: number | undefined;

  constructor(attempt: Attempt, buffer: SubscriptionBuffer, position: Position) {
    this.connection = attempt.connection;
    this.names = attempt.names;
    this.size = attempt.batch_size;
    this.signal = attempt.signal;
    this.buffer = buffer;
    this.reached_position = position;
    this.yielded_position = position;
  }

  async *batches(): AsyncGenerator<LogBatch, void, undefined> {
    while (!this.signal.aborted) {
      const items = this.buffer.take(this.size);
      const events = items.flatMap((item) => this.accept(item));
      if (events.length > 0 || this.isEmptyBatchDue()) yield this.toBatch(events);
      else if (items.length === 0) await this.wait();
      if (this.buffer.is_drained) return this.throwFailure();
    }
  }

  /** Advances `reached_position`, and returns the item's event if it is new. */
  private accept(item: BufferedItem): RecordedEvent[] {
    this.overdue_since_ms = undefined;
    // A checkpoint does not shorten the wait: while other realms append, the next checkpoint arrives soon.
    if (item.kind !== 'checkpoint') this.idle_ms = item.kind === 'caught_up' ? 0 : IDLE_FIRST_MS;
    if (item.kind === 'caught_up') return [];
    if (item.kind === 'checkpoint') {
      if (item.is_of_event) this.reached_position = greatest([this.reached_position, item.position]);
      else this.passed_position = greatest([this.passed_position, item.position]);
      return [];
    }
    const position = positionOf(item.event);
    if (position <= this.reached_position) return [];
    this.reached_position = position;
    return isSystemEvent(item.event) ? [] : [toRecordedEvent(item.event, this.names)];
  }

  /**
   * Returns true if a batch without events must be yielded: to report "caught up" once, or to report that events of other
   * realms were skipped.
   */
  private isEmptyBatchDue(): boolean {
    if (this.is_live && !this.reported_caught_up && this.buffer.is_empty) return true;
    return (
      this.reached_position > this.yielded_position &&
      performance.now() - this.yielded_at_ms >= EMPTY_BATCH_EVERY_MS
    );
  }

  private toBatch(events: RecordedEvent[]): LogBatch {
    const caught_up = this.is_live && this.buffer.is_empty;
    this.reported_caught_up ||= caught_up;
    this.yielded_position = this.reached_position;
    this.yielded_at_ms = performance.now();
    return { events, position: this.reached_position, caught_up };
  }

  private async wait(): Promise<void> {
    const is_progress_unreported = this.reached_position > this.yielded_position;
    if (!is_progress_unreported && this.isLookAheadDue()) return this.lookAhead();
    await this.buffer.wait(1, is_progress_unreported ? EMPTY_BATCH_EVERY_MS : this.idle_ms, this.signal);
    // During catch-up, events arrive one by one as fast as they are taken. Waiting makes the batches larger.
    if (!this.is_live && !this.buffer.is_empty) await this.buffer.wait(this.size, BATCH_WAIT_MS, this.signal);
    if (!this.buffer.is_empty || this.buffer.is_drained || this.signal.aborted || is_progress_unreported)
      return;
    this.idle_ms = Math.min(Math.max(this.idle_ms * 2, IDLE_FIRST_MS), IDLE_MAX_MS);
    await this.lookAhead();
  }

  /** Returns true if the server has sent checkpoints for a while that `lookAhead` must convert to a reached position. */
  private isLookAheadDue(): boolean {
    return (
      this.passed_position > this.reached_position &&
      performance.now() - this.looked_ahead_at_ms >= LOOK_AHEAD_EVERY_MS
    );
  }

  /**
   * Reads the log ahead of the subscription, to find out whether the realm has caught up. The subscription alone
   * does not show this: it may send nothing for a long time while other realms append, and it sends nothing if it is
   * broken.
   */
  private async lookAhead(): Promise<void> {
    const head = await readHead(this.connection);
    const gap = head > this.reached_position ? await this.findGap(head) : undefined;
    if (gap && gap.position > this.reached_position) this.reached_position = gap.position;
    if (this.reached_position >= head) this.is_live = true;
    // If the subscription has delivered items during the reads above, the event may be one of them.
    if (gap?.own_event_follows && this.buffer.is_empty) this.checkOverdue();
    this.looked_ahead_at_ms = performance.now();
  }

  /** Finds a gap that begins at the reached position. Skips what a checkpoint has passed. */
  private async findGap(head: Position): Promise<LogGap> {
    const { reached_position: reached, passed_position: passed } = this;
    if (head < passed) return { position: head, own_event_follows: false };
    return scanGap(this.connection, this.names, { after: reached, from: greatest([reached, passed]) });
  }

  private checkOverdue(): void {
    const now_ms = performance.now();
    this.overdue_since_ms ??= now_ms;
    if (now_ms - this.overdue_since_ms > OVERDUE_MS)
      throw new NoResponseError(`a subscription has not delivered an event for ${OVERDUE_MS} ms`);
  }

  private throwFailure(): void {
    if (this.buffer.failure) throw this.buffer.failure;
  }
}

/** A part of the log without events of the realm that are not delivered yet. */
interface LogGap {
  /** The position of its last event. */
  readonly position: Position;
  /** Whether the event after the gap belongs to the realm. False if the scan found no such event. */
  readonly own_event_follows: boolean;
}

/** Reads at most 512 events after `after`, and at or after `from`, up to the first event of the realm. */
async function scanGap(
  connection: EventStoreDbConnection,
  names: StreamNames,
  { after, from }: { after: Position; from: Position },
): Promise<LogGap> {
  let position = after;
  for (const event of await readAllFrom(connection, from, SCAN_MAX)) {
    const event_position = positionOf(event);
    if (event_position <= after) continue;
    if (event.streamId.startsWith(names.prefix) && !isSystemEvent(event))
      return { position, own_event_follows: true };
    position = event_position;
  }
  return { position, own_event_follows: false };
}

/**
 * An item that the subscription delivers: an event, a checkpoint of the filter, or "caught up". A checkpoint says that
 * all events before its position are delivered, and also the one at it if it is the position of an event.
 */
type BufferedItem =
  | { readonly kind: 'event'; readonly event: AllStreamRecordedEvent }
  | { readonly kind: 'checkpoint'; readonly position: Position; readonly is_of_event: boolean }
  | { readonly kind: 'caught_up' };

/**
 * A checkpoint or "caught up" in the buffer of the client's stream. The client reports both in callbacks, at a time when
 * earlier events are still in the buffer. A mark is pushed behind these events, so that the items are in the server's
 * order.
 */
class Mark {
  readonly item: BufferedItem;
  constructor(item: BufferedItem) {
    this.item = item;
  }
}

/**
 * Buffers one subscription until it ends. The client's stream buffers at most `size` items. While it is full, the
 * client stops reading, so that the server waits (backpressure).
 */
class SubscriptionBuffer {
  private readonly subscription: AllStreamSubscription;
  private readonly client_retired: AbortSignal;
  private has_ended = false;
  private error: Error | undefined;
  private wake: () => unknown = () => {};

  constructor(current: CurrentClient, options: { prefix: string; after: Position; size: number }) {
    const filter = streamNameFilter({
      prefixes: [options.prefix],
      checkpointInterval: CHECKPOINT_INTERVAL,
      checkpointReached: (subscription, { commit, prepare }) => {
        // Without a prepare position, it may be the first byte after the log, where the next event begins.
        const is_of_event = prepare === commit;
        subscription.push(new Mark({ kind: 'checkpoint', position: commit, is_of_event }));
      },
    });
    const from = { fromPosition: toServersPosition(options.after), filter };
    this.subscription = current.client.subscribeToAll(from, { highWaterMark: options.size });
    this.subscription.on('caughtUp', () => this.subscription.push(new Mark({ kind: 'caught_up' })));
    this.subscription.on('readable', () => this.wake());
    this.subscription.on('end', () => this.end());
    this.subscription.on('close', () => this.end());
    // The listener is never removed: an `error` event without a listener ends the process.
    this.subscription.on('error', (error) => this.end(error));
    this.client_retired = current.retired;
    this.client_retired.addEventListener('abort', this.cancel);
  }

  get is_empty(): boolean {
    return this.subscription.readableLength === 0;
  }

  /** True if the subscription has ended and `take` has returned all items. */
  get is_drained(): boolean {
    return this.has_ended && this.is_empty;
  }

  /** The error that ended the subscription. Undefined if the server ended it without an error. */
  get failure(): Error | undefined {
    return this.error;
  }

  /** Removes and returns at most `max` buffered items, without waiting. */
  take(max: number): BufferedItem[] {
    const items: BufferedItem[] = [];
    while (items.length < max) {
      const next = this.subscription.read() as AllStreamResolvedEvent | Mark | null;
      if (next === null) break;
      if (next instanceof Mark) items.push(next.item);
      else if (next.event) items.push({ kind: 'event', event: next.event });
    }
    return items;
  }

  /** Waits until `count` items are buffered, the subscription ends, `signal` aborts, or `timeout_ms` have passed. */
  async wait(count: number, timeout_ms: number, signal: AbortSignal): Promise<void> {
    const isDue = (): boolean =>
      this.subscription.readableLength >= count || this.has_ended || signal.aborted;
    if (isDue()) return;
    const due = new Promise<void>((resolve) => {
      this.wake = () => isDue() && resolve();
    });
    await withTimeout(due, timeout_ms, () => undefined, signal);
    this.wake = () => {};
  }

  /** Ends the subscription on the server. Destroying the stream alone does not end the gRPC call. */
  close(): void {
    this.client_retired.removeEventListener('abort', this.cancel);
    this.cancel();
    this.subscription.destroy();
  }

  private readonly cancel = (): void => {
    this.subscription.unsubscribe().catch(() => {});
    this.end();
  };

  private readonly end = (reason?: unknown): void => {
    this.has_ended = true;
    if (reason instanceof Error) this.error ??= reason;
    this.wake();
  };
}
