import { hash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../catalog/events/envelope';
import { LRUCache } from '../../kernel/cache';
import type { SqliteConnection } from './connection';

export const SHARED_VALUES_SCHEMA =
  'CREATE TABLE shared_values (key TEXT PRIMARY KEY NOT NULL, json TEXT NOT NULL) STRICT, WITHOUT ROWID';

/** 128 bits in base64url. */
const KEY_LENGTH = 22;
/** The most values in memory. */
const CACHED_MAX = 1_000;

/** What a document contains instead of a shared value. */
interface Reference {
  readonly shared: string;
}

/**
 * Stores values that many documents contain alike, such as the listing of its publications, once. A value is found by the
 * hash of its JSON, so it never changes, and what was read may be cached for ever. Values that no document contains any
 * more stay until the next rebuild.
 */
export class SharedValues {
  private readonly connection: SqliteConnection;
  private readonly read = new LRUCache<string, JsonObject>({ max: CACHED_MAX });
  /** The references of values that documents in memory share. */
  private readonly references = new WeakMap<object, { reference: Reference; json: string }>();
  private stored_now = new Set<string>();

  constructor(connection: SqliteConnection) {
    this.connection = connection;
  }

  /** Forgets what was stored before: a transaction that was rolled back has stored nothing. */
  beginTransaction(): void {
    this.stored_now.clear();
  }

  /** Replaces the value of each name by a reference. Must run in the transaction that writes the document. */
  replace(names: readonly string[], parts: JsonObject): JsonObject {
    const replaced = { ...parts };
    for (const name of names) {
      const value = parts[name];
      if (isObject(value)) replaced[name] = this.store(value);
    }
    return replaced;
  }

  private store(value: JsonObject): JsonObject {
    let known = this.references.get(value);
    if (!known) {
      const json = JSON.stringify(value);
      known = { json, reference: { shared: hash('sha256', json, 'base64url').slice(0, KEY_LENGTH) } };
      this.references.set(value, known);
    }
    const { shared } = known.reference;
    if (!this.stored_now.has(shared)) {
      this.connection.run('INSERT OR IGNORE INTO shared_values (key, json) VALUES (?, ?)', [
        shared,
        known.json,
      ]);
      this.stored_now.add(shared);
    }
    return { shared };
  }

  /** Replaces each reference by its value. */
  restore(names: readonly string[], parts: JsonObject): JsonObject {
    for (const name of names) {
      const value = parts[name];
      if (isObject(value) && typeof value.shared === 'string') parts[name] = this.valueOf(value.shared);
    }
    return parts;
  }

  private valueOf(key: string): JsonObject {
    const cached = this.read.get(key);
    if (cached) return cached;
    const json = this.connection.value('SELECT json FROM shared_values WHERE key = ?', [key]);
    if (json === undefined) throw new Error(`the shared value ${key} is missing`);
    const value = JSON.parse(String(json)) as JsonObject;
    this.read.set(key, value);
    return value;
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
