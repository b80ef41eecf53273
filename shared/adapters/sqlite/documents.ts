import {
  COLLECTION_NAMES,
  type CollectionName,
  type CollectionSpec,
  collections,
  type Key,
  type StoredDocument,
} from '../../catalog/documents';
import type { JsonObject } from '../../catalog/events/envelope';
import { JsonText } from '../../catalog/json-text';
import { TextDocument } from '../../catalog/text-document';
import { ALL_PARTS, type DocumentPart, type StoredPart } from '../../ports/view-store';
import type { SqlRow, SqlValue } from './connection';
import { fromWordsColumn, wordColumns } from './words';

/**
 * A collection's table: `id, position, key_<key>…, exact_keys, body, state, expansions`, and `words_scope, words`
 * where it is searched; a tombstone has but the first two.
 */
export interface Table {
  readonly name: CollectionName;
  readonly spec: CollectionSpec;
  readonly keys: readonly string[];
  /** Of the keys, in their order. */
  readonly columns: readonly string[];
  /** Columns of keys that some index holds: an update that assigns none of them leaves all indexes alone. */
  readonly indexed: readonly string[];
}

export const tables = Object.fromEntries(COLLECTION_NAMES.map((name) => [name, toTable(name)])) as Readonly<
  Record<CollectionName, Table>
>;

function toTable(name: CollectionName): Table {
  const spec: CollectionSpec = collections[name];
  const keys = Object.keys(spec.keys);
  const parts = [...spec.indexes, spec.unique ?? []].flat().map(toPart);
  const indexed = keys.filter((key) => parts.some((part) => part.key === key)).map(keyColumn);
  return { name, spec, keys, columns: keys.map(keyColumn), indexed };
}

function toPart(part: string): { key: string; direction: 'ASC' | 'DESC' } {
  return part.startsWith('-') ? { key: part.slice(1), direction: 'DESC' } : { key: part, direction: 'ASC' };
}

/** Keys have a name space of their own: one of them may be called `position`. */
function keyColumn(key: string): string {
  return `key_${key}`;
}

/** A key's column, or the id's; throws where the collection declares no such key. */
export function column(table: Table, key: string): string {
  if (key !== 'id' && !Object.hasOwn(table.spec.keys, key))
    throw new Error(`${table.name} declares no key ${key}`);
  return key === 'id' ? 'id' : keyColumn(key);
}

/** Creates the tables of these collections. Keys stand first, so that a filter need not read past them. */
export function documentsSchema(names: readonly CollectionName[]): string {
  return names.map((name) => toDdl(tables[name])).join(';\n');
}

export const DOCUMENTS_SCHEMA = documentsSchema(COLLECTION_NAMES);

function toDdl(table: Table): string {
  const keys = Object.entries(table.spec.keys).map(
    ([key, kind]) => `${keyColumn(key)} ${kind.toUpperCase()},`,
  );
  return `CREATE TABLE ${table.name} (id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, ${keys.join(' ')}
     exact_keys TEXT, body TEXT, state TEXT, expansions TEXT${table.spec.words ? ', words_scope TEXT, words TEXT' : ''}) STRICT`;
}

export interface Index {
  readonly name: string;
  readonly table: Table;
  /** The first of the keys that it is sorted by. */
  readonly first: string;
  readonly ddl: string;
}

export const indexes: readonly Index[] = Object.values(tables).flatMap((table) => [
  ...table.spec.indexes.map((parts, index): Index => {
    const columns = parts.map(toPart).map(({ key, direction }) => `${column(table, key)} ${direction}`);
    const name = `${table.name}_${index}`;
    const ddl = `CREATE INDEX IF NOT EXISTS ${name} ON ${table.name} (${columns.join(', ')})`;
    return { name, table, first: toPart(parts[0]!).key, ddl };
  }),
  ...(table.spec.unique ?? []).map((key): Index => {
    const name = `${table.name}_${key}`;
    const ddl = `CREATE UNIQUE INDEX IF NOT EXISTS ${name} ON ${table.name} (${column(table, key)})`;
    return { name, table, first: key, ddl };
  }),
]);

/** The columns of a SELECT that `toDocuments` reads. */
export function selected(table: Table, parts: readonly DocumentPart[]): string {
  return partsOf(table, parts).columns;
}

interface Selection {
  readonly columns: string;
  /** Where each part stands among the columns; 0 where it was not asked for or is not there. */
  readonly places: Readonly<Record<StoredPart, number>>;
}

const selections = new Map<string, Selection>();

