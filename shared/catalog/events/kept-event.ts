import type { EventMetadata, JsonObject, RecordedEvent } from './envelope';

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
