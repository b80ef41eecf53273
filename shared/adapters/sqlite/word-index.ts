import { compareTexts } from '../../catalog/sorting';
import type { SqliteConnection, SqlValue } from './connection';
import { column, type Table } from './tables';

/*
 * The inverted index of a table. An FTS5 table contains the terms of each document, numbered by its rank: of two
 * documents, the newer one has the higher rank. A search reads a term's documents in descending order of rank, so it can
 * stop as soon as a page is full. Every write of a document updates the index in the same transaction.
 */

/** The tables of the index. */
export interface IndexTables {
  /** FTS5, without text and without positions. The row id is the rank. */
  readonly terms: string;
  /** The row and the ranged keys of the document at each rank. */
  readonly entries: string;
  /** A number for each scope. In the index, each term begins with it. */
  readonly scopes: string;
  /** The words and labels of each scope. Some of very long texts may belong to no document any more. */
  readonly vocabulary: string;
}

export const indexTables = ({ name }: { readonly name: string }): IndexTables => ({
  terms: `${name}_terms`,
  entries: `${name}_entries`,
  scopes: `${name}_scopes`,
  vocabulary: `${name}_vocabulary`,
});

/** Length of the scope's number at the start of each term, in hexadecimal digits. */
const TAG_LENGTH = 6;
/** FTS5 has an index of its own for the first one, two and three characters of the terms of each scope. */
export const INDEXED_PREFIX_MAX = 3;
/** The most words of one write that are looked up to see whether another document has them. */
const FORGOTTEN_MAX = 200;
/** Difference between the ranks of neighbours, so that there is room for a document that arrives late. */
export const RANK_STEP = 16;
/** Returns the text of a scope's number, which is put before each term. */
export const tagText = (tag: number): string => tag.toString(16).padStart(TAG_LENGTH, '0');
/** The term that every document has. */
export const EVERY_TERM = '@';

/** How the terms of labels begin (`labelTerm`). */
const LABEL = '==';

const MARKED = /^(.*[:=])?([^:=]*)$/u;

/** Splits a term into its marker, such as `:` or `=blue=`, and the word at its end. A label is one word. */
export function splitTerm(term: string): { readonly marker: string; readonly word: string } {
  if (term.startsWith(LABEL)) return { marker: '', word: term };
  const [, marker = '', word = ''] = MARKED.exec(term) ?? [];
  return { marker, word };
}

const spec = (table: Table) => table.spec.words!;

/** How many bytes of terms FTS5 collects in memory before it writes them. A larger number leaves less to merge. */
const FILL_BYTES = 16_777_216;
/** The default of FTS5. */
const UPDATE_BYTES = 1_048_576;

