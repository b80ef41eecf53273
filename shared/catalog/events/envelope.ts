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

/** An event as a store kept it. What stands in `data` and `metadata` another hand may have written. */
export interface KeptEvent extends Omit<RecordedEvent, 'data' | 'metadata'> {
  /** `undefined`: damaged. */
  readonly data: unknown;
  readonly metadata: unknown;
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * The event to be given on. One whose data is no object, or whose metadata tells neither lane nor time, is given as an
 * event that no code knows: its own stream is parked by it and the log goes on, where throwing would stop every stream's
 * projection. Where the metadata is damaged nothing tells the lane, and any does. `kept_at`: ISO 8601, of such an event.
 */
export function recordedEvent(kept: KeptEvent, kept_at: string): RecordedEvent {
  const { position, stream, revision, id, type, schema_version, data, metadata } = kept;
  const place = { position, stream, revision, id, type, schema_version };
  const told = isMetadata(metadata);
  if (told && isObject(data) && isVersion(kept.schema_version)) return { ...place, data, metadata };
  return {
    ...place,
    type: `unreadable ${place.type}`,
    schema_version: 1,
    data: {},
    metadata: told ? metadata : { occurred_at: kept_at, partition_key: place.stream, source: 'system' },
  };
}

function isMetadata(value: unknown): value is EventMetadata {
  if (!isObject(value)) return false;
  const { occurred_at, partition_key } = value;
  return typeof partition_key === 'string' && typeof occurred_at === 'string' && ISO_TIME.test(occurred_at);
}

function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function isVersion(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}
