import { hash } from 'node:crypto';
import type { Key, StoredDocument, ViewDocument } from '../../catalog/documents';
import type { JsonObject } from '../../catalog/events/envelope';
import { JsonText } from '../../catalog/json-text';
import { compareByOrder, type SortDirection, type SortOrder } from '../../catalog/sorting';
import { TextDocument } from '../../catalog/stored-document';
import { LRUCache } from '../../kernel/cache';
import { UnstorableDocumentError } from '../../kernel/errors';
import {
  ALL_PARTS,
  type DocumentPart,
  type DocumentWrite,
  isUnitCondition,
  type KeyCondition,
  type OutsideCondition,
  type StoredPart,
  type UnitCondition,
  type ViewQuery,
} from '../../ports/view-store';
import { excludedValue, type NamedVariant, namedValues, variantOf, variantsIn } from '../key-conditions';
import { withoutRepeated, withRepeated } from '../repeated-fields';
import { assertUnits } from '../stored-collections';
import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import { column, type Selection, scopeValue, type Table } from './tables';
import { readUnits, unitsColumn, unitTerm, writeUnits } from './units';
import { readEntry, updateEntry } from './word-index';

/** Returns the columns and SQL that read these parts. Cached per table and parts. */
export function selectionOf(table: Table, parts: readonly DocumentPart[] = []): Selection {
  const name = parts.join();
  const cached = table.selections.get(name);
  if (cached) return cached;
  const stored_parts = ALL_PARTS.filter(
    (part) => parts.includes(part) && ((part !== 'words' && part !== 'units') || table.spec[part]),
  );
  const names = ['id', 'position', ...table.columns, 'exact_keys', 'body', ...stored_parts];
  const indexOf = (part: StoredPart): number => Math.max(0, names.indexOf(part));
  const column_indexes = {
    state: indexOf('state'),
    expansions: indexOf('expansions'),
    words: indexOf('words'),
    units: indexOf('units'),
  };
  const columns = names
    .map((column) => (column === 'units' ? unitsColumn(table.name, 'd.rowid') : `d.${column}`))
    .join(', ');
  const selection = {
    columns,
    column_indexes,
    by_id: `SELECT ${columns} FROM ${table.name} AS d WHERE d.id = ?`,
  };
  table.selections.set(name, selection);
  return selection;
}

/** Converts rows of a selection of `parts` to documents. Throws an error with the document's id if one is damaged. */
export function toDocuments(
  table: Table,
  parts: readonly DocumentPart[],
  rows: readonly SqlRow[],
): StoredDocument[] {
  const { column_indexes } = selectionOf(table, parts);
  const as_text = parts.includes('json');
  return rows.map((row) => {
    try {
      return readDocument(table, column_indexes, as_text, row);
    } catch (cause) {
      throw new Error(`the stored document ${table.name}/${row[0]} cannot be read`, { cause });
    }
  });
}

function readDocument(
  table: Table,
  column_indexes: Selection['column_indexes'],
  as_text: boolean,
  row: SqlRow,
): StoredDocument {
  const first = 2 + table.keys.length;
  const exact_keys = row[first]!;
  const body = row[first + 1]!;
  const document = { id: String(row[0]), position: BigInt(row[1]!) };
  if (body === null) return { ...document, document: null };
  const part = (name: StoredPart): SqlValue =>
    column_indexes[name] === 0 ? null : row[column_indexes[name]]!;
  const words = part('words');
  const units = readUnits(part('units'));
  const keys = exact_keys === null ? keysOf(table, row) : (parse(exact_keys) as Record<string, Key>);
  for (const key of table.missing) keys[key] = null;
  const expansions = parsePart(part('expansions'));
  const state_json = part('state');
  if (as_text && state_json === null && words === null && !units) {
    const common = { keys, state: {}, expansions };
    return { ...document, document: new TextDocument(common, new JsonText(String(body))) };
  }
  const shown = { keys, body: parse(body) };
  const state = withRepeated(table.spec.repeats, parsePart(state_json), shown);
  const search_words = words === null ? {} : { words: words === '' ? [] : String(words).split(' ') };
  return {
    ...document,
    document: { ...shown, state, expansions, ...search_words, ...(units && { units }) },
  };
}

