import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../catalog/events/envelope';

/** The expected revision of a stream that must not exist yet. */
export const NO_STREAM = -1;

export type AppendResult =
  | { readonly outcome: 'appended'; readonly revision: number; readonly position: Position }
  /** A lost race is a value: nothing was written; `actual` is the stream's last revision, or `NO_STREAM`. */
  | { readonly outcome: 'wrong_revision'; readonly actual: number };

/** What a subscription yields: all of the realm's events up to `position` have now been given. */
export interface LogBatch {
  /** In log order; may be empty where the log moved on without an event of this realm. */
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
  /** Nothing more was in the log when this batch was read. */
  readonly caught_up: boolean;
}

/**
 * One realm's log.
 *
 * - `append` is all or nothing, and durable when it returns. Appending the same event ids again at the same
 *   expected revision answers as the first time did. Throws `CatalogError('unavailable')` where the store
 *   cannot be reached, `CatalogError('database_timeout')` where it does not answer in time; the events may
 *   then be stored or not, and the same call may be repeated.
 * - `readStream` gives the stream's events in order, from revision `from`; none where it does not exist.
 * - `subscribe` gives every event after `after`, once, in one total order that never changes, and goes on for ever:
 *   it survives the store's restarts by itself. It ends without an error when `signal` aborts. A batch is not
 *   fetched before the one before it was taken.
 * - `head` is a position at or after every event that was acknowledged before the call, and one that every
 *   subscription reaches. It may be that of an event of another realm. `START` only where the whole server's log is
 *   empty: a realm without events need not say so.
 * - Any number of processes may use one log at once.
 */
export interface EventStore {
  append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult>;
  readStream(stream: StreamName, from?: number): Promise<RecordedEvent[]>;
  subscribe(options: { after: Position; signal: AbortSignal; batch_size?: number }): AsyncIterable<LogBatch>;
  head(): Promise<Position>;
  close(): Promise<void>;
}
