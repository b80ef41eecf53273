import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../catalog/events/envelope';

/** The expected revision of a stream that must not exist yet. */
export const NO_STREAM = -1;

export type AppendResult =
  | { readonly outcome: 'appended'; readonly revision: number; readonly position: Position }
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

/**
 * Whether a store that answers is fit for use.
 *
 * - `damaged`: a part of its data cannot be read any more.
 * - `not_writable`: its disk is full or read-only.
 */
export type StoreHealth = 'ok' | 'damaged' | 'not_writable';

/**
 * The event log of one realm. Any number of processes may use one log at once.
 *
 * `append`
 * - Writes all events or none, and only if the stream's last revision is `expected_revision`.
 * - The events are durable when it resolves.
 * - Idempotent: appending the same event ids at the same expected revision again returns the same result.
 * - A lost race is the result `wrong_revision`, not an error.
 * - After an error, the events may be stored or not. The same call may be repeated.
 *
 * `readStream`
 * - Returns the stream's events in order, from revision `from` (default 0), at most `count` (default: all). Returns
 *   none if the stream does not exist.
 *
 * `subscribe`
 * - Yields every event with a position after `after`, once, in one total order that never changes.
 * - Never ends by itself: it waits for new events, and survives restarts of the store. Only a damaged file of the log
 *   ends it, with `DamagedFileError`.
 * - Ends without an error when `signal` aborts.
 * - Fetches no batch before the previous one was consumed (backpressure).
 *
 * `head`
 * - Returns a position at or after every event that was acknowledged before the call. Every subscription reaches it.
 * - The position may be that of another realm's event.
 * - Returns `START` only if the log of the server is empty. A realm without events may have a greater head.
 *
 * `health`
 * - Reports damage that was noticed so far, and whether the store can be written now. Cheap enough for each readiness
 *   check. A store without this method notices nothing.
 *
 * Errors, of all methods except `subscribe`
 * - `CatalogError('unavailable')` if the store cannot be reached. Its subclass `DamagedFileError` if a file is damaged.
 * - `CatalogError('database_timeout')` if the store does not answer in time. `readStream` may take as long as events
 *   keep arriving.
 */
export interface EventStore {
  append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult>;
  readStream(stream: StreamName, from?: number, count?: number): Promise<RecordedEvent[]>;
  subscribe(options: { after: Position; signal: AbortSignal; batch_size?: number }): AsyncIterable<LogBatch>;
  head(): Promise<Position>;
  health?(): Promise<StoreHealth>;
  close(): Promise<void>;
}
