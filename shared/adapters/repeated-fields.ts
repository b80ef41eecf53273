import type { CollectionSpec, ViewDocument } from '../catalog/documents';
import type { JsonObject, JsonValue } from '../catalog/events/envelope';

/*
 * The aggregate in the state of a document has mostly the same fields as its body, and most documents have the same counts
 * (`CollectionSpec.repeats`). Such values are left out, and restored when the document is read.
 */

type Repeats = NonNullable<CollectionSpec['repeats']>;
type Shown = Pick<ViewDocument, 'keys' | 'body'>;

/**
 * Returns the values that the fields of the aggregate have if they are left out: that of the body, else the default, else
 * the key of that name, else null.
 */
function aggregateDefaults(repeats: Repeats, { keys, body }: Shown): JsonObject {
  const { fields, optional_fields, aggregate_defaults } = repeats;
  const values: Record<string, JsonValue> = { ...aggregate_defaults };
  for (const field of fields)
    values[field] = body[field] ?? (Object.hasOwn(values, field) ? values[field]! : (keys[field] ?? null));
  for (const field of optional_fields) if (body[field] !== undefined) values[field] = body[field];
  return values;
}

/**
 * Returns the state without the values that `withRepeated` restores. The aggregate is then in an array. A state without
 * one of these values stays as it is, because it could not be restored.
 */
export function withoutRepeated(repeats: Repeats | undefined, document: ViewDocument): JsonObject {
  const { state } = document;
  const aggregate = repeats && (state[repeats.aggregate] as JsonObject | null | undefined);
  if (!aggregate) return state;
  const defaults = aggregateDefaults(repeats, document);
  if (!hasAll(aggregate, defaults) || !hasAll(state, repeats.state_defaults)) return state;
  return {
    ...without(state, repeats.state_defaults),
    [repeats.aggregate]: [without(aggregate, defaults)],
  };
}

/** Returns the state with the values that `withoutRepeated` has left out. */
export function withRepeated(repeats: Repeats | undefined, state: JsonObject, shown: Shown): JsonObject {
  const wrapped = repeats && state[repeats.aggregate];
  if (!Array.isArray(wrapped)) return state;
  const aggregate = Object.assign(aggregateDefaults(repeats!, shown), wrapped[0] as JsonObject);
  return { ...repeats!.state_defaults, ...state, [repeats!.aggregate]: aggregate };
}

function hasAll(values: JsonObject, names: JsonObject): boolean {
  for (const name in names) if (!Object.hasOwn(values, name)) return false;
  return true;
}

function without(values: JsonObject, defaults: JsonObject): JsonObject {
  const kept: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(values))
    if (!Object.hasOwn(defaults, name) || !isEqual(value, defaults[name]!)) kept[name] = value;
  return kept;
}

function isEqual(a: JsonValue, b: JsonValue): boolean {
  return a === b || (typeof a === 'object' && a !== null && JSON.stringify(a) === JSON.stringify(b));
}
