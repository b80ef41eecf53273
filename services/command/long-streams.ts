import type { StreamName } from '../../shared/catalog/events/envelope';
import type { EventStore } from '../../shared/ports/event-store';

/** A shorter stream is as quickly read as remembered. */
const REVISIONS_MIN = 64;
const STREAMS_MAX = 5_000;

/** Per log, what long streams added up to when they were read last, the one used last at the end. */
const remembered = new WeakMap<EventStore, Map<StreamName, { readonly revision: number }>>();

/**
 * What the stream added up to up to some revision, where it is long: a popular publication gathers an event of views
 * per interval, and none of them changes what came before. The caller reads on from there; streams only ever grow.
 */
export function recall<Folded extends { readonly revision: number }>(
  events: EventStore,
  stream: StreamName,
): Folded | undefined {
  return remembered.get(events)?.get(stream) as Folded | undefined;
}

/** `folded` must never be changed. */
export function remember(
  events: EventStore,
  stream: StreamName,
  folded: { readonly revision: number },
): void {
  if (folded.revision < REVISIONS_MIN) return;
  const streams = remembered.get(events) ?? new Map<StreamName, { readonly revision: number }>();
  remembered.set(events, streams);
  streams.delete(stream);
  streams.set(stream, folded);
  if (streams.size > STREAMS_MAX) streams.delete(streams.keys().next().value!);
}
