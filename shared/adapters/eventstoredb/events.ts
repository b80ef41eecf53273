import {
  type AllStreamRecordedEvent,
  type EventData,
  type JSONEventData,
  jsonEvent,
  type RecordedEvent as ServersEvent,
} from '@eventstore/db-client';
import type {
  EncodedEvent,
  EventMetadata,
  Position,
  RecordedEvent,
  StreamName,
} from '../../catalog/events/envelope';
import { recordedEvent } from '../../catalog/events/envelope';
import { bytesOfEvent } from '../../ports/event-store';

/** The server sends a position of at least this value if it does not know the position of an event. */
const NO_POSITION = 2n ** 63n;

/** The stored metadata of an event: `EventMetadata` and the schema version of its data. */
type StoredMetadata = EventMetadata & { readonly schema_version: number };

/**
 * Converts between a realm's stream names and their names on the server, such as `<namespace>live.publication-<id>`.
 */
export class StreamNames {
  /** The names of this realm's streams begin with this prefix, and no others do. */
  readonly prefix: string;

  constructor(
    private readonly namespace: string,
    realm: string,
  ) {
    this.prefix = `${namespace}${realm}.`;
  }

  stored(stream: StreamName): string {
    return `${this.namespace}${stream}`;
  }

  /** Returns the name of the stream that contains snapshots of `stream`. It does not begin with the prefix of a realm. */
  snapshots(stream: StreamName): string {
    return `${this.namespace}snapshots.${stream}`;
  }

  parse(stored: string): StreamName {
    return stored.slice(this.namespace.length) as StreamName;
  }
}

/**
 * Converts to the input of the client's `appendToStream`, with the size of the event as `bytesOfEvent` counts it. Copies
 * the data at the time of the call, so that later changes of the object have no effect. Throws if it cannot be JSON.
 */
export function toEventData({ id, type, schema_version, data, metadata }: EncodedEvent): {
  readonly event: EventData;
  readonly bytes: number;
} {
  const stored: StoredMetadata = { ...metadata, schema_version };
  const [data_text, metadata_text] = [JSON.stringify(data), JSON.stringify(stored)];
  const content = { data: JSON.parse(data_text), metadata: JSON.parse(metadata_text) };
  const bytes = bytesOfEvent(type, Buffer.byteLength(data_text), Buffer.byteLength(metadata_text));
  return { event: jsonEvent({ id, type, ...content } as JSONEventData), bytes };
}

/**
 * Returns true for system events (type `$…`). Some of them, such as tombstones, are stored in the stream that they
 * concern.
 */
export function isSystemEvent(event: ServersEvent | AllStreamRecordedEvent): boolean {
  return event.type.startsWith('$');
}

/** Converts an event of the server. If its data or metadata is not JSON, the client returns them as text or bytes. */
export function toRecordedEvent(
  event: ServersEvent | AllStreamRecordedEvent,
  names: StreamNames,
): RecordedEvent {
  const { schema_version = 1, ...metadata } = asObject(event.metadata) as Partial<StoredMetadata>;
  const stored = {
    position: positionOf(event),
    stream: names.parse(event.streamId),
    revision: Number(event.revision),
    id: event.id,
    type: event.type,
    schema_version,
    data: event.data,
    metadata,
  };
  return recordedEvent(stored, event.created.toISOString());
}

/** Returns the commit position. Throws if the server sends none: stream reads contain it since EventStoreDB 22.6. */
export function positionOf(event: ServersEvent | AllStreamRecordedEvent): Position {
  const commit = event.position?.commit;
  if (commit === undefined || commit >= NO_POSITION)
    throw new Error(`event ${event.id} has no position: use EventStoreDB 22.6 or later`);
  return commit;
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array) ? value : {};
}