function keysOf(table: Table, row: SqlRow): Record<string, Key> {
  const keys: Record<string, Key> = {};
  for (let index = 0; index < table.keys.length; index++) keys[table.keys[index]!] = row[2 + index]!;
  return keys;
}

const parsePart = (json: SqlValue): JsonObject => (json === null ? {} : parse(json));

const parse = (json: SqlValue): JsonObject => JSON.parse(String(json)) as JsonObject;

/** Sorts a page. SQL guarantees no order for the rows of a join, although they usually come sorted. */
export function inOrder(documents: StoredDocument[], order: SortOrder): StoredDocument[] {
  const sortable = documents.map((stored) => ({
    stored,
    id: stored.id,
    keys: stored.document?.keys ?? {},
  }));
  return sortable.sort((a, b) => compareByOrder(order, a, b)).map(({ stored }) => stored);
}

/** The values of a document by column, without its id. */
type ColumnValues = Readonly<Record<string, SqlValue>>;

function toColumns(table: Table, document: ViewDocument | null): ColumnValues {
  if (document === null) {
    const list_columns = table.lists && !table.lists.shared ? ['facet'] : [];
    const columns = [...table.columns, ...list_columns, 'exact_keys', 'body', 'state', 'expansions'];
    const word_columns = table.spec.words ? ['words_scope', 'words'] : [];
    return Object.fromEntries([...columns, ...word_columns].map((name) => [name, null]));
  }
  if (document.units && !table.spec.units) throw new Error(`collection ${table.name} has no units`);
  if (document.words && !table.spec.words) throw new Error(`collection ${table.name} has no search words`);
  // Throws for a key that the table does not have.
  for (const key in document.keys) if (!Object.hasOwn(table.spec.keys, key)) column(table, key);
  const keys: Record<string, Key> = {};
  const values: Record<string, SqlValue> = {};
  let exact = true;
  for (const [index, key] of table.keys.entries()) {
    const value = checkKey(table, key, document.keys[key] ?? null);
    keys[key] = value;
    values[table.columns[index]!] = value;
    exact &&= isExactInColumn(value);
  }
  if (table.lists) {
    const is_listed = table.lists.scopes.some((scope) => keys[scope] !== null);
    const missing = is_listed && table.lists.keys.find((key) => keys[key] === null);
    if (missing) throw new Error(`key ${missing} is null: no list can be sorted by it`);
    const facet = is_listed ? table.lists.facets.of(keys) : null;
    if (!table.lists.shared) values.facet = facet;
  }
  values.exact_keys = exact ? null : JSON.stringify(keys);
  values.body = JSON.stringify(document.body);
  values.state = JSON.stringify(withoutRepeated(table.spec.repeats, { ...document, keys }));
  values.expansions = JSON.stringify(document.expansions);
  return table.spec.words ? Object.assign(values, wordColumns(table.spec.words.scope, document)) : values;
}

/** Length of a scope's hash in hexadecimal digits. */
const SCOPE_LENGTH = 20;

/**
 * Lower-case ASCII letters, digits, `:`, `=` and all non-ASCII characters: the tokenizer of the index keeps them
 * together as one token.
 */
const WORD = /^[a-z0-9:=\u0080-\u{10ffff}]+$/u;

/** Hashes by scope. Documents of a store have only a few different scopes. */
const scopes = new LRUCache<string, string>({ max: 10_000 });

/** Returns the hash of a scope, under which the index has a number for it. */
export function scopeHash(values: readonly Key[]): string {
  const name = JSON.stringify(values);
  const cached = scopes.get(name);
  if (cached !== undefined) return cached;
  const scope = hash('sha256', name, 'hex').slice(0, SCOPE_LENGTH);
  scopes.set(name, scope);
  return scope;
}

/** Returns the word. Throws if it is not a single token of the index. */
export function checkWord(word: string): string {
  if (WORD.test(word)) return word;
  throw new Error('a word is invalid: expected lower-case letters and digits');
}

/** Returns the columns `words_scope` and `words`. */
function wordColumns(
  scope: readonly string[],
  { keys, words }: Pick<ViewDocument, 'keys' | 'words'>,
): Record<string, SqlValue> {
  if (!words) return { words_scope: null, words: null };
  return {
    words_scope: scopeHash(scope.map((key) => keys[key] ?? null)),
    words: words.map(checkWord).join(' '),
  };
}

