import { rmSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { endOnlyWithStarter } from './build-indexes';
import { DOCUMENTS_FILE, NOTE_CHECKPOINTS } from './indexes';
import { type Table, tablesOf } from './tables';
import { indexStatements, indexTables } from './word-index';

/*
 * Main file of the process that indexes the words of a version's documents in a file of its own, whose name is the second
 * argument. Its exit code is 0 if the file is complete.
 */

/** The file is made anew after a crash, so nothing need be safe in it. */
const FAST = 'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32000';
/** Ranks for each read of the documents. A longer read would keep the write-ahead log of their file from being emptied. */
const RANKS_PER_READ = 800_000;

async function main(): Promise<void> {
  const database = new Database(words_file, { timeout: 5_000 });
  database.exec(FAST);
  database.prepare(`ATTACH ? AS ${DOCUMENTS_FILE}`).run([file]);
  database.exec(NOTE_CHECKPOINTS);
  for (const table of Object.values(tablesOf())) if (table.spec.words) await indexWords(database, table);
  database.close();
}

/** The statements find the table in the attached file. They create the index in this one. */
async function indexWords(database: Database.Database, table: Table): Promise<void> {
  const { create, number, fill, finish } = indexStatements(table);
  for (const statement of [...create, ...number]) database.exec(statement);
  const { last } = database.prepare(`SELECT max(rank) AS last FROM ${indexTables(table).entries}`).get() as {
    last: number | null;
  };
  for (let rank = 0; rank < (last ?? 0); rank += RANKS_PER_READ) {
    database.prepare(fill).run([rank, rank + RANKS_PER_READ]);
    await nextTurn();
  }
  for (const statement of finish) database.exec(statement);
}

const [, , file, words_file] = process.argv as [string, string, string, string];
endOnlyWithStarter(() => rmSync(words_file, { force: true }));
main().then(
  () => process.exit(0),
  () => process.exit(1),
);
