import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../catalog/events/envelope';
import { CatalogError, LogMismatchError } from '../kernel/errors';
import { isUuid } from '../kernel/ids';
import type { SnapshotStore } from './snapshot-store';

/** The expected revision of a stream that must not exist yet. */
export const NO_STREAM = -1;

/**
 * The most bytes of one append (`bytesOfEvent`). The default limit of EventStoreDB (`MaxAppendSize`), so that a write
 * that one adapter accepts is accepted by all.
 */
export const APPEND_BYTES_MAX = 1_048_576;

export type AppendResult =
  | {
      readonly outcome: 'appended';
      readonly revision: number;
      readonly position: Position;
      /** Set if an operator has removed the events since. `position` is then the position of a later event. */
      readonly is_removed?: true;
    }
  /** Another writer was faster; nothing was written. `actual` is the stream's last revision, or `NO_STREAM`. */
  | { readonly outcome: 'wrong_revision'; readonly actual: number };

/** A batch of a subscription. After it, all of the realm's events up to `position` have been yielded. */
export interface LogBatch {
  /** Events in log order. Empty if only events of other realms were appended. */
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
  /** Whether the log had no further events when this batch was read. */
  readonly caught_up: boolean;
}

/** An event of a log by its position, of any realm. It shows whether documents were made from this log. */
export interface LogMark {
  readonly position: Position;
  readonly event_id: string;
}

/**
 * Throws `LogMismatchError` if the log does not contain the event of the mark. `found` is what `markAt` returns for its
 * position. If the log has no event at that position but later ones, the event was deleted, which proves nothing.
 */
export function assertContains(found: LogMark | undefined, { position, event_id }: LogMark): void {
  if (found && (found.position > position || found.event_id === event_id)) return;
  const actual = found ? `event ${found.event_id}` : 'no event';
  throw new LogMismatchError(
    `At position ${position}, where event ${event_id} was projected, the log has ${actual}.`,
  );
}

/**
 * Whether a database that answers is fit for use.
 *
 * - `damaged`: a part of its data cannot be read any more.
 * - `not_writable`: its disk is full or read-only.
 * - `may_evict`: its server is set to delete data when its memory is full.
 */
export type StoreHealth = 'ok' | 'damaged' | 'not_writable' | 'may_evict';

/**
 * The event log of one realm. Any number of processes may use one log at once.
 *
 * - An argument that breaks a rule below is a fault of the caller: the call rejects with `TypeError` and does nothing.
 * - Every method except `subscribe` rejects with `CatalogError('unavailable')` if the log cannot be reached, with its
 *   subclass `DamagedFileError` if a file is damaged, and with `CatalogError('database_timeout')` if the log does not
 *   answer in time.
 */