function checkKey(table: Table, key: string, value: Key): Key {
  const is_valid =
    value === null ||
    (table.spec.keys[key] === 'text' ? typeof value === 'string' : Number.isSafeInteger(value));
  if (is_valid) return value;
  throw new Error(
    `key ${table.name}.${key} is of kind ${table.spec.keys[key]}: it cannot be a ${typeof value}`,
  );
}

const CHANGED_BY_COLUMN = /[\0\p{Surrogate}]/u;

/**
 * Returns false for a text that a column does not return unchanged: SQLite cuts a text at a NUL and replaces lone
 * surrogates. If there is such a text, the keys are also stored as JSON, which escapes both.
 */
function isExactInColumn(value: Key): boolean {
  return typeof value !== 'string' || !CHANGED_BY_COLUMN.test(value);
}

/**
 * Writes one document. Must run in a transaction. `indexed` is true if all indexes of the table exist; then an update
 * assigns only the columns that change.
 */
export function writeDocument(
  connection: SqliteConnection,
  table: Table,
  write: DocumentWrite,
  indexed: boolean,
): void {
  const { id, is_new = false, is_removed = false } = write;
  const values = toColumnsOrRefuse(table, write);
  const has_entry = indexed && table.spec.words !== undefined;
  const entry = has_entry && !is_new ? readEntry(connection, table, id) : undefined;
  if (is_new || !update(connection, table, write, values, indexed)) insert(connection, table, write, values);
  if (has_entry) updateEntry(connection, table, id, entry, values);
  if (table.spec.units) writeUnits(connection, table.name, id, write.document?.units);
  // After the tombstone, which is in no index.
  if (is_removed) connection.run(`DELETE FROM ${table.name} WHERE id = ?`, [id]);
}

/** Updates the stored document. Returns false if there is none. */
function update(
  connection: SqliteConnection,
  table: Table,
  write: DocumentWrite,
  values: ColumnValues,
  indexed: boolean,
): boolean {
  const changed = indexed ? changedValues(connection, table, write, values) : values;
  return changed !== undefined && assign(connection, table, write, changed);
}

/**
 * Returns the values that differ from the stored ones. SQLite rewrites the index entries of every assigned column, also
 * if its value does not change. Returns undefined if the document is not stored.
 */
function changedValues(
  connection: SqliteConnection,
  table: Table,
  { id }: DocumentWrite,
  values: ColumnValues,
): ColumnValues | undefined {
  const names = Object.keys(values);
  const stored = connection.first(`SELECT ${names.join(', ')} FROM ${table.name} WHERE id = ?`, [id]);
  return stored && Object.fromEntries(Object.entries(values).filter(([, value], n) => value !== stored[n]));
}

/** Throws `UnstorableDocumentError` if the document has an unknown key, or one of another kind. */
function toColumnsOrRefuse(table: Table, { id, document }: DocumentWrite): ColumnValues {
  try {
    return toColumns(table, document);
  } catch (cause) {
    throw new UnstorableDocumentError(`${table.name} ${id}: ${(cause as Error).message}`, { cause });
  }
}

function insert(
  connection: SqliteConnection,
  table: Table,
  write: DocumentWrite,
  values: ColumnValues,
): void {
  const names = Object.keys(values);
  const sql = `INSERT INTO ${table.name} (id, position, ${names.join(', ')})
    VALUES (?, ?${', ?'.repeat(names.length)})`;
  connection.run(sql, [write.id, write.position, ...Object.values(values)]);
}

/** Assigns the values to the stored document. Returns false if there is none. */
function assign(
  connection: SqliteConnection,
  table: Table,
  write: DocumentWrite,
  values: ColumnValues,
): boolean {
  const assignments = ['position', ...Object.keys(values)].map((name) => `${name} = ?`);
  const sql = `UPDATE ${table.name} SET ${assignments.join(', ')} WHERE id = ?`;
  return connection.run(sql, [write.position, ...Object.values(values), write.id]).changes === 1;
}

export interface Query {
  readonly sql: string;
  readonly parameters: readonly SqlInput[];
}

