import type { SqliteConnection, SqlValue } from './connection';

export const NUMBERED_TEXTS_SCHEMA =
  'CREATE TABLE numbered_texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT';

/** The most texts in memory, in either direction. A map is faster than a cache that notes each use. */
const CACHED_MAX = 10_000;

/** What a condition compares with if its text has no number, so that it matches no row. */
const NO_NUMBER = -1;

/**
 * Numbers the values of keys that many documents have alike, such as the id of their store. A row and each of its index
 * entries then have a number instead of the text. A number is never given to another text, so what was read may be cached
 * for ever. Texts that no document has any more stay until the next rebuild.
 */
export class NumberedTexts {
  private readonly connection: SqliteConnection;
  private readonly numbers = new Map<string, number>();
  private readonly texts = new Map<SqlValue, string>();
  /** The numbers that the transaction has read or given. They count for the others only if it commits. */
  private readonly used_now = new Map<string, number>();

  constructor(connection: SqliteConnection) {
    this.connection = connection;
  }

  beginTransaction(): void {
    this.used_now.clear();
  }

  /** Returns the number of a text, and gives it one if it has none. Must run in the transaction that writes the document. */
  give(text: string): number {
    const known = this.numbers.get(text) ?? this.used_now.get(text);
    if (known !== undefined) return known;
    const number = this.read(text) ?? this.add(text);
    this.used_now.set(text, number);
    return number;
  }

  /** Returns the number that a condition compares with. */
  numberOf(text: string): number {
    const known = this.numbers.get(text) ?? this.read(text);
    if (known === undefined) return NO_NUMBER;
    return remember(this.numbers, text, known);
  }

  textOf(number: SqlValue): string {
    const cached = this.texts.get(number);
    if (cached !== undefined) return cached;
    const text = this.connection.value('SELECT text FROM numbered_texts WHERE number = ?', [number]);
    if (text === undefined) throw new Error(`the text with the number ${number} is missing`);
    return remember(this.texts, number, String(text));
  }

  private read(text: string): number | undefined {
    const number = this.connection.value('SELECT number FROM numbered_texts WHERE text = ?', [text]);
    return number === undefined ? undefined : Number(number);
  }

  private add(text: string): number {
    const sql = 'INSERT INTO numbered_texts (text) VALUES (?)';
    return Number(this.connection.run(sql, [text]).lastInsertRowid);
  }
}

function remember<Name, Value>(map: Map<Name, Value>, name: Name, value: Value): Value {
  if (map.size >= CACHED_MAX) map.clear();
  map.set(name, value);
  return value;
}