/** Returns the statements that create the index of a table and fill it. */
export function indexStatements(table: Table): string[] {
  const { terms, entries, scopes, vocabulary } = indexTables(table);
  const { ranges, newest_by } = spec(table);
  const columns = ranges.map((key) => column(table, key));
  const lengths = Array.from({ length: INDEXED_PREFIX_MAX }, (_, n) => TAG_LENGTH + 1 + n).join(' ');
  const tag = `printf('%0${TAG_LENGTH}x', s.tag)`;
  const words = `iif(d.words = '', '', ' ' || ${tag} || replace(d.words, ' ', ' ' || ${tag}))`;
  const setBytes = (bytes: number): string =>
    `INSERT INTO ${terms} (${terms}, rank) VALUES ('hashsize', ${bytes})`;
  return [
    `CREATE TABLE ${scopes} (tag INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE) STRICT`,
    `CREATE TABLE ${entries} (rank INTEGER PRIMARY KEY, row INTEGER NOT NULL UNIQUE
      ${ranges.map((key) => `, ${column(table, key)} ${table.spec.keys[key]!.toUpperCase()}`).join('')}) STRICT`,
    `CREATE TABLE ${vocabulary} (tag INTEGER, word TEXT, PRIMARY KEY (tag, word)) STRICT, WITHOUT ROWID`,
    `CREATE VIRTUAL TABLE ${terms} USING fts5(words, content = '', detail = none, columnsize = 0,
      prefix = '${lengths}', tokenize = "ascii tokenchars ':=@'")`,
    `INSERT INTO ${scopes} (scope) SELECT DISTINCT words_scope FROM ${table.name} WHERE words IS NOT NULL`,
    `INSERT INTO ${entries}
      SELECT ${RANK_STEP} * row_number() OVER (ORDER BY ${column(table, newest_by)}, id), rowid
        ${columns.map((name) => `, ${name}`).join('')} FROM ${table.name} WHERE words IS NOT NULL`,
    setBytes(FILL_BYTES),
    `INSERT INTO ${terms} (rowid, words) SELECT e.rank, ${[`${tag} || '${EVERY_TERM}'`, words].join(' || ')}
      FROM ${entries} AS e CROSS JOIN ${table.name} AS d ON d.rowid = e.row
      CROSS JOIN ${scopes} AS s ON s.scope = d.words_scope ORDER BY e.rank`,
    setBytes(UPDATE_BYTES),
    // Into one segment: each look-up of a term searches all segments.
    `INSERT INTO ${terms} (${terms}) VALUES ('optimize')`,
    `CREATE VIRTUAL TABLE temp.${terms}_all USING fts5vocab(main, ${terms}, row)`,
    // Marked words are in the vocabulary, too, but the starts of titles are not: their words are also marked words.
    `INSERT OR IGNORE INTO ${vocabulary} (tag, word)
      SELECT s.tag, substr(t.term, ${TAG_LENGTH + 1} + (substr(t.term, ${TAG_LENGTH + 1}, 1) = ':'))
      FROM ${scopes} AS s CROSS JOIN temp.${terms}_all AS t
        ON t.term >= ${tag} AND t.term < ${tag} || char(1114111)
      WHERE substr(t.term, ${TAG_LENGTH + 1}, 1) NOT IN ('=', '@')
        OR substr(t.term, ${TAG_LENGTH + 1}, ${LABEL.length}) = '${LABEL}'`,
    `DROP TABLE temp.${terms}_all`,
  ];
}

/** What the index contains of a document. */
interface Entry {
  readonly rank: number;
  readonly row: number;
  readonly scope: string;
  readonly words: string;
  readonly newest_by: SqlValue;
  readonly ranges: readonly SqlValue[];
}

/** Returns what the index contains of a document; undefined if it contains nothing. */
export function readEntry(connection: SqliteConnection, table: Table, id: string): Entry | undefined {
  const { ranges, newest_by } = spec(table);
  const columns = [newest_by, ...ranges].map((key) => `, d.${column(table, key)}`).join('');
  const found = connection.first(
    `SELECT e.rank, d.rowid, d.words_scope, d.words ${columns} FROM ${table.name} AS d
      CROSS JOIN ${indexTables(table).entries} AS e ON e.row = d.rowid WHERE d.id = ?`,
    [id],
  );
  if (!found) return undefined;
  const [rank, row, scope, words, newest, ...ranged] = found;
  return {
    ...{ rank: Number(rank), row: Number(row), scope: String(scope), words: String(words) },
    newest_by: newest!,
    ranges: ranged,
  };
}

/**
 * Updates the index after a document was written with these column values. `before` is what the index contains. Writes
 * only what changed.
 */
export function updateEntry(
  connection: SqliteConnection,
  table: Table,
  id: string,
  before: Entry | undefined,
  values: Readonly<Record<string, SqlValue>>,
): void {
  const { ranges, newest_by } = spec(table);
  const valuesOf = (keys: readonly string[]) => keys.map((key) => values[column(table, key)] ?? null);
  const { words_scope: scope = null, words = null } = values;
  const [newest = null] = valuesOf([newest_by]);
  const index = new WordIndex(connection, table);
  if (words === null) {
    if (before) index.remove(before);
    return;
  }
  const moved = before !== undefined && before.newest_by !== newest;
  if (before && moved) index.remove(before);
  const kept = moved ? undefined : before;
  const after: Entry = {
    rank: kept?.rank ?? index.newRank({ id, newest_by: newest }),
    row: kept?.row ?? index.rowOf(id),
    ...{ scope: String(scope), words: String(words), newest_by: newest },
    ranges: valuesOf(ranges),
  };
  if (kept) index.change(kept, after);
  else index.add(after);
}