type Where = ViewQuery['where'];

/** Builds the query of the row ids of a page, in order. Reads index entries only, so that skipping reads no documents. */
export function pageQuery(table: Table, query: ViewQuery): Query {
  const { sql, parameters } = matchingQuery(table, query);
  const columns = query.order.map(([key]) => keyIn(table, query.where, key));
  const directions = query.order.map(([, direction]) => direction);
  const order = columns.map((name, n) => `${name} ${directions[n]!.toUpperCase()}`).join(', ');
  const after = afterSql(columns, directions, query.after);
  return {
    sql: `SELECT m.rowid ${sql} AND ${after.sql} ORDER BY ${order} LIMIT ? OFFSET ?`,
    parameters: [...parameters, ...after.parameters, query.limit, query.skip ?? 0],
  };
}

/**
 * Returns the end of a SELECT of the documents that match, as `m`. If the conditions name lists whose entries have values of
 * their own (`entriesIn`), only the entries of these lists are read, as `s`.
 */
function matchingQuery(table: Table, { where }: Pick<ViewQuery, 'where'>): Query {
  const { shared, source } = table.lists ?? {};
  const entries = entriesIn(table, where);
  if (!shared || !entries) {
    const { sql, parameters } = conditionSql(table, where, 'm');
    return { sql: `FROM ${table.name} AS m WHERE ${sql}`, parameters };
  }
  const isImplied = (key: string): boolean => key === shared.scope || key === entries.implied;
  const conditions = Object.entries(where).filter(([key]) => !isImplied(key));
  const isOfEntry = ([key]: readonly [string, KeyCondition]): boolean => entries.keys.includes(key);
  const of_document = Object.fromEntries(conditions.filter((one) => !isOfEntry(one)));
  const condition = allOf([
    conditionSql(table, of_document, 'm', where),
    ...conditions
      .filter(isOfEntry)
      .flatMap(([key, one]) => keyTerms(`s.${column(table, key)}`, one as KeyRange)),
  ]);
  const columns = entries.keys.map((key) => column(table, key));
  return {
    sql: `FROM (SELECT row, ${columns.map((name) => `min(${name}) AS ${name}`).join(', ')} FROM ${source}
        WHERE scope IN (SELECT value FROM json_each(?)) GROUP BY row) AS s
      CROSS JOIN ${table.name} AS m ON m.rowid = s.row WHERE ${condition.sql}`,
    parameters: [JSON.stringify(entries.scopes), ...condition.parameters],
  };
}

/** Returns the column of a key in a statement of `matchingQuery`. */
const keyIn = (table: Table, where: Where, key: string): string =>
  `${entriesIn(table, where)?.keys.includes(key) ? 's' : 'm'}.${column(table, key)}`;

/** Lists whose entries have values of some keys of their own. */
interface NamedEntries {
  readonly scopes: readonly string[];
  readonly keys: readonly string[];
  /** The key that names a variant. All entries belong to the variant, so they fulfil the condition on the key. */
  readonly implied?: string | undefined;
}

/** Returns the lists whose values a query with these conditions sees. Undefined if it sees those of the documents. */
export function entriesIn(table: Table, where: Where): NamedEntries | undefined {
  const { shared, variants } = table.lists ?? {};
  if (!shared) return undefined;
  const inside = variantsIn(variants, where).find(({ without }) => !without);
  const scopes = inside
    ? variantScopes(table, where, inside.variant)
    : scopesOfKey(table, where, shared.scope);
  return scopes && { scopes, keys: [shared.rank, ...(inside?.keys ?? [])], implied: inside?.kind.name };
}

/** Returns the lists that the conditions name, in this variant. */
function variantScopes(table: Table, where: Where, variant: string): string[] {
  for (const key of table.lists!.scopes) {
    const scopes = scopesOfKey(table, where, key, variant);
    if (scopes) return scopes;
  }
  throw new Error(`a query for a variant of the lists of ${table.name} names no lists`);
}

/** Returns the values of the scope column that the condition on a scope key names. Undefined if it names none. */
function scopesOfKey(table: Table, where: Where, key: string, variant?: string): string[] | undefined {
  const values = where[key] === undefined ? undefined : namedValues(where[key]);
  if (!values?.every((value) => typeof value === 'string')) return undefined;
  return values.map((value) => scopeValue(table.lists!, key, value, variant));
}

