import { hash } from 'node:crypto';
import type { Key, StoredDocument, ViewDocument } from '../../catalog/documents';
import type { JsonObject } from '../../catalog/events/envelope';
import { JsonText } from '../../catalog/json-text';
import { compareByOrder, type SortOrder } from '../../catalog/sorting';
import { TextDocument } from '../../catalog/text-document';
import { LRUCache } from '../../kernel/cache';
import {
  ALL_PARTS,
  type DocumentPart,
  type DocumentWrite,
  type KeyCondition,
  type StoredPart,
  type ViewQuery,
} from '../../ports/view-store';
import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import { column, type Selection, TAG_LENGTH, type Table } from './tables';

/** What a SELECT of these parts reads. Made once for what is asked for again and again. */
export function selectionOf(table: Table, parts: readonly DocumentPart[] = []): Selection {
  const name = parts.join();
  const known = table.selections.get(name);
  if (known) return known;
  const given = ALL_PARTS.filter((part) => parts.includes(part) && (part !== 'words' || table.spec.words));
  const names = ['id', 'position', ...table.columns, 'exact_keys', 'body', ...given];
  const place = (part: StoredPart): number => Math.max(0, names.indexOf(part));
  const places = { state: place('state'), expansions: place('expansions'), words: place('words') };
  const columns = names.map((column) => `d.${column}`).join(', ');
  const selection = { columns, places, by_id: `SELECT ${columns} FROM ${table.name} AS d WHERE d.id = ?` };
  table.selections.set(name, selection);
  return selection;
}

/** Reads rows of a selection of `parts`. Throws, with the document's name, where one is damaged. */
export function toDocuments(
  table: Table,
  parts: readonly DocumentPart[],
  rows: readonly SqlRow[],
): StoredDocument[] {
  const { places } = selectionOf(table, parts);
  const as_text = parts.includes('json');
  return rows.map((row) => {
    try {
      return readDocument(table, places, as_text, row);
    } catch (cause) {
      throw new Error(`the stored document ${table.name}/${row[0]} cannot be read`, { cause });
    }
  });
}

function readDocument(
  table: Table,
  places: Selection['places'],
  as_text: boolean,
  row: SqlRow,
): StoredDocument {
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
  for (const key of table.missing) common.keys[key] = null;
  if (as_text && words === null)
    return { ...document, document: new TextDocument(common, new JsonText(String(body))) };
  const searched = words === null ? {} : { words: words === '' ? [] : String(words).split(' ') };
  return { ...document, document: { ...common, body: parse(body), ...searched } };
}

function keysOf(table: Table, row: SqlRow): Record<string, Key> {
  const keys: Record<string, Key> = {};
  for (let index = 0; index < table.keys.length; index++) keys[table.keys[index]!] = row[2 + index]!;
  return keys;
}

const parsePart = (json: SqlValue): JsonObject => (json === null ? {} : parse(json));

const parse = (json: SqlValue): JsonObject => JSON.parse(String(json)) as JsonObject;

/** SQL promises no order of a join's rows, so a page is put in order here; as a rule it is already. */
export function inOrder(documents: StoredDocument[], order: SortOrder): StoredDocument[] {
  const sortable = documents.map((stored) => ({
    stored,
    id: stored.id,
    keys: stored.document?.keys ?? {},
  }));
  return sortable.sort((a, b) => compareByOrder(order, a, b)).map(({ stored }) => stored);
}

/** A document's values by column, all but its id. */
type ColumnValues = Readonly<Record<string, SqlValue>>;

