import { hash } from 'node:crypto';
import type { Key, ViewDocument } from '../../catalog/documents';
import { LRUCache } from '../../kernel/cache';
import type { WordMatch, WordScope, WordTerms } from '../../ports/view-store';
import type { SqlValue } from './connection';

/** Letters and digits in lower case and the marks: what the index's tokenizer takes for one token, as it is. */
const WORD = /^[a-z0-9:=\u0080-\u{10ffff}]+$/u;

/**
 * Hexadecimal digits before each word in the index, of a hash of its scope: a search walks the words of its own store
 * and visibility, however many other stores there are.
 */
const TAG_LENGTH = 20;

/** A store's documents are all of a few scopes. */
const tags = new LRUCache<string, string>({ max: 10_000 });

function tagOf(values: readonly Key[]): string {
  const name = JSON.stringify(values);
  const known = tags.get(name);
  if (known !== undefined) return known;
  const tag = hash('sha256', name, 'hex').slice(0, TAG_LENGTH);
  tags.set(name, tag);
  return tag;
}

/** The columns `words_scope` and `words` of a document of a searched collection. */
export function wordColumns(
  scope: readonly string[],
  { keys, words }: Pick<ViewDocument, 'keys' | 'words'>,
): Record<string, SqlValue> {
  if (!words) return { words_scope: null, words: null };
  return {
    words_scope: tagOf(scope.map((key) => keys[key] ?? null)),
    words: words.map(checkedWord).join(' '),
  };
}

export function fromWordsColumn(words: SqlValue): string[] {
  return words === '' ? [] : String(words).split(' ');
}

function checkedWord(word: string): string {
  if (WORD.test(word)) return word;
  throw new Error('a word is letters and digits in lower case');
}

export const wordsTable = (table: string): string => `${table}_words`;

/**
 * The index of a searched table: FTS5 over a view of it, kept by triggers in the writing statement itself, so that
 * documents and index cannot differ. It stores no text and no positions. Rows are never deleted, so the row ids that
 * it refers to run without gaps and survive a VACUUM.
 */
export function wordsSchema(table: string): string[] {
  const index = wordsTable(table);
  const text = (row: string): string =>
    `${row}words_scope || replace(${row}words, ' ', ' ' || ${row}words_scope)`;
  return [
    `CREATE VIEW ${table}_text AS SELECT rowid AS row, ${text('')} AS words FROM ${table} WHERE words <> ''`,
    `CREATE VIRTUAL TABLE ${index} USING fts5(words, content = '${table}_text', content_rowid = 'row', detail = none,
      columnsize = 0, prefix = '${TAG_LENGTH + 1}', tokenize = "ascii tokenchars ':='")`,
    `CREATE TRIGGER ${index}_insert AFTER INSERT ON ${table} WHEN new.words <> '' BEGIN
      INSERT INTO ${index} (rowid, words) VALUES (new.rowid, ${text('new.')});
    END`,
    `CREATE TRIGGER ${index}_update AFTER UPDATE OF words_scope, words ON ${table}
      WHEN new.words IS NOT old.words OR new.words_scope IS NOT old.words_scope
    BEGIN
      INSERT INTO ${index} (${index}, rowid, words)
        SELECT 'delete', old.rowid, ${text('old.')} WHERE old.words <> '';
      INSERT INTO ${index} (rowid, words) SELECT new.rowid, ${text('new.')} WHERE new.words <> '';
    END`,
  ];
}

/** Takes in the words of all documents that are there. */
export const indexAllWords = (table: string): string =>
  `INSERT INTO ${wordsTable(table)} (${wordsTable(table)}) VALUES ('rebuild')`;

/** Makes a table that was not searched before one that is: nothing is found until its documents are written again. */
export function searchableSchema(table: string): string {
  return `
    ALTER TABLE ${table} ADD COLUMN words_scope TEXT;
    ALTER TABLE ${table} ADD COLUMN words TEXT;
    ${wordsSchema(table).join(';')}`;
}

/** An FTS5 expression for terms that fit, and none of the terms `but`. At least one term is needed. */
export function matchExpression(tags: readonly string[], terms: WordTerms, but?: WordTerms): string {
  const expression = allOf(tags, terms);
  return but ? `(${expression}) NOT (${allOf(tags, but)})` : expression;
}

function allOf(tags: readonly string[], terms: WordTerms): string {
  return terms.map((matches) => `(${anyOf(tags, matches)})`).join(' AND ');
}

function anyOf(tags: readonly string[], matches: readonly WordMatch[]): string {
  // No word is empty and none without words is indexed, so a tag alone fits nothing.
  if (matches.length === 0) return `"${tags[0]}"`;
  return matches.flatMap((match) => tags.map((tag) => matchOne(tag, match))).join(' OR ');
}

function matchOne(tag: string, { word, prefix }: WordMatch): string {
  return `"${tag}${checkedWord(word)}"${prefix ? ' *' : ''}`;
}

/** A tag for each combination of the scope's values. */
export function tagsOf(keys: readonly string[], scope: WordScope): string[] {
  let combinations: Key[][] = [[]];
  for (const key of keys) {
    const condition = scope[key];
    if (condition === undefined) throw new Error(`a search by words names ${key}`);
    const values = typeof condition === 'object' ? [...new Set(condition.in)] : [condition];
    combinations = combinations.flatMap((before) => values.map((value) => [...before, value]));
  }
  return combinations.map(tagOf);
}
