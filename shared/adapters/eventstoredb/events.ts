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
  private readonly namespace: string;

  constructor(namespace: string, realm: string) {
    this.namespace = namespace;
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

/** An event with its data and metadata as JSON in UTF-8, as the server stores it. */
export interface EventBytes {
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

const utf8 = new TextEncoder();

/**
 * Serialises the event at the time of the call, so that later changes of the object have no effect. Throws if the data
 * cannot be JSON.
 */
export function toBytes({ id, type, schema_version, data, metadata }: EncodedEvent): EventBytes {
  const stored: StoredMetadata = { ...metadata, schema_version };
  return {
    id,
    type,
    data: utf8.encode(JSON.stringify(data)),
    metadata: utf8.encode(JSON.stringify(stored)),
  };
}

/** Converts to the input of the client's `appendToStream`, which serialises the data itself. */
export function toEventData({ id, type, data, metadata }: EventBytes): EventData {
  return jsonEvent({ id, type, data: parse(data), metadata: parse(metadata) } as JSONEventData);
}

function parse(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json).toString('utf8'));
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
