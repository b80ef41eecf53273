import type { Realm } from '../realm';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** A place in a realm's log; grows with every event. `0n` is before the first. */
export type Position = bigint;
export const START: Position = 0n;

/** `live.publication-<id>`: realm, category, id. */
export type StreamName = string & { readonly __stream: unique symbol };

export type Category = 'account' | 'api_key' | 'store' | 'listing' | 'publication' | 'review' | 'media';

export function streamName(realm: Realm, category: Category, id: string): StreamName {
  return `${realm}.${category}-${id}` as StreamName;
}

/** The parts of a stream's name; undefined where it is none of ours. */
export function parseStreamName(
  stream: string,
): { realm: Realm; category: Category; id: string } | undefined {
  const parts = /^(control|live|test)\.([a-z_]+)-(.+)$/.exec(stream);
  return parts ? { realm: parts[1] as Realm, category: parts[2] as Category, id: parts[3]! } : undefined;
}

/** Who did it and why; travels with every event. */
export interface EventMetadata {
  /** ISO 8601 UTC with milliseconds: the time that `created_at` and `updated_at` show (decisions §1). */
  readonly occurred_at: string;
  /** Chooses the lane: the store's id, or the account's id in `control`. */
  readonly partition_key: string;
  readonly source: 'api' | 'cli' | 'import' | 'system';
  readonly account_id?: string;
  readonly store_id?: string;
  readonly api_key_id?: string;
  readonly request_id?: string;
  readonly idempotency_key?: string;
  /** Of a write that may be asked for again: by it the write is found in the log. Another one per use of a key. */
  readonly operation_id?: string;
}

/** An event as the codec encoded it, ready to be appended. `id` is a UUID: appending it again is no second event. */
export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  readonly schema_version: number;
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

/** An event as the log gives it back. `revision` counts from 0 within its stream. */
export interface RecordedEvent extends EncodedEvent {
  readonly position: Position;
  readonly stream: StreamName;
  readonly revision: number;
}