/** Returns the words of a document, without their markers, and its labels. */
function vocabularyOf({ words }: Pick<Entry, 'words'>): Set<string> {
  const found = new Set(words.split(' ').map((term) => splitTerm(term).word));
  found.delete('');
  return found;
}

class WordIndex {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly names: IndexTables;

  constructor(connection: SqliteConnection, table: Table) {
    this.connection = connection;
    this.table = table;
    this.names = indexTables(table);
  }

  rowOf(id: string): number {
    return Number(this.connection.value(`SELECT rowid FROM ${this.table.name} WHERE id = ?`, [id]));
  }

  add(entry: Entry): void {
    const { entries } = this.names;
    const values = [entry.rank, entry.row, ...entry.ranges];
    this.connection.run(`INSERT INTO ${entries} VALUES (${values.map(() => '?').join(', ')})`, values);
    this.addTerms(entry);
  }

  remove(entry: Entry): void {
    this.removeTerms(entry);
    this.forgetWords(entry);
    this.connection.run(`DELETE FROM ${this.names.entries} WHERE rank = ?`, [entry.rank]);
  }

  change(before: Entry, after: Entry): void {
    if (before.ranges.some((value, n) => value !== after.ranges[n])) {
      const assignments = spec(this.table).ranges.map((key) => `${column(this.table, key)} = ?`);
      const sql = `UPDATE ${this.names.entries} SET ${assignments.join(', ')} WHERE rank = ?`;
      this.connection.run(sql, [...after.ranges, after.rank]);
    }
    if (before.scope === after.scope && before.words === after.words) return;
    this.removeTerms(before);
    this.addTerms(after);
    this.forgetWords(before, after);
  }

  private addTerms(entry: Entry): void {
    const { terms, vocabulary } = this.names;
    const tag = this.tagOf(entry.scope);
    this.connection.run(`INSERT INTO ${terms} (rowid, words) VALUES (?, ?)`, [
      entry.rank,
      this.textOf(entry, tag),
    ]);
    const words = vocabularyOf(entry);
    this.connection.run(`INSERT OR IGNORE INTO ${vocabulary} (tag, word) SELECT ?, value FROM json_each(?)`, [
      tag,
      JSON.stringify([...words]),
    ]);
  }

  /** FTS5 keeps no text, so it needs the text of the document again in order to remove its terms. */
  private removeTerms(entry: Entry): void {
    const { terms } = this.names;
    this.connection.run(`INSERT INTO ${terms} (${terms}, rowid, words) VALUES ('delete', ?, ?)`, [
      entry.rank,
      this.textOf(entry, this.tagOf(entry.scope)),
    ]);
  }

  /**
   * Removes words that a document no longer has from the vocabulary, if no other document has them. Looks up a part of
   * the words of a very long text, so that its write does not hold up others. The rest stay until the next rebuild.
   */
  private forgetWords(before: Entry, after?: Entry): void {
    const { terms, vocabulary } = this.names;
    const kept = after?.scope === before.scope ? vocabularyOf(after) : new Set();
    const gone = [...vocabularyOf(before)].filter((word) => !kept.has(word));
    const tag = this.tagOf(before.scope);
    for (const word of gone.slice(0, FORGOTTEN_MAX)) {
      const expression = ['', ':'].map((marker) => `"${tagText(tag)}${marker}${word}"`).join(' OR ');
      const sql = `SELECT 1 FROM ${terms} WHERE ${terms} MATCH ? LIMIT 1`;
      if (this.connection.value(sql, [expression]) === undefined)
        this.connection.run(`DELETE FROM ${vocabulary} WHERE tag = ? AND word = ?`, [tag, word]);
    }
  }

  private textOf({ words }: Entry, tag: number): string {
    const all = [EVERY_TERM, ...(words === '' ? [] : words.split(' '))];
    return all.map((term) => tagText(tag) + term).join(' ');
  }

