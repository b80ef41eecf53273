import { END, streamNameFilter } from '@eventstore/db-client';
import { type Position, START } from '../../catalog/events/envelope';
import { greatest } from '../../catalog/events/positions';
import { pause } from '../../kernel/async';
import { LogMismatchError } from '../../kernel/errors';
import { assertContains, type LogBatch, type LogMark } from '../../ports/event-store';
import { follow, type Hints } from '../follow';
import type { EventStoreDbConnection } from './connection';
import { isSystemEvent, positionOf, type StreamNames, toRecordedEvent } from './events';
import { endSubscription, readHead, readMarkAt, readRealmFrom, SEARCH_STEP_MS, searchRealm } from './reading';
import { connectionsOfProcess } from './transport';

/** Time between two reads of the head of the log without a hint. It is doubled while the log has no new event. */
const POLL_FIRST_MS = 25;
const POLL_MAX_MS = 250;
/** How long after its end a subscription is opened again. Polling finds the events of this time. */
const REOPEN_MS = 1_000;

export interface RealmSubscription {
  readonly connection: EventStoreDbConnection;
  readonly names: StreamNames;
  readonly after: Position;
  readonly batch_size: number;
  readonly signal: AbortSignal;
}

/**
 * Yields a realm's events until `signal` aborts. Reads the log, and reads again when a subscription of the server delivers
 * something. Throws `LogMismatchError` if the log no longer contains what was yielded.
 */
export function followRealm(options: RealmSubscription): AsyncGenerator<LogBatch, void, undefined> {
  const { connection, names, after, signal } = options;
  const reader = new RealmReader(options);
  return follow({
    after,
    signal,
    hints: serverHints(connection, names.prefix),
    read: (position, has_more) => reader.read(position, has_more),
    pollMs: (idle) => Math.min(POLL_FIRST_MS * 2 ** idle, POLL_MAX_MS),
  });
}

/** The hints of a subscription of the server to new events of the streams whose names begin with `prefix`. */
export function serverHints(connection: EventStoreDbConnection, prefix: string): Hints {
  return {
    listen: (onHint) => {
      const stop = new AbortController();
      void listen(connection, prefix, onHint, stop.signal);
      return () => stop.abort();
    },
  };
}

class RealmReader {
  /** The number of the connection over which the log was last compared with the yielded events. */
  private checked: number | undefined;
  private yielded: LogMark | undefined;
  /** Whether the last search of the log has come further without finding an event. */
  private is_searching = false;

  constructor(private readonly options: RealmSubscription) {}

  /** Reads again if another connection was made meanwhile, because the log behind it may differ. */
  async read(after: Position, has_more: boolean): Promise<LogBatch> {
    for (;;) {
      const connection = connectionsOfProcess();
      if (this.checked !== connection) await this.assertHasYielded(after);
      this.checked = connection;
      const batch = await this.readBatch(after, has_more);
      if (connectionsOfProcess() !== connection) continue;
      const newest = batch.events.at(-1);
      if (newest) this.yielded = { position: newest.position, event_id: newest.id };
      return batch;
    }
  }

  private async readBatch(after: Position, has_more: boolean): Promise<LogBatch> {
    const { connection, names, batch_size } = this.options;
    // Polls read the head, because this read is shared with the other realms. The next read covers all events up to it.
    const head = has_more ? after : await readHead(connection);
    if (!has_more && head <= after) return { events: [], position: after, caught_up: true };
    const found = this.is_searching ? undefined : await this.readEvents(after, SEARCH_STEP_MS);
    if (!found) {
      const searched = await searchRealm(connection, after, names.prefix);
      this.is_searching = searched !== undefined;
      if (searched !== undefined) return { events: [], position: searched, caught_up: false };
    }
    const { events: read, is_finished } = found ?? (await this.readEvents(after))!;
    const events = read.filter((event) => positionOf(event) > after && !isSystemEvent(event));
    const caught_up = is_finished && read.length < batch_size;
    const last = read.at(-1);
    const reached = greatest([after, last ? positionOf(last) : after, caught_up ? head : after]);
    return { events: events.map((event) => toRecordedEvent(event, names)), position: reached, caught_up };
  }

  /** Returns undefined if the server examines events of other realms for `step_ms` before it finds one of this realm. */
  private async readEvents(after: Position, step_ms?: number) {
    const { connection, names, batch_size } = this.options;
    const read = await readRealmFrom(connection, after, batch_size, names.prefix, step_ms);
    // A read from the position of an event finds this event at once.
    const is_new = read.events.some((event) => positionOf(event) > after);
    return read.is_finished || is_new ? read : undefined;
  }

  /** Throws `LogMismatchError` if the log has another event where one was yielded, ends before, or has none at `after`. */
  private async assertHasYielded(after: Position): Promise<void> {
    const { connection } = this.options;
    if (after === START) return;
    if (this.yielded) assertContains(await readMarkAt(connection, this.yielded.position), this.yielded);
    const head = (await readMarkAt(connection, after)) ? after : await readHead(connection);
    if (head < after)
      throw new LogMismatchError(`Position ${after} is after the end of the log, which is at ${head}.`);
  }
}

/**
 * Calls `onHint` for each event of the realm that the server pushes, until `signal` aborts. The subscription may end at any
 * time, with or without an error; then opens another one.
 */
async function listen(
  connection: EventStoreDbConnection,
  prefix: string,
  onHint: () => void,
  signal: AbortSignal,
): Promise<void> {
  const filter = streamNameFilter({ prefixes: [prefix] });
  while (!signal.aborted) {
    const { client, retired } = connection.current;
    const subscription = client.subscribeToAll({ fromPosition: END, filter });
    subscription.on('data', onHint);
    const over = AbortSignal.any([signal, retired]);
    await new Promise<void>((resolve) => {
      for (const event of ['end', 'close', 'error'] as const) subscription.on(event, () => resolve());
      over.addEventListener('abort', () => resolve());
      if (over.aborted) resolve();
    });
    endSubscription(subscription);
    await pause(REOPEN_MS, signal, { ref: false });
  }
}
