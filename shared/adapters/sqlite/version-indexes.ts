import { setImmediate as nextTurn } from 'node:timers/promises';
import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import type { Connection } from './connection';
import { type Index, indexes, tables } from './documents';
import { indexAllWords, wordsSchema, wordsTable } from './words';

/*
 * To put a publication into a dozen indexes one at a time takes longer than to fold it, and a sort of all of them at
 * the end a moment. So a version that is being made has but what its making asks for; the rest comes before it is read.
 */

/** The large collections; of the others, all is indexed from the start. */
const LATE: ReadonlySet<CollectionName> = new Set(['publications', 'reviews']);
/** By this a listing's publications are found that its change concerns, or that move up in it. */
const PARENT = 'listing_id';

const firstOfParent = indexes.find(({ first }) => first === PARENT);
const isEarly = (index: Index): boolean => !LATE.has(index.table.name) || index === firstOfParent;

/** Part of the schema that a version begins with. */
export const EARLY_INDEXES = earlyIndexes(COLLECTION_NAMES);

/** Those of these collections. */
export function earlyIndexes(names: readonly CollectionName[]): string {
  const early = indexes.filter((index) => isEarly(index) && names.includes(index.table.name));
  return early.map(({ ddl }) => ddl).join(';\n');
}

interface Step {
  /** Of what is there in the end, among the file's tables and indexes. */
  readonly name: string;
  readonly statements: readonly string[];
}

const SEARCHED = Object.values(tables).filter(({ spec }) => spec.words !== undefined);

const STEPS: readonly Step[] = [
  ...indexes.filter((index) => !isEarly(index)).map(({ name, ddl }) => ({ name, statements: [ddl] })),
  ...SEARCHED.map(({ name }) => ({
    name: wordsTable(name),
    statements: [...wordsSchema(name), indexAllWords(name)],
  })),
];

/** Whether the version has all that reads ask for. */
export function isIndexed(connection: Connection): boolean {
  const names = new Set(connection.all('SELECT name FROM sqlite_master').map(([name]) => name));
  return STEPS.every(({ name }) => names.has(name));
}

/** Makes what is missing, each index in a transaction of its own; others of the process get their turn in between. */
export async function addIndexes(connection: Connection): Promise<void> {
  for (const step of STEPS) {
    await connection.attempt(() => connection.transaction(() => take(connection, step)));
    await nextTurn();
  }
}

function take(connection: Connection, { name, statements }: Step): void {
  if (connection.value('SELECT 1 FROM sqlite_master WHERE name = ?', [name]) !== undefined) return;
  for (const statement of statements) connection.run(statement);
}
