import { type DomainEvent, decodeEvent, decodeIfReadable } from '../catalog/events/codec';
import { isCorrection } from '../catalog/events/correction';
import type { RecordedEvent, StreamName } from '../catalog/events/envelope';
import type { EventStore } from './event-store';

type Log = Pick<EventStore, 'readStream'>;

/**
 * Returns the events as they are to be read: one that cannot be decoded with the content of its correction, if its stream
 * has one (docs/operations/failures.md#unreadable-events). Reads the stream only then, so that all other events cost
 * nothing. `decode` may remember what it returns.
 */
export async function withCorrections(
  log: Log,
  recorded: readonly RecordedEvent[],
  decode: (event: RecordedEvent) => unknown = decodeIfReadable,
): Promise<readonly RecordedEvent[]> {
  const corrected = new Map<RecordedEvent, RecordedEvent>();
  for (const event of recorded)
    if (!isCorrection(event) && !decode(event)) corrected.set(event, await correctedEvent(log, event));
  return corrected.size === 0 ? recorded : recorded.map((event) => corrected.get(event) ?? event);
}

/** Reads events of a stream, with corrections. */
export async function readCorrected(
  log: Log,
  stream: StreamName,
  from: number,
  count: number,
): Promise<readonly RecordedEvent[]> {
  return withCorrections(log, await log.readStream(stream, from, count));
}

async function correctedEvent(log: Log, event: RecordedEvent): Promise<RecordedEvent> {
  const later = await log.readStream(event.stream, event.revision + 1);
  const found = later.findLast((each) => isCorrection(each) && each.data.revision === event.revision);
  if (!found) return event;
  const { type, schema_version, data } = (decodeEvent(found) as Correction).data;
  // The metadata of a damaged event do not name its store.
  const { partition_key } = found.metadata;
  return { ...event, type, schema_version, data, metadata: { ...event.metadata, partition_key } };
}

type Correction = Extract<DomainEvent, { type: 'EventSuperseded' }>;
