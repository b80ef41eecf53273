import { randomUUID } from 'node:crypto';
import {
  type EncodedEvent,
  type JsonObject,
  type StreamName,
  streamName,
} from '../../shared/catalog/events/envelope';
import type { ActiveView } from '../../shared/ports/document-reader';

/** The view of a service that has projected nothing: no API key has a name. */
export const NO_KEYS = { current: async () => undefined } as unknown as ActiveView;

/** Returns the name of a stream without events. */
export const aStream = (): StreamName => streamName('live', 'publication', randomUUID());

/** Returns an encoded event without meaning. */
export function anEvent(data: JsonObject = {}, id: string = randomUUID()): EncodedEvent {
  return {
    id,
    type: 'something_happened',
    schema_version: 1,
    data,
    metadata: { occurred_at: '2026-01-31T12:00:00.000Z', partition_key: 'a-store', source: 'system' },
  };
}

export function someEvents(count: number, data: JsonObject = {}): EncodedEvent[] {
  return Array.from({ length: count }, (_, n) => anEvent({ ...data, n }));
}