export interface EventStore {
  /**
   * Writes all events or none, and only if the stream's last revision is `expected_revision`.
   *
   * - The events are durable when the promise resolves.
   * - Idempotent: appending the same event ids at the same expected revision again returns the same result. If an
   *   operator has removed the events since, the position is a later position.
   * - A lost race is the result `wrong_revision`, not an error.
   * - After an outage, the events may be stored or not. The same call may be repeated.
   * - Takes one or more events. Their ids are different UUIDs in lower case. Ids identify events only within a
   *   stream: another stream, or a later revision of this stream, may have an event with the same id.
   * - No event's type begins with `$`, because EventStoreDB reserves such types for events of its own.
   * - Rejects with `CatalogError('too_large')` if the events have more than `APPEND_BYTES_MAX` bytes
   *   (`bytesOfEvent`). A server may be configured to accept less.
   * - Calls `beforeSend` before each attempt. If `beforeSend` rejects, `append` sends nothing more and rejects with
   *   the same error. If that error is an outage and an earlier attempt has failed, `append` rejects with the error
   *   of that attempt.
   * - Rejects with `DeletedStreamError` if an operator has deleted the stream for good (docs/operations/erasure.md).
   *   Only EventStoreDB can do that. A stream whose rows were deleted in SQLite begins again at revision 0.
   */
  append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
    beforeSend?: () => Promise<void>,
  ): Promise<AppendResult>;

  /**
   * Returns the stream's events in order, from revision `from` (0 or more; default 0), at most `count` (1 or more;
   * default: all). Returns none if the stream does not exist or was deleted. May take as long as events keep arriving.
   */
  readStream(stream: StreamName, from?: number, count?: number): Promise<RecordedEvent[]>;

  /**
   * Returns the newest events of the realm before the position `before`, newest first, at most `count`. Returns none
   * only if there are no others. `before` is the position of an event of the realm. Default: the end of the log.
   */
  readBackwards(count: number, before?: Position): Promise<RecordedEvent[]>;

  /**
   * Removes the events of the stream with a lower revision than `before`, and the stream's snapshot. The stream must
   * have an event with this revision, which keeps the stream. `readStream` does not return the removed events any
   * more. A server may keep them, and subscriptions yield them, until the server is scavenged.
   */
  truncate(stream: StreamName, before: number): Promise<void>;

  /**
   * Yields every event with a position after `after`, once, in one total order that never changes.
   *
   * - Never ends by itself: it waits for new events, and survives restarts of the server. Only two errors end it:
   *   `DamagedFileError` if a file of the log is damaged, and `LogMismatchError` if `after` or the newest event that
   *   it yielded is not in the log, for example because an older copy of the log was restored. A position is not in
   *   the log if it is after the log's end or, if the adapter can tell, between two events.
   * - Ends without an error when `signal` aborts.
   * - Fetches no batch before the previous batch was consumed (backpressure).
   */
  subscribe(options: { after: Position; signal: AbortSignal; batch_size?: number }): AsyncIterable<LogBatch>;

  /**
   * Returns a position at or after every event that was acknowledged before the call. Every subscription reaches it.
   *
   * - With `max_age_ms`, the position may have been read up to that long before the call, so events that were
   *   acknowledged meanwhile may be after it. For health checks and metrics, which are called often; nothing may wait
   *   for it.
   * - The position may be the position of another realm's event.
   * - Returns `START` only if the log of the server is empty. A realm without events may have a greater head.
   */
  head(max_age_ms?: number): Promise<Position>;

  /**
   * Returns the first event at or after a position, of any realm. Returns undefined if the log ends before. Throws
   * `LogMismatchError` if the position is between two events and the adapter can tell.
   */
  markAt(position: Position): Promise<LogMark | undefined>;

  /**
   * Reports damage that was noticed so far, and whether the log can be written now. Cheap enough for each readiness
   * check. An adapter without this method notices nothing.
   */
  health?(): Promise<StoreHealth>;

  /**
   * Changes before a call is sent over a new connection, and never returns to an earlier number. The log behind a new
   * connection may be another log. Undefined if the log cannot be exchanged while it is open.
   */
  readonly connection_number?: number | undefined;

  /** Undefined if the adapter keeps no snapshots. */
  readonly snapshots?: SnapshotStore | undefined;

  close(): Promise<void>;
}

/** Throws `TypeError` unless the arguments of `append` keep the rules of `EventStore`. Does not check the size. */
export function assertAppendable(
  stream: StreamName,
  expected_revision: number,
  events: readonly EncodedEvent[],
): void {
  const refuse = (reason: string): never => {
    throw new TypeError(`cannot append to ${stream}: ${reason}`);
  };
  if (!Number.isSafeInteger(expected_revision) || expected_revision < NO_STREAM)
    refuse(`${expected_revision} is no revision`);
  if (events.length === 0) refuse('there are no events');
  if (new Set(events.map(({ id }) => id)).size < events.length) refuse('two events have the same id');
  for (const { id, type } of events) {
    if (!isUuid(id) || id !== id.toLowerCase()) refuse(`the event id ${id} is not a UUID in lower case`);
    if (type === '' || type.startsWith('$')) refuse(`${type} is no type of an event`);
  }
}

/** Throws `TypeError` unless `readStream` takes `from` and `count`. */
export function assertRange(stream: StreamName, from: number, count?: number): void {
  if (!Number.isSafeInteger(from) || from < 0)
    throw new TypeError(`cannot read ${stream} from revision ${from}`);
  if (count !== undefined && (!Number.isSafeInteger(count) || count < 1))
    throw new TypeError(`cannot read ${count} events of ${stream}`);
}

/**
 * Returns how many bytes an event has, counted as EventStoreDB does: its data and metadata as JSON in UTF-8, with the
 * schema version in the metadata, and two bytes for each character of its type.
 */
export function bytesOfEvent(type: string, data_bytes: number, metadata_bytes: number): number {
  return data_bytes + metadata_bytes + 2 * type.length;
}

/** Throws `CatalogError('too_large')` if the events of an append have more than `APPEND_BYTES_MAX` bytes together. */
export function assertFits(bytes: number): void {
  if (bytes <= APPEND_BYTES_MAX) return;
  throw new CatalogError('too_large', {
    message: `The write has ${bytes} bytes of events; at most ${APPEND_BYTES_MAX} can be stored`,
  });
}
