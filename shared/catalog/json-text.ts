import type { JsonObject, JsonValue } from './events/envelope';

/**
 * An object in its serialised form. A document's body is stored as the JSON that responses contain, so most reads send
 * the text without parsing it.
 */
export class JsonText {
  constructor(readonly text: string) {}

  /** Parses the text. `JSON.stringify` calls this, so it also accepts values that contain a `JsonText`. */
  toJSON(): JsonObject {
    return JSON.parse(this.text) as JsonObject;
  }
}

/**
 * A value that a response contains. `writeJson` finds a `JsonText` at most `DEPTH_MAX` levels deep, which covers lists.
 */
export type Presentable = JsonText | JsonValue | Presentable[] | { readonly [name: string]: Presentable };

const DEPTH_MAX = 2;

/** Serialises a value like `JSON.stringify`, but copies each `JsonText` without parsing it. */
export function writeJson(value: Presentable): string {
  return jsonPieces(value).join('');
}

/** Returns what `writeJson` does in pieces, which end where a `JsonText` begins or ends. */
export function jsonPieces(value: Presentable, pieces: string[] = [], depth = DEPTH_MAX): string[] {
  if (value instanceof JsonText) pieces.push(value.text);
  else if (!containsText(value, depth)) pieces.push(JSON.stringify(value));
  else {
    const is_array = Array.isArray(value);
    let before = is_array ? '[' : '{';
    for (const [name, field] of Object.entries(value as { readonly [name: string]: Presentable })) {
      pieces.push(is_array ? before : `${before}${JSON.stringify(name)}:`);
      jsonPieces(field, pieces, depth - 1);
      before = ',';
    }
    pieces.push(is_array ? ']' : '}');
  }
  return pieces;
}

function containsText(value: Presentable, depth: number): boolean {
  if (value instanceof JsonText) return true;
  if (depth === 0 || typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((inner) => containsText(inner, depth - 1));
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
