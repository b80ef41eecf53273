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
} from '../../contracts/envelope';
import { recordedEvent } from '../../contracts/kept-event';

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

/**
 * As it is at this moment: the client serialises later. Throws where the data is no JSON, which in the client would
 * leave the append open for ever.
 */
export function toEventData(event: EncodedEvent): EventData {
  const metadata: StoredMetadata = { ...event.metadata, schema_version: event.schema_version };
  const snapshot = JSON.parse(JSON.stringify({ data: event.data, metadata })) as Pick<
    EventData,
    'data' | 'metadata'
  >;
  return jsonEvent({ id: event.id, type: event.type, ...snapshot } as JSONEventData);
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
    ...{ position: positionOf(event), stream: names.given(event.streamId), revision: Number(event.revision) },
    ...{ id: event.id, type: event.type, schema_version, data: event.data, metadata },
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