/** Made once for what is asked for again and again. */
function partsOf(table: Table, parts: readonly DocumentPart[]): Selection {
  const name = `${table.name} ${parts.join()}`;
  const known = selections.get(name);
  if (known) return known;
  const given = ALL_PARTS.filter(
    (part) => parts.includes(part) && (part !== 'words' || table.spec.words !== undefined),
  );
  const columns = ['id', 'position', ...table.keys.map(keyColumn), 'exact_keys', 'body', ...given];
  const place = (part: StoredPart): number => Math.max(0, columns.indexOf(part));
  const places = { state: place('state'), expansions: place('expansions'), words: place('words') };
  const selection = { columns: columns.map((column) => `d.${column}`).join(', '), places };
  selections.set(name, selection);
  return selection;
}

/** Reads rows of `selected(table, parts)`. Throws, with the document's name, where one is damaged. */
export function toDocuments(
  table: Table,
  parts: readonly DocumentPart[],
  rows: readonly SqlRow[],
): StoredDocument[] {
  const reading = { table, places: partsOf(table, parts).places, as_text: parts.includes('json') };
  return rows.map((row) => {
    try {
      return readDocument(reading, row);
    } catch (cause) {
      throw new Error(`the stored document ${table.name}/${row[0]} cannot be read`, { cause });
    }
  });
}

interface Reading extends Pick<Selection, 'places'> {
  readonly table: Table;
  readonly as_text: boolean;
}

function readDocument({ table, places, as_text }: Reading, row: SqlRow): StoredDocument {
  const first = 2 + table.keys.length;
  const exact_keys = row[first]!;
  const body = row[first + 1]!;
  const document = { id: String(row[0]), position: BigInt(row[1]!) };
  if (body === null) return { ...document, document: null };
  const part = (name: StoredPart): SqlValue => (places[name] === 0 ? null : row[places[name]]!);
  const words = part('words');
  const common = {
    keys: exact_keys === null ? keysOf(table, row) : (parse(exact_keys) as Record<string, Key>),
    state: parsePart(part('state')),
    expansions: parsePart(part('expansions')),
  };
  if (as_text && words === null)
    return { ...document, document: new TextDocument(common, new JsonText(String(body))) };
  const searched = words === null ? {} : { words: fromWordsColumn(words) };
  return { ...document, document: { ...common, body: parse(body), ...searched } };
}

function keysOf(table: Table, row: SqlRow): Record<string, Key> {
  const keys: Record<string, Key> = {};
  for (let index = 0; index < table.keys.length; index++) keys[table.keys[index]!] = row[2 + index]!;
  return keys;
}

const parsePart = (json: SqlValue): JsonObject => (json === null ? {} : parse(json));

const parse = (json: SqlValue): JsonObject => JSON.parse(String(json)) as JsonObject;

/** A document's values by column, all but its id. */
export type ColumnValues = Readonly<Record<string, SqlValue>>;

export function toColumns(table: Table, document: StoredDocument['document']): ColumnValues {
  if (document === null) {
    const nothing = [...table.keys.map(keyColumn), 'exact_keys', 'body', 'state', 'expansions'];
    const searched = table.spec.words ? ['words_scope', 'words'] : [];
    return Object.fromEntries([...nothing, ...searched].map((name) => [name, null]));
  }
  if (document.words && !table.spec.words) throw new Error(`${table.name} is not searched by words`);
  for (const key of Object.keys(document.keys)) column(table, key);
  const keys: Record<string, Key> = {};
  const values: Record<string, SqlValue> = {};
  let exact = true;
  for (const [index, key] of table.keys.entries()) {
    const value = checkedKey(table, key, document.keys[key] ?? null);
    keys[key] = value;
    values[table.columns[index]!] = value;
    exact &&= survivesColumn(value);
  }
  values.exact_keys = exact ? null : JSON.stringify(keys);
  values.body = JSON.stringify(document.body);
  values.state = JSON.stringify(document.state);
  values.expansions = JSON.stringify(document.expansions);
  return table.spec.words ? Object.assign(values, wordColumns(table.spec.words.scope, document)) : values;
}

function checkedKey(table: Table, key: string, value: Key): Key {
  const fits =
    value === null ||
    (table.spec.keys[key] === 'text' ? typeof value === 'string' : Number.isSafeInteger(value));
  if (fits) return value;
  throw new Error(`${table.name}.${key} is a key of kind ${table.spec.keys[key]}, not ${typeof value}`);
}

const LOST_IN_COLUMN = /[\0\p{Surrogate}]/u;

/** A text column comes back cut at a NUL and with half surrogate pairs replaced; JSON escapes both. */
function survivesColumn(value: Key): boolean {
  return typeof value !== 'string' || !LOST_IN_COLUMN.test(value);
}
