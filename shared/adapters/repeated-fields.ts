import type { CollectionSpec, ViewDocument } from '../catalog/documents';
import type { JsonObject, JsonValue } from '../catalog/events/envelope';

/*
 * The aggregate in the state of a document has mostly the same fields as its body (`CollectionSpec.repeats`). They are
 * stored once: a field of the aggregate that has the value of the body, or else of the keys, is left out.
 */

type Repeats = CollectionSpec['repeats'];
type Shown = Pick<ViewDocument, 'keys' | 'body'>;

/** Returns the value that a field has if it is left out. */
function shownValue({ keys, body }: Shown, field: string): JsonValue {
  return body[field] ?? keys[field] ?? null;
}

/**
 * Returns the state without the fields that the body or the keys repeat. The aggregate is then in an array. An aggregate
 * without one of the fields stays as it is, because it could not be restored.
 */
export function withoutRepeated(repeats: Repeats, document: ViewDocument): JsonObject {
  const aggregate = repeats && (document.state[repeats.aggregate] as JsonObject | null | undefined);
  if (!aggregate || !repeats.fields.every((field) => Object.hasOwn(aggregate, field))) return document.state;
  const stored: Record<string, JsonValue> = {};
  for (const [field, value] of Object.entries(aggregate))
    if (!repeats.fields.includes(field) || !isEqual(value, shownValue(document, field)))
      stored[field] = value;
  return { ...document.state, [repeats.aggregate]: [stored] };
}

/** Returns the state with the fields that `withoutRepeated` has left out. */
export function withRepeated(repeats: Repeats, state: JsonObject, shown: Shown): JsonObject {
  const wrapped = repeats && state[repeats.aggregate];
  if (!Array.isArray(wrapped)) return state;
  const aggregate: Record<string, JsonValue> = { ...(wrapped[0] as JsonObject) };
  for (const field of repeats!.fields)
    if (!Object.hasOwn(aggregate, field)) aggregate[field] = shownValue(shown, field);
  return { ...state, [repeats!.aggregate]: aggregate };
}

function isEqual(a: JsonValue, b: JsonValue): boolean {
  return a === b || (typeof a === 'object' && a !== null && JSON.stringify(a) === JSON.stringify(b));
}
