import type { QueryParameters } from './route';

/** Storefronts ask the same few questions all day: their texts are taken apart once. */
const REMEMBERED_MAX = 1_000;
const LENGTH_MAX = 512;

const NONE: QueryParameters = Object.freeze(Object.create(null));
const remembered = new Map<string, QueryParameters>();

/** Of a request's address; the same text gives the same object while it is remembered, for others to go by. */
export function queryParameters(url: string): QueryParameters {
  const mark = url.indexOf('?');
  if (mark === -1) return NONE;
  const text = url.slice(mark + 1);
  const known = remembered.get(text);
  const query = known ?? parse(text);
  if (text.length > LENGTH_MAX) return query;
  // Put in anew, so that the map is in the order of last use.
  if (known !== undefined) remembered.delete(text);
  remembered.set(text, query);
  if (remembered.size > REMEMBERED_MAX) remembered.delete(remembered.keys().next().value!);
  return query;
}

/** No prototype, for the names are the client's. */
function parse(text: string): QueryParameters {
  const parameters: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    parameters[name] ??= [];
    parameters[name].push(value);
  }
  for (const values of Object.values(parameters)) Object.freeze(values);
  return Object.freeze(parameters);
}
