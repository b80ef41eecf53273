import { rmSync } from 'node:fs';
import { buildWords, endOnlyWithStarter } from './build-indexes';
import { SqliteConnection } from './connection';
import { addIndexes } from './indexes';
import { tablesOf } from './tables';
import { VERSION_FILE } from './view-version';

/*
 * Main file of the process that creates the indexes of a version's file. Sends its progress. Its exit code is 0 if all
 * indexes exist.
 */

async function main(): Promise<void> {
  const built_words = buildWords(file, words_file, ending.signal);
  const connection = await SqliteConnection.open(file, VERSION_FILE);
  // An error means that the starter has ended, which is noticed below.
  const onProgress = (progress: object): void =>
    void process.send?.(progress, undefined, undefined, () => {});
  await addIndexes(connection, tablesOf(), { onProgress, words_file: built_words });
  connection.close();
}

const [, , file, words_file] = process.argv as [string, string, string, string];
const ending = new AbortController();
endOnlyWithStarter(() => {
  ending.abort();
  rmSync(words_file, { force: true });
});
main().then(
  () => process.exit(0),
  () => process.exit(1),
);
