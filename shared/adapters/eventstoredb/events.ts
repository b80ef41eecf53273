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

/** Above what a log can reach: the server's way to say that it does not know. */
const NO_POSITION = 2n ** 63n;

/** What is stored in an event's metadata: ours, and the version of its data. */
type StoredMetadata = EventMetadata & { readonly schema_version: number };

/**
 * How streams of one realm are called on the server: `<namespace>live.publication-<id>`. A namespace lets several
 * catalogs share a server; empty by default.
 */
export class StreamNames {
  /** All streams of the realm, and no other, begin with it. */
  readonly prefix: string;
  private readonly namespace: string;

  constructor(namespace: string, realm: string) {
    this.namespace = namespace;
    this.prefix = `${namespace}${realm}.`;
  }

  stored(stream: StreamName): string {
    return `${this.namespace}${stream}`;
  }

  given(stored: string): StreamName {
    return stored.slice(this.namespace.length) as StreamName;
  }
}

/** An event as it is stored: its data and its metadata are JSON in UTF-8. */
export interface EventBytes {
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

const utf8 = new TextEncoder();

/** As it is at this moment. Throws where the data is no JSON. */
export function toBytes({ id, type, schema_version, data, metadata }: EncodedEvent): EventBytes {
  const stored: StoredMetadata = { ...metadata, schema_version };
  return {
    id,
    type,
    data: utf8.encode(JSON.stringify(data)),
    metadata: utf8.encode(JSON.stringify(stored)),
  };
}

/** For the client's own append, which makes JSON of it again. */
export function toEventData({ id, type, data, metadata }: EventBytes): EventData {
  return jsonEvent({ id, type, data: parse(data), metadata: parse(metadata) } as JSONEventData);
}

function parse(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json).toString('utf8'));
}

/** The server's own marks, such as a stream's tombstone, stand in the streams that they are about. */
export function isServersOwn(event: ServersEvent | AllStreamRecordedEvent): boolean {
  return event.type.startsWith('$');
}

/** What the client could not parse comes as text or bytes. */
export function toRecordedEvent(
  event: ServersEvent | AllStreamRecordedEvent,
  names: StreamNames,
): RecordedEvent {
  const { schema_version = 1, ...metadata } = asObject(event.metadata) as Partial<StoredMetadata>;
  const kept = {
    position: positionOf(event),
    stream: names.given(event.streamId),
    revision: Number(event.revision),
    id: event.id,
    type: event.type,
    schema_version,
    data: event.data,
    metadata,
  };
  return recordedEvent(kept, event.created.toISOString());
}

/** Throws where the server gives none: stream reads have it since 22.6. */
export function positionOf(event: ServersEvent | AllStreamRecordedEvent): Position {
  const commit = event.position?.commit;
  if (commit === undefined || commit >= NO_POSITION)
    throw new Error(`no position with event ${event.id}: EventStoreDB 22.6 or later is needed`);
  return commit;
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array) ? value : {};
}