/** Returns the end of a SELECT of the entries `s` that a document has in some lists. `alias`: its name in the statement. */
function entriesOf(table: Table, scopes: readonly string[], alias: string): Query {
  const id = alias === 'e' ? `(SELECT id FROM ${table.name} WHERE rowid = e.row)` : `${alias}.id`;
  const sql = `FROM ${table.lists!.source} AS s WHERE s.scope IN (SELECT value FROM json_each(?)) AND s.id = ${id}`;
  return { sql, parameters: [JSON.stringify(scopes)] };
}

/** Returns the lowest value of a key that a document has in the entries, as an expression. */
export function lowestOf(table: Table, { scopes }: NamedEntries, key: string, alias: string): Query {
  const { sql, parameters } = entriesOf(table, scopes, alias);
  return { sql: `(SELECT min(s.${column(table, key)}) ${sql})`, parameters };
}

/** Returns the condition for documents after `after`. `columns`: those of the keys of the order. */
export function afterSql(
  columns: readonly string[],
  directions: readonly SortDirection[],
  after: ViewQuery['after'],
): Query {
  if (!after) return { sql: 'true', parameters: [] };
  const conditionFrom = (n: number): Query => {
    const sign = directions[n] === 'asc' ? '>' : '<';
    if (n === columns.length - 1) return { sql: `${columns[n]} ${sign} ?`, parameters: [after[n]!] };
    const next = conditionFrom(n + 1);
    return {
      // An index is read from the first condition on.
      sql: `${columns[n]} ${sign}= ? AND (${columns[n]} ${sign} ? OR (${next.sql}))`,
      parameters: [after[n]!, after[n]!, ...next.parameters],
    };
  };
  return conditionFrom(0);
}

/** Builds the query that counts the documents. */
export function countQuery(table: Table, where: Where): Query {
  const { sql, parameters } = matchingQuery(table, { where });
  return { sql: `SELECT count(*) ${sql}`, parameters };
}

/** Builds the query that reads documents in id order. Without a `where`, it includes tombstones. */
export function scanQuery(
  table: Table,
  options: { where?: Where; after_id?: string; limit: number },
  parts: readonly DocumentPart[],
): Query {
  const where = options.where ?? {};
  const unfiltered = Object.keys(where).length === 0;
  const { sql, parameters } = unfiltered
    ? { sql: `FROM ${table.name} AS m WHERE true`, parameters: [] }
    : matchingQuery(table, { where });
  return {
    sql: `SELECT ${selectionOf(table, parts).columns}
      FROM (SELECT m.rowid AS row_id, m.id ${sql} AND m.id > ? ORDER BY m.id LIMIT ?) AS page
      CROSS JOIN ${table.name} AS d ON d.rowid = page.row_id`,
    parameters: [...parameters, options.after_id ?? '', options.limit],
  };
}

/** Returns true if no document can match, because a condition is an empty `in` or an empty range. */
export function matchesNothing(where: Where): boolean {
  return Object.values(where).some(
    (condition) => namedValues(condition)?.length === 0 || isEmptyRange(condition),
  );
}

function isEmptyRange(condition: KeyCondition): boolean {
  if (condition === null || typeof condition !== 'object') return false;
  const { gte = Number.NEGATIVE_INFINITY, lte = Number.POSITIVE_INFINITY } = condition as {
    gte?: number;
    lte?: number;
  };
  return gte > lte;
}

/**
 * Returns the condition for existing documents. `alias`: the name of the table in the statement. `where`: the
 * conditions to express, which may be some of `all`, the conditions of the query.
 */
export function conditionSql(table: Table, where: Where, alias: string, all = where): Query {
  const terms = conditionTerms(table, where, alias, all);
  // The keys of a tombstone are null, so tombstones only need to be excluded if every condition matches null.
  if (terms.every((term) => term.matches_null))
    terms.push({ sql: `${alias}.body IS NOT NULL`, parameters: [] });
  return allOf(terms);
}

export const allOf = (terms: readonly Query[]): Query => ({
  sql: terms.map(({ sql }) => sql).join(' AND '),
  parameters: terms.flatMap(({ parameters }) => parameters),
});

