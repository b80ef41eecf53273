import { statSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { SqliteConnection, WAL_PAGES_MAX_UNATTENDED } from '../../shared/adapters/sqlite/connection';
import { startWalCheckpoints } from '../../shared/adapters/sqlite/wal-checkpoints';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const ROW_BYTES = 100_000;
/** More than `WAL_PAGES_MAX` pages of a connection that checkpoints itself. */
const ROWS = 400;

const openNotes = (file: string, wal_pages_max?: number): Promise<SqliteConnection> =>
  SqliteConnection.open(file, {
    ...{ synchronous: 'NORMAL', schema: 'CREATE TABLE notes (text TEXT NOT NULL) STRICT', format: 1 },
    ...{ remedy: 'Delete it.', wal_pages_max },
  });

const writeRows = (notes: SqliteConnection): void => {
  for (let row = 0; row < ROWS; row++) notes.write('INSERT INTO notes VALUES (?)', ['x'.repeat(ROW_BYTES)]);
};
const countRows = (notes: SqliteConnection): number => Number(notes.value('SELECT count(*) FROM notes'));
const walBytes = (file: string): number => statSync(`${file}-wal`).size;

test('the write-ahead log of a file is emptied for the process that writes it, which goes on writing', () =>
  withTempDir(async (folder) => {
    const file = join(folder, 'notes.sqlite');
    const notes = await openNotes(file, WAL_PAGES_MAX_UNATTENDED);
    writeRows(notes);
    // The writing connection has not copied anything itself.
    expect(walBytes(file)).toBeGreaterThan(ROWS * ROW_BYTES);
    expect(statSync(file).size).toBeLessThan(ROW_BYTES);

    const stop = startWalCheckpoints([file, join(folder, 'absent.sqlite')], pino({ level: 'silent' }));
    await waitFor(() => walBytes(file) === 0, { what: 'an empty write-ahead log' });
    expect(statSync(file).size).toBeGreaterThan(ROWS * ROW_BYTES);
    writeRows(notes);
    expect(countRows(notes)).toBe(2 * ROWS);
    await waitFor(() => walBytes(file) === 0, { what: 'an empty write-ahead log' });
    stop();

    notes.close();
    const reopened = await openNotes(file);
    expect(countRows(reopened)).toBe(2 * ROWS);
    reopened.close();
  }));
