import type { Key } from '../../catalog/documents';
import type { StoredCollection } from '../stored-collections';
import type { SqliteConnection } from './connection';

/*
 * The JSON of most bodies of a collection begins and ends alike, except for the id and keys, which have columns of their
 * own (`CollectionSpec.frames`). Such a body is stored without its head and tail, behind a control character that names the
 * frame. JSON contains no control characters. The file contains the frames that its documents were stored with, so that a
 * later release can read them.
 */

export const FRAMES_TABLE = 'frames';

/** Returns the DDL of the frames of a new file. */
export function framesSchema(collections: readonly StoredCollection[]): string {
  const rows = collections.flatMap(({ name, spec }) =>
    (spec.frames ?? []).map((frame, index) => [name, index + 1, ...frame].map(quoted).join(', ')),
  );
  return `CREATE TABLE ${FRAMES_TABLE} (collection TEXT NOT NULL, code INTEGER NOT NULL, head TEXT NOT NULL,
      tail TEXT NOT NULL, PRIMARY KEY (collection, code)) STRICT, WITHOUT ROWID;
    INSERT INTO ${FRAMES_TABLE} VALUES ${rows.map((row) => `(${row})`).join(', ')}`;
}

const quoted = (value: string | number): string =>
  typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;

/** Reads the frames of a file by collection. */
export function readFrames(connection: Pick<SqliteConnection, 'all'>): ReadonlyMap<string, Frames> {
  const rows = connection.all(`SELECT collection, head, tail FROM ${FRAMES_TABLE} ORDER BY collection, code`);
  const frames = new Map<string, Frame[]>();
  for (const [name, head, tail] of rows) {
    const collection = String(name);
    frames.set(collection, [
      ...(frames.get(collection) ?? []),
      { head: toTemplate(String(head)), tail: toTemplate(String(tail)) },
    ]);
  }
  return new Map([...frames].map(([collection, all]) => [collection, new Frames(all)]));
}

/** The texts between the placeholders, and the names of these. */
interface Template {
  readonly first: string;
  readonly others: readonly { readonly name: string; readonly text: string }[];
}

interface Frame {
  readonly head: Template;
  readonly tail: Template;
}

const PLACEHOLDER = /\{(\w+)\}/;

function toTemplate(text: string): Template {
  const [first = '', ...rest] = text.split(PLACEHOLDER);
  const others = [];
  for (let index = 0; index < rest.length; index += 2)
    others.push({ name: rest[index]!, text: rest[index + 1]! });
  return { first, others };
}

type Keys = Readonly<Record<string, Key>>;

/** The first character that is no control character. */
const SPACE = 0x20;

/** The frames of the bodies of one collection. */
export class Frames {
  private readonly frames: readonly Frame[];

  constructor(frames: readonly Frame[]) {
    this.frames = frames;
  }

  /** Returns the JSON without the first frame that fits. */
  remove(json: string, id: string, keys: Keys): string {
    for (const [index, frame] of this.frames.entries()) {
      const head = filled(frame.head, id, keys);
      const tail = filled(frame.tail, id, keys);
      if (json.length >= head.length + tail.length && json.startsWith(head) && json.endsWith(tail))
        return String.fromCharCode(index + 1) + json.slice(head.length, json.length - tail.length);
    }
    return json;
  }

  /** Returns the JSON that `remove` was called with. */
  restore(stored: string, id: string, keys: Keys): string {
    const code = stored.charCodeAt(0);
    if (code >= SPACE) return stored;
    const { head, tail } = this.frames[code - 1]!;
    return filled(head, id, keys) + stored.slice(1) + filled(tail, id, keys);
  }
}

/** Fills in `null` for a key without a value, in `remove` and in `restore` alike. */
function filled({ first, others }: Template, id: string, keys: Keys): string {
  let filled = first;
  for (const { name, text } of others) {
    const value = name === 'id' ? id : keys[name];
    if (value === undefined) throw new Error(`the body was stored with the key ${name}, which is missing`);
    filled += value + text;
  }
  return filled;
}
