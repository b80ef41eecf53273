import { type DomainEvent, decodeEvent, decodeIfReadable } from '../catalog/events/codec';
import { isCorrection } from '../catalog/events/correction';
import type { RecordedEvent, StreamName } from '../catalog/events/envelope';
import type { EventStore } from './event-store';

type Log = Pick<EventStore, 'readStream'>;
type Correction = Extract<DomainEvent, { type: 'EventSuperseded' }>;

/** Whether the metadata of the event are damaged, too, so that its partition key does not name its store. */
export const hasUnknownOwner = ({ stream, metadata }: RecordedEvent): boolean =>
  metadata.partition_key === stream;

/**
 * Replaces events that cannot be decoded by the content of their corrections
 * (docs/operations/failures.md#unreadable-events). An event whose stream has no correction of it stays as it is.
 * Reads a stream only if one of its events cannot be decoded, and once, so that all other events cost nothing.
 * `decode` may remember what it returns.
 */
export async function withCorrections(
  log: Log,
  recorded: readonly RecordedEvent[],
  decode: (event: RecordedEvent) => unknown = decodeIfReadable,
): Promise<readonly RecordedEvent[]> {
  const streams = new Map<StreamName, readonly RecordedEvent[]>();
  const corrected = new Map<RecordedEvent, RecordedEvent>();
  for (const event of recorded) {
    if (isCorrection(event) || decode(event)) continue;
    const { stream, revision } = event;
    // Reads the event before, too: its time is used if the metadata of this event are damaged.
    const around = streams.get(stream) ?? (await log.readStream(stream, Math.max(0, revision - 1)));
    streams.set(stream, around);
    const found = correctionOf(around, revision);
    if (found) corrected.set(event, correctedEvent(event, found, around));
  }
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

/**
 * Returns the correction of a revision. An event has one correction at most, because results that were computed with
 * the correction may be stored.
 */
export const correctionOf = (
  recorded: readonly RecordedEvent[],
  revision: number,
): RecordedEvent | undefined =>
  recorded.find((each) => isCorrection(each) && each.data.revision === revision && decodeIfReadable(each));

function correctedEvent(
  event: RecordedEvent,
  found: RecordedEvent,
  around: readonly RecordedEvent[],
): RecordedEvent {
  const { type, schema_version, data } = (decodeEvent(found) as Correction).data;
  if (!hasUnknownOwner(event)) return { ...event, type, schema_version, data };
  const neighbour = around.find(({ revision }) => revision < event.revision) ?? found;
  const { occurred_at } = neighbour.metadata;
  const { partition_key } = found.metadata;
  return {
    ...event,
    type,
    schema_version,
    data,
    metadata: { ...event.metadata, partition_key, occurred_at },
  };
}
