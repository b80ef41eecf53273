import type { Realm } from '../realm';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** Position in a realm's log. Grows with every event and may have gaps. `0n` is before the first event. */
export type Position = bigint;
export const START: Position = 0n;

/** Name of a stream: realm, category and id, such as `live.publication-<id>`. */
export type StreamName = string & { readonly __stream: unique symbol };

/** `views` are the page views of a store's publications. They are the only category without an aggregate. */
export type Category =
  | 'account'
  | 'api_key'
  | 'store'
  | 'listing'
  | 'publication'
  | 'review'
  | 'media'
  | 'name'
  | 'webhook'
  | 'proposal'
  | 'list_price'
  | 'views';

export function streamName(realm: Realm, category: Category, id: string): StreamName {
  return `${realm}.${category}-${id}` as StreamName;
}

/** Returns the parts of a stream's name, or undefined if it is not a stream of this service. */
export function parseStreamName(
  stream: string,
): { realm: Realm; category: Category; id: string } | undefined {
  const parts = /^(control|live|test)\.([a-z_]+)-(.+)$/.exec(stream);
  return parts ? { realm: parts[1] as Realm, category: parts[2] as Category, id: parts[3]! } : undefined;
}

/** Who caused an event, and how. Stored with every event. */
export interface EventMetadata {
  /** ISO 8601 UTC with milliseconds. Shown as `created_at` and `updated_at` (docs/interface/requests.md#ids-and-timestamps). */
  readonly occurred_at: string;
  /** Determines the partition: the id of the store, or of the account in `control`. */
  readonly partition_key: string;
  readonly source: 'api' | 'cli' | 'import' | 'schedule' | 'system';
  readonly account_id?: string;
  readonly store_id?: string;
  readonly api_key_id?: string;
  /** Of an HTTP request, or of the run of a command-line tool or an import. */
  readonly request_id?: string;
  /** Name of the run that the write belongs to: `X-Catalog-Run` of its request. An undo has `undo-` and the undone run. */
  readonly run?: string;
  readonly idempotency_key?: string;
  /** Id of an idempotent write. If the request is repeated, the write is found in the log by this id. */
  readonly operation_id?: string;
  /** Hash of the request of an idempotent write. Distinguishes it from another request with the same key. */
  readonly fingerprint?: string;
  /**
   * Trace context of the append, if it was sampled (https://www.w3.org/TR/trace-context/). Only tracing reads it.
   */
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Returns the run that the event is shown with. An import names no other run than its own id. */
export const runOf = ({ run, source, request_id }: EventMetadata): string | undefined =>
  run ?? (source === 'import' ? request_id : undefined);

/** Returns whether the event belongs to the run. An import that a run has started belongs to both. */
export const isOfRun = (metadata: EventMetadata, run: string): boolean =>
  metadata.run === run || (metadata.source === 'import' && metadata.request_id === run);

/** An encoded event, ready to be appended. `id` is a UUID; appending the same id again adds no second event. */
export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  readonly schema_version: number;
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

/** An event as read from the log. `revision` counts from 0 within its stream. */
export interface RecordedEvent extends EncodedEvent {
  readonly position: Position;
  readonly stream: StreamName;
  readonly revision: number;
}

/** An event as a store returns it, before validation. `data` and `metadata` may be damaged. */
export interface StoredEvent extends Omit<RecordedEvent, 'data' | 'metadata'> {
  /** `undefined` if it cannot be parsed. */
  readonly data: unknown;
  readonly metadata: unknown;
}

/** Marks the type of an event that cannot be read. No type of an event contains a space. */
const UNREADABLE_PREFIX = 'unreadable ';

/** Whether `recordedEvent` has replaced the event, because it was damaged. */
export const isUnreadable = ({ type }: Pick<EncodedEvent, 'type'>): boolean =>
  type.startsWith(UNREADABLE_PREFIX);

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Validates a stored event. Returns a damaged event with an unknown type, so that its stream moves to the dead-letter
 * list. Throwing here would stop the projection of every stream.
 *
 * If the metadata is damaged, the store of the event is unknown. Then the stream name is the partition key, because any
 * partition can move the stream to the dead-letter list. `stored_at` (ISO 8601) is the time of the event.
 */
export function recordedEvent(stored: StoredEvent, stored_at: string): RecordedEvent {
  const { position, stream, revision, id, type, schema_version, data, metadata } = stored;
  const has_valid_metadata = isMetadata(metadata);
  // No spread, which V8 copies slowly: a rebuild calls this function for every event.
  if (has_valid_metadata && isObject(data) && isVersion(schema_version))
    return { position, stream, revision, id, type, schema_version, data, metadata };
  return {
    position,
    stream,
    revision,
    id,
    type: UNREADABLE_PREFIX + type,
    schema_version: 1,
    data: {},
    metadata: has_valid_metadata
      ? metadata
      : { occurred_at: stored_at, partition_key: stream, source: 'system' },
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
