import { type DomainEvent, decodeEvent } from '../../shared/catalog/events/codec';
import { type Category, parseStreamName, type RecordedEvent } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';

export interface Decoded {
  readonly category: Category;
  /** Of the stream: the aggregate's id. */
  readonly id: string;
  readonly event: DomainEvent;
  readonly realm: Realm;
}

const known = new WeakMap<RecordedEvent, Decoded | Error>();

/** Several versions fold the same event: it is decoded once. Throws where the event cannot be read. */
export function decoded(recorded: RecordedEvent): Decoded {
  let result = known.get(recorded);
  if (!result) {
    result = tryDecode(recorded);
    known.set(recorded, result);
  }
  if (result instanceof Error) throw result;
  return result;
}

/** Undefined where the event cannot be read. */
export function decodedOrNothing(recorded: RecordedEvent): Decoded | undefined {
  try {
    return decoded(recorded);
  } catch {
    return undefined;
  }
}

function tryDecode(recorded: RecordedEvent): Decoded | Error {
  try {
    const stream = parseStreamName(recorded.stream);
    if (!stream) return new Error(`${recorded.stream} is no stream of this service`);
    const { category, id, realm } = stream;
    return { category, id, realm, event: decodeEvent(recorded) };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
