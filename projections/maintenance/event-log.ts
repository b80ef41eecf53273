import { decodeEvent } from '../../shared/catalog/events/codec';
import type { JsonObject, Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { correctionOf } from '../../shared/ports/corrections';
import type { EventStore } from '../../shared/ports/event-store';
import type { DeadLetter, ViewStore } from '../../shared/ports/view-store';
import { deadLetters } from './dead-letters';

/** Which events are wanted. A condition that is missing matches every event. */
export interface WantedEvents {
  readonly store?: string;
  readonly type?: readonly string[];
  /** Earliest `occurred_at`. */
  readonly since?: string;
}

export function isWanted({ type, metadata }: RecordedEvent, wanted: WantedEvents): boolean {
  return (
    (!wanted.store || metadata.partition_key === wanted.store) &&
    (!wanted.type || wanted.type.includes(type)) &&
    (!wanted.since || metadata.occurred_at >= wanted.since)
  );
}

const PAGE_EVENTS = 256;

interface Search {
  /** Where to begin. Default: at the end of the log. */
  readonly before?: Position | undefined;
  /** After how many events, wanted or not, to give up. Default: never. */
  readonly examined_max?: number;
}

/**
 * Returns the newest wanted events of a log, newest first and at most `count`. `before` is where to go on to find older
 * ones. It is undefined at the beginning of the log.
 */
export async function newestEvents(
  log: EventStore,
  wanted: WantedEvents,
  count: number,
  { before, examined_max = Number.POSITIVE_INFINITY }: Search = {},
): Promise<{ events: RecordedEvent[]; before: Position | undefined }> {
  const events: RecordedEvent[] = [];
  let next = before;
  for (let examined = 0; events.length < count && examined < examined_max; ) {
    const page = await log.readBackwards(PAGE_EVENTS, next);
    if (page.length === 0) return { events, before: undefined };
    for (const event of page) {
      if (events.length === count) break;
      if (isWanted(event, wanted)) events.push(event);
      next = event.position;
    }
    examined += page.length;
  }
  return { events, before: next };
}

/** An event as this release reads it. If it cannot be read, `data` is as stored, and `error` says why, and what corrects it. */
export interface ShownEvent extends RecordedEvent {
  readonly error?: string;
}

/** Returns the events of a stream from revision `from` on, at most `count`, and its dead letter. */
export async function showStream(
  { events, views }: { readonly events: EventStore; readonly views: ViewStore },
  stream: StreamName,
  from?: number,
  count?: number,
): Promise<{ events: ShownEvent[]; dead_letter: DeadLetter | null }> {
  const recorded = await events.readStream(stream, from, count);
  const [dead_letter = null] = (await deadLetters({ views })).filter((each) => each.stream === stream);
  return { events: recorded.map((event) => ({ ...event, ...readable(event, recorded) })), dead_letter };
}

function readable(
  event: RecordedEvent,
  recorded: readonly RecordedEvent[],
): { data: JsonObject; error?: string } {
  try {
    return { data: decodeEvent(event).data as JsonObject };
  } catch (error) {
    const { message } = error as Error;
    const correction = correctionOf(recorded, event.revision);
    const note = correction ? ` (corrected by event ${correction.revision})` : '';
    return { data: event.data, error: message + note };
  }
}
