import { type DomainEvent, decodeEvent } from '../../shared/catalog/events/codec';
import { isCorrection } from '../../shared/catalog/events/correction';
import { type Category, parseStreamName, type RecordedEvent } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import { hasUnknownOwner, withCorrections } from '../../shared/ports/corrections';
import type { EventStore } from '../../shared/ports/event-store';

/** A decoded event, with the parts of its stream's name. */
export interface Decoded {
  readonly category: Category;
  /** The aggregate's id. */
  readonly id: string;
  readonly event: DomainEvent;
  readonly realm: Realm;
}

const cache = new WeakMap<RecordedEvent, Decoded | Error>();

/**
 * Decodes an event. Throws if the event cannot be decoded. Caches the result, because several view versions fold the
 * same event.
 */
export function decoded(recorded: RecordedEvent): Decoded {
  let result = cache.get(recorded);
  if (!result) {
    result = tryDecode(recorded);
    cache.set(recorded, result);
  }
  if (result instanceof Error) throw result;
  return result;
}

/** Decodes an event. Returns undefined if it cannot be decoded, or is a correction, which changes no document. */
export function decodedOrUndefined(recorded: RecordedEvent): Decoded | undefined {
  if (isCorrection(recorded)) return undefined;
  try {
    return decoded(recorded);
  } catch {
    return undefined;
  }
}

function tryDecode(recorded: RecordedEvent): Decoded | Error {
  try {
    const stream = parseStreamName(recorded.stream);
    if (!stream) return new Error(`${recorded.stream} is not a stream of this service`);
    const { category, id, realm } = stream;
    return { category, id, realm, event: decodeEvent(recorded) };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Returns the events of the log with the corrections of those that cannot be decoded. */
export const corrected = (
  log: EventStore,
  recorded: readonly RecordedEvent[],
): Promise<readonly RecordedEvent[]> => withCorrections(log, recorded, decodedOrUndefined);

/**
 * Does the same for events of one partition, except for an event whose metadata are damaged. That one was dispatched by the
 * name of its stream, so this may be another partition than that of its store. Only a rebuild folds it, in the right one.
 */
export async function correctedInPartition(
  log: EventStore,
  recorded: readonly RecordedEvent[],
): Promise<readonly RecordedEvent[]> {
  const found = await corrected(log, recorded);
  return found === recorded ? recorded : recorded.map((raw, n) => (hasUnknownOwner(raw) ? raw : found[n]!));
}