  private tagOf(scope: string): number {
    const { scopes } = this.names;
    const select = `SELECT tag FROM ${scopes} WHERE scope = ?`;
    const found = this.connection.value(select, [scope]);
    if (found !== undefined) return Number(found);
    return Number(this.connection.run(`INSERT INTO ${scopes} (scope) VALUES (?)`, [scope]).lastInsertRowid);
  }

  /**
   * Returns a free rank between the next older and the next newer document. Nearly always, the document is the newest
   * one or only a few places late, so the search begins at the newest documents. A document is very late, for example,
   * after its stream left the dead-letter list.
   */
  newRank(item: Ranked): number {
    const newest = this.nearest('<=', Number.MAX_SAFE_INTEGER);
    if (!newest) return RANK_STEP;
    if (isOlder(newest, item)) return newest.rank + RANK_STEP;
    let below = 0;
    let above = newest.rank;
    for (let step = RANK_STEP; ; step *= 2) {
      const middle = Math.max(below + Math.floor((above - below) / 2), above - step);
      const found = this.nearest('<=', middle, below) ?? this.nearest('>', middle, above);
      if (!found) break;
      if (isOlder(found, item)) below = found.rank;
      else above = found.rank;
    }
    if (above - below < 2) above = this.makeRoom(below, above);
    return below + Math.floor((above - below) / 2);
  }

  /** Returns the document whose rank is nearest to `rank` on one side of it and not beyond `end`. */
  private nearest(side: '<=' | '>', rank: number, end?: number): (Ranked & { rank: number }) | undefined {
    const { name, spec } = this.table;
    const order = side === '<=' ? 'DESC' : 'ASC';
    const limit = side === '<=' ? 'e.rank > ?' : 'e.rank < ?';
    const row = this.connection.first(
      `SELECT e.rank, d.id, d.${column(this.table, spec.words!.newest_by)} FROM ${this.names.entries} AS e
        CROSS JOIN ${name} AS d ON d.rowid = e.row
        WHERE e.rank ${side} ? AND ${limit} ORDER BY e.rank ${order} LIMIT 1`,
      [rank, end ?? 0],
    );
    return row && { rank: Number(row[0]), id: String(row[1]), newest_by: row[2]! };
  }

  /**
   * Moves as few of the following documents as possible up, so that a rank after `below` becomes free. Returns the rank
   * that then follows. `above` is the rank of the next document.
   */
  private makeRoom(below: number, above: number): number {
    const { entries } = this.names;
    const nextAfter = (rank: number): number | null =>
      this.connection.value(`SELECT min(rank) FROM ${entries} WHERE rank > ?`, [rank]) as number | null;
    const following = [above];
    let end = nextAfter(above);
    while (end !== null && end - below < 3 * (following.length + 1)) {
      following.push(end);
      end = nextAfter(end);
    }
    const step = end === null ? RANK_STEP : Math.floor((end - below) / (following.length + 1));
    for (const [n, rank] of [...following.entries()].reverse()) this.move(rank, below + (n + 1) * step);
    return below + step;
  }

  private move(from: number, to: number): void {
    const sql = `SELECT d.id FROM ${this.names.entries} AS e
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row WHERE e.rank = ?`;
    const entry = readEntry(this.connection, this.table, String(this.connection.value(sql, [from])))!;
    this.removeTerms(entry);
    this.connection.run(`UPDATE ${this.names.entries} SET rank = ? WHERE rank = ?`, [to, from]);
    this.addTerms({ ...entry, rank: to });
  }
}

interface Ranked {
  readonly id: string;
  readonly newest_by: SqlValue;
}

function isOlder(a: Ranked, b: Ranked): boolean {
  if (a.newest_by !== b.newest_by) return compare(a.newest_by, b.newest_by) < 0;
  return compare(a.id, b.id) < 0;
}

/** Compares like SQLite: null first, texts by their UTF-8 bytes. */
function compare(a: SqlValue, b: SqlValue): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareTexts(String(a), String(b));
}