/** Returns a term for each condition. `alias`: the table of the documents, `l` the source of their lists, `e` that of words. */
export function conditionTerms(table: Table, where: Where, alias: string, all: Where): Term[] {
  const { shared, variants } = table.lists ?? {};
  const entries = entriesIn(table, all);
  const named = variantsIn(variants, all);
  // All conditions on a variant make one term, in the place of the first one.
  const firsts = named.map((one) => Object.keys(where).find((key) => variantOf([one], key)));
  return Object.entries(where).flatMap(([key, condition]): Term[] => {
    if (isUnitCondition(condition)) {
      assertUnits(table);
      const row = alias === 'l' || alias === 'e' ? 'row' : 'rowid';
      return [unitTerm(table.name, condition, `${alias}.${row}`)];
    }
    const variant = variantOf(named, key);
    if (variant) return firsts.includes(key) ? [variantTerm(table, variant, all, alias)] : [];
    const scopes = key === shared?.scope && scopesOfKey(table, where, key);
    if (scopes) {
      const { sql, parameters } = entriesOf(table, scopes, alias);
      return [{ sql: `EXISTS (SELECT 1 ${sql})`, parameters }];
    }
    if (entries?.keys.includes(key)) {
      const lowest = lowestOf(table, entries, key, alias);
      return keyTerms(lowest.sql, condition as KeyRange).map(({ sql, parameters }) => ({
        sql,
        parameters: [...lowest.parameters, ...parameters],
      }));
    }
    const excluded = excludedValue(condition);
    if (key === shared?.scope && excluded !== null) {
      const none = conditionSql(table, { [key]: excluded }, alias);
      return [{ ...none, sql: `NOT ${none.sql}`, matches_null: true }];
    }
    return keyTerms(`${alias}.${column(table, key)}`, condition as KeyRange);
  });
}

/** Returns the term for the documents inside or outside a variant that the conditions name. */
function variantTerm(
  table: Table,
  { variant, without, keys }: NamedVariant,
  all: Where,
  alias: string,
): Term {
  const values = Object.entries(without ?? all).filter(([key]) => without || keys.includes(key));
  const { sql, parameters } = allOf([
    entriesOf(table, variantScopes(table, all, variant), alias),
    ...values.flatMap(([key, value]) => keyTerms(`s.${column(table, key)}`, value as KeyRange)),
  ]);
  const exists = `EXISTS (SELECT 1 ${sql})`;
  return without ? { sql: `NOT ${exists}`, parameters, matches_null: true } : { sql: exists, parameters };
}

type Term = Query & { readonly matches_null?: boolean };

/** A condition on the value of a key. */
type KeyRange = Exclude<KeyCondition, UnitCondition | OutsideCondition>;

function keyTerms(name: string, condition: KeyRange): Term[] {
  if (condition === null) return [{ sql: `${name} IS NULL`, parameters: [], matches_null: true }];
  if (typeof condition !== 'object') return [{ sql: `${name} = ?`, parameters: [condition] }];
  if ('in' in condition) return [inTerm(name, condition.in)];
  if ('not' in condition) return [notTerm(name, condition.not)];
  if ('after' in condition) return [{ sql: `${name} > ?`, parameters: [condition.after] }];
  const terms: Term[] = [];
  if (condition.gte !== undefined) terms.push({ sql: `${name} >= ?`, parameters: [condition.gte] });
  if (condition.lte !== undefined) terms.push({ sql: `${name} <= ?`, parameters: [condition.lte] });
  return terms;
}

function notTerm(name: string, value: Key): Term {
  if (value === null) return { sql: `${name} IS NOT NULL`, parameters: [] };
  return { sql: `${name} IS NOT ?`, parameters: [value], matches_null: true };
}

/** Passes the list as one JSON parameter, so that lists of any length share one prepared statement. */
function inTerm(name: string, values: readonly Key[]): Term {
  const in_list = `${name} IN (SELECT value FROM json_each(?))`;
  const parameters = [JSON.stringify(values.filter((value) => value !== null))];
  if (!values.includes(null)) return { sql: in_list, parameters };
  return { sql: `(${in_list} OR ${name} IS NULL)`, parameters, matches_null: true };
}