function toColumns(table: Table, document: ViewDocument | null): ColumnValues {
  if (document === null) {
    const nothing = [...table.columns, 'exact_keys', 'body', 'state', 'expansions'];
    const searched = table.spec.words ? ['words_scope', 'words'] : [];
    return Object.fromEntries([...nothing, ...searched].map((name) => [name, null]));
  }
  if (document.words && !table.spec.words) throw new Error(`${table.name} is not searched by words`);
  for (const key in document.keys) if (!Object.hasOwn(table.spec.keys, key)) column(table, key);
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

/** Letters and digits in lower case and the marks: what the index's tokenizer takes for one token, as it is. */
const WORD = /^[a-z0-9:=\u0080-\u{10ffff}]+$/u;

/** A store's documents are all of a few scopes. */
const tags = new LRUCache<string, string>({ max: 10_000 });

/**
 * Stands before each word in the index, a hash of the word's scope: a search walks the words of its own store and
 * visibility, however many other stores there are.
 */
export function tagOf(values: readonly Key[]): string {
  const name = JSON.stringify(values);
  const known = tags.get(name);
  if (known !== undefined) return known;
  const tag = hash('sha256', name, 'hex').slice(0, TAG_LENGTH);
  tags.set(name, tag);
  return tag;
}

export function checkedWord(word: string): string {
  if (WORD.test(word)) return word;
  throw new Error('a word is letters and digits in lower case');
}

/** The columns `words_scope` and `words` of a document of a searched collection. */
function wordColumns(
  scope: readonly string[],
  { keys, words }: Pick<ViewDocument, 'keys' | 'words'>,
): Record<string, SqlValue> {
  if (!words) return { words_scope: null, words: null };
  return {
    words_scope: tagOf(scope.map((key) => keys[key] ?? null)),
    words: words.map(checkedWord).join(' '),
  };
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

/**
 * Writes one document under its guard; false where it was not at the expected position. Within a transaction.
 * `indexed`: the table's indexes are there, and it pays to leave them alone.
 */
export function writeDocument(
  connection: SqliteConnection,
  table: Table,
  write: DocumentWrite,
  indexed: boolean,
): boolean {
  const values = toColumns(table, write.document);
  if (write.expected === null) return insert(connection, table, write, values);
  if (!indexed) return assign(connection, table, write, values, []);
  // Most updates leave the indexed keys as they are. SQLite rewrites every index entry whose column is assigned,
  // changed or not, so the update that assigns none of them is tried first.
  const others = Object.fromEntries(Object.entries(values).filter(([name]) => !table.indexed.includes(name)));
  const same = table.indexed.map((name) => [name, values[name]!] as const);
  return assign(connection, table, write, others, same) || assign(connection, table, write, values, []);
}

function insert(
  connection: SqliteConnection,
  table: Table,
  write: DocumentWrite,
  values: ColumnValues,
): boolean {
  const names = Object.keys(values);
  const sql = `INSERT INTO ${table.name} (id, position, ${names.join(', ')})
    VALUES (?, ?${', ?'.repeat(names.length)}) ON CONFLICT (id) DO NOTHING`;
  return connection.run(sql, [write.id, write.position, ...Object.values(values)]).changes === 1;
}

/** Assigns the values where the document is at the expected position and has the values of `same` already. */
function assign(
  connection: SqliteConnection,
  table: Table,
  write: DocumentWrite,
  values: ColumnValues,
  same: readonly (readonly [string, SqlValue])[],
): boolean {
  const assignments = Object.keys(values).map((name) => `${name} = ?`);
  const guards = same.map(([name]) => ` AND ${name} IS ?`);
  const sql = `UPDATE ${table.name} SET position = ?, ${assignments.join(', ')}
    WHERE id = ? AND position = ?${guards.join('')}`;
  const kept = same.map(([, value]) => value);
  const parameters = [write.position, ...Object.values(values), write.id, write.expected, ...kept];
  return connection.run(sql, parameters).changes === 1;
}

export interface Query {
  readonly sql: string;
  readonly parameters: readonly SqlInput[];
}

export interface RowCondition extends Query {
  /** It names a few rows, which are looked up one by one. */
  readonly by_row?: true;
}

/** How many arms of an `in` are read side by side in index order, rather than sorted. */
const ARMS_MAX = 8;
const ANYTHING: RowCondition = { sql: '', parameters: [] };

type Where = ViewQuery['where'];

/**
 * A page of documents. The inner select walks index entries alone, so that skipping reads no document; a condition
 * such as `visibility in (public, private)` becomes one arm per value, merged in the order of the index.
 * `besides` is one more condition on the row.
 */
export function pageQuery(table: Table, query: ViewQuery, besides: RowCondition = ANYTHING): Query {
  const values = Object.values(query.where);
  if (besides !== ANYTHING || values.length === 0 || !values.every(isValue))
    return buildPageQuery(table, query, besides);
  const name = [Object.keys(query.where), query.order, query.parts ?? []].join(' ');
  let sql = table.page_sql.get(name);
  if (sql === undefined) {
    sql = buildPageQuery(table, query, besides).sql;
    table.page_sql.set(name, sql);
  }
  return { sql, parameters: [...values, query.limit, query.skip ?? 0] };
}

const isValue = (condition: KeyCondition): condition is Exclude<Key, null> =>
  condition !== null && typeof condition !== 'object';

function buildPageQuery(table: Table, query: ViewQuery, besides: RowCondition): Query {
  const order = query.order.map(([key, direction]) => ({ name: column(table, key), direction }));
  const arms = armsOf(query.where).map((where) => {
    const condition = both(conditionSql(table, where), besides);
    const columns = ['rowid AS found', ...order.map(({ name }) => name)];
    return {
      ...condition,
      sql: `SELECT ${columns.join(', ')} FROM ${from(table, besides)} WHERE ${condition.sql}`,
    };
  });
  const terms = order.map(({ direction }, index) => `${index + 2} ${direction.toUpperCase()}`);
  const sorted = `${arms.map(({ sql }) => sql).join(' UNION ALL ')} ORDER BY ${terms.join(', ')}`;
  return {
    sql: `SELECT ${selectionOf(table, query.parts).columns}
      FROM (${sorted} LIMIT ? OFFSET ?) AS page CROSS JOIN ${table.name} AS d ON d.rowid = page.found`,
    parameters: [...arms.flatMap(({ parameters }) => parameters), query.limit, query.skip ?? 0],
  };
}

export function countQuery(table: Table, where: Where, besides: RowCondition = ANYTHING): Query {
  const { sql, parameters } = both(conditionSql(table, where), besides);
  return { sql: `SELECT count(*) FROM ${from(table, besides)} WHERE ${sql}`, parameters };
}

/** What SQLite would not choose by itself: it takes any list of rows for a long one. */
const from = ({ name }: Table, { by_row }: RowCondition): string => (by_row ? `${name} NOT INDEXED` : name);

function both(one: Query, other: Query): Query {
  if (other === ANYTHING) return one;
  return { sql: `${one.sql} AND ${other.sql}`, parameters: [...one.parameters, ...other.parameters] };
}

/** Documents by id; tombstones too where nothing is asked of the keys. */
export function scanQuery(
  table: Table,
  options: { where?: Where; after_id?: string; limit: number },
  parts: readonly DocumentPart[],
): Query {
  const where = options.where ?? {};
  const everything = Object.keys(where).length === 0;
  const condition = everything ? { sql: '1', parameters: [] } : conditionSql(table, where);
  return {
    sql: `SELECT ${selectionOf(table, parts).columns}
      FROM (SELECT rowid AS found, id FROM ${table.name} WHERE id > ? AND ${condition.sql} ORDER BY id LIMIT ?) AS page
      CROSS JOIN ${table.name} AS d ON d.rowid = page.found`,
    parameters: [options.after_id ?? '', ...condition.parameters, options.limit],
  };
}

/** True where no document can match, such as an `in` of nothing. */
export function matchesNothing(where: Where): boolean {
  return Object.values(where).some((condition) => inList(condition)?.length === 0);
}

/** The same question with every short `in` taken apart; the answers are disjoint. */
function armsOf(where: Where): Where[] {
  let arms: Record<string, KeyCondition>[] = [{ ...where }];
  for (const [key, condition] of Object.entries(where)) {
    const values = inList(condition);
    if (!values || arms.length * values.length > ARMS_MAX) continue;
    arms = arms.flatMap((arm) => values.map((value) => ({ ...arm, [key]: value })));
  }
  return arms;
}

function inList(condition: KeyCondition): readonly Key[] | undefined {
  const is_list = condition !== null && typeof condition === 'object' && 'in' in condition;
  return is_list ? [...new Set(condition.in)] : undefined;
}

function conditionSql(table: Table, where: Where): Query {
  const terms = Object.entries(where).flatMap(([key, condition]) => keyTerms(column(table, key), condition));
  // A tombstone has no keys: only a question that nulls can answer has to leave it out by name.
  if (terms.every((term) => term.finds_null)) terms.push({ sql: 'body IS NOT NULL', parameters: [] });
  return {
    sql: terms.map(({ sql }) => sql).join(' AND '),
    parameters: terms.flatMap(({ parameters }) => parameters),
  };
}

type Term = Query & { readonly finds_null?: boolean };

function keyTerms(name: string, condition: KeyCondition): Term[] {
  if (condition === null) return [{ sql: `${name} IS NULL`, parameters: [], finds_null: true }];
  if (typeof condition !== 'object') return [{ sql: `${name} = ?`, parameters: [condition] }];
  if ('in' in condition) return [inTerm(name, condition.in)];
  if ('not' in condition) return [notTerm(name, condition.not)];
  const terms: Term[] = [];
  if (condition.gte !== undefined) terms.push({ sql: `${name} >= ?`, parameters: [condition.gte] });
  if (condition.lte !== undefined) terms.push({ sql: `${name} <= ?`, parameters: [condition.lte] });
  return terms;
}

function notTerm(name: string, value: Key): Term {
  if (value === null) return { sql: `${name} IS NOT NULL`, parameters: [] };
  return { sql: `${name} IS NOT ?`, parameters: [value], finds_null: true };
}

/** A list of any length as one parameter, so that its length does not make another statement. */
function inTerm(name: string, values: readonly Key[]): Term {
  const listed = `${name} IN (SELECT value FROM json_each(?))`;
  const parameters = [JSON.stringify(values.filter((value) => value !== null))];
  if (!values.includes(null)) return { sql: listed, parameters };
  return { sql: `(${listed} OR ${name} IS NULL)`, parameters, finds_null: true };
}
