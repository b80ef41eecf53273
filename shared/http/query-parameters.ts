import { isUtf8 } from 'node:buffer';
import { LRUCache } from '../kernel/cache';
import type { QueryParameters } from './route';

/** Storefronts ask the same few questions all day: their texts are taken apart once. */
const REMEMBERED_MAX = 1_000;
const LENGTH_MAX = 512;

const NONE: QueryParameters = Object.freeze(Object.create(null));
const remembered = new LRUCache<string, QueryParameters>({ max: REMEMBERED_MAX });

/** Of a request's address; the same text gives the same object while it is remembered, for others to go by. */
export function queryParameters(url: string): QueryParameters {
  const mark = url.indexOf('?');
  if (mark === -1) return NONE;
  const text = url.slice(mark + 1);
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const query = parse(text);
  if (text.length <= LENGTH_MAX) remembered.set(text, query);
  return query;
}

const garbled = new WeakMap<QueryParameters, ReadonlySet<string>>();

/** Whether some value of the parameter was percent-encoded bytes that are no UTF-8, and so is not what was meant. */
export function isGarbled(query: QueryParameters, name: string): boolean {
  return garbled.get(query)?.has(name) ?? false;
}

/** No prototype, for the names are the client's. */
function parse(text: string): QueryParameters {
  const parameters: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    parameters[name] ??= [];
    parameters[name].push(value);
  }
  for (const values of Object.values(parameters)) Object.freeze(values);
  const query = Object.freeze(parameters);
  const names = garbledIn(text);
  if (names.size > 0) garbled.set(query, names);
  return query;
}

/** The parser puts replacement characters in silence where the bytes are no text. */
function garbledIn(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  if (!/%[89a-f]/i.test(text)) return names;
  for (const pair of text.split('&'))
    if (!isUtf8(bytesOf(pair))) for (const [name] of new URLSearchParams(pair)) names.add(name);
  return names;
}

/** An address is ASCII, so that whatever else is in it is percent-encoded (RFC 3986 §2.1). */
function bytesOf(pair: string): Buffer {
  const decoded = pair.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
}
