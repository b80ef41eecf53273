import type { JsonObject, JsonValue } from './events/envelope';

/** An object as its JSON text: what is stored as it is answered need not be taken apart in between. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** For who writes what it stands in as JSON by other means. */
  toJSON(): JsonObject {
    return JSON.parse(this.text) as JsonObject;
  }
}

/** What an answer is made of: texts stand in its lists, at most `DEPTH_MAX` levels down. */
export type Presentable = JsonText | JsonValue | Presentable[] | { readonly [name: string]: Presentable };

const DEPTH_MAX = 2;

/** The same as `JSON.stringify`, with the texts put in as they are. */
export function writeJson(value: Presentable, depth = DEPTH_MAX): string {
  if (value instanceof JsonText) return value.text;
  if (!holdsText(value, depth)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => writeJson(item, depth - 1)).join(',')}]`;
  const fields = Object.entries(value as { readonly [name: string]: Presentable });
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${writeJson(field, depth - 1)}`).join(',')}}`;
}

function holdsText(value: Presentable, depth: number): boolean {
  if (value instanceof JsonText) return true;
  if (depth === 0 || typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((inner) => holdsText(inner, depth - 1));
}
