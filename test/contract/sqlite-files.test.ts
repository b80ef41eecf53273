import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { pino } from 'pino';
import {
  SqliteConnection,
  type SqliteOptions,
  WAL_PAGES_MAX_UNATTENDED,
} from '../../shared/adapters/sqlite/connection';
import { openDisposable } from '../../shared/adapters/sqlite/disposable-file';
import { startWalCheckpoints } from '../../shared/adapters/sqlite/wal-checkpoints';
import { DamagedFileError } from '../../shared/kernel/errors';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const NOTES: SqliteOptions = {
  ...{ synchronous: 'NORMAL', format: 1, remedy: 'Delete it.' },
  schema: () => 'CREATE TABLE notes (text TEXT NOT NULL) STRICT',
};

let folder: TempDir;
let file: string;
beforeEach(() => {
  folder = makeTempDir();
  file = join(folder.path, 'notes.sqlite');
});
afterEach(() => folder.remove());

const read = (connection: SqliteConnection) => connection.all('SELECT text FROM notes');
const movedAside = () => readdirSync(folder.path).filter((name) => /\.damaged-.*Z$/.test(name));

test('a connection that keeps an old view of its file, and so cannot write any more, is replaced', async () => {
  const connection = await SqliteConnection.open(file, NOTES);
  const other = new Database(file, { timeout: 0 });
  other.exec('BEGIN IMMEDIATE');
  // libsql does not reset the refused statement, so that the next read leaves its view of the file open.
  const { database } = connection as unknown as { database: Database.Database };
  const refused = database.prepare('BEGIN IMMEDIATE');
  expect(() => refused.run([])).toThrow('locked');
  other.exec('ROLLBACK');
  expect(read(connection)).toEqual([]);
  const write = () => connection.attempt(() => connection.write("INSERT INTO notes VALUES ('own')"), 20);
  other.exec("INSERT INTO notes VALUES ('of another')");
  const seen = connection.dataVersion();

  await expect(write()).rejects.toMatchObject({ condition: 'database_timeout' });
  expect(connection.dataVersion()).not.toBe(seen);
  await waitFor(async () => (await connection.health()) === 'ok');
  await write();
  expect(read(connection)).toEqual([['of another'], ['own']]);

  // A lock that is never released: writes fail, and the health says so until they succeed again.
  other.exec('BEGIN IMMEDIATE');
  await expect(write()).rejects.toMatchObject({ condition: 'database_timeout' });
  await waitFor(async () => (await connection.health()) === 'not_writable');
  other.exec('ROLLBACK');
  await waitFor(async () => (await connection.health()) === 'ok');
  other.close();
  connection.close();
  expect(refused.reader).toBe(false);
});

describe('a file whose content may be lost', () => {
  test('is moved aside once if it is damaged, by the first of several that open it', async () => {
    writeFileSync(file, 'no database'.repeat(1_000));
    const moved: string[] = [];
    const onRecreated = ({ moved_to }: { moved_to: string }): void => void moved.push(moved_to);
    const opened = await Promise.all([1, 2, 3].map(() => openDisposable(file, { ...NOTES, onRecreated })));
    for (const notes of opened) expect(await notes.attempt(read)).toEqual([]);
    expect(moved).toHaveLength(1);
    expect(existsSync(moved[0]!)).toBe(true);
    for (const notes of opened) notes.close();
  });

  test('is reported if damage is noticed later, and moved at the next opening', async () => {
    const onDamage = jest.fn();
    const notes = await openDisposable(file, { ...NOTES, onDamage });
    const failing = () => {
      throw Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
    };
    await expect(notes.attempt(failing)).rejects.toBeInstanceOf(DamagedFileError);
    expect(onDamage).toHaveBeenCalledWith(expect.objectContaining({ file }));
    expect(await notes.health()).toBe('damaged');
    expect(movedAside()).toEqual([]);
    notes.close();
    writeFileSync(file, 'no database'.repeat(1_000));
    const reopened = await openDisposable(file, NOTES);
    expect(await reopened.attempt(read)).toEqual([]);
    expect(movedAside()).toHaveLength(1);
    reopened.close();
  });
});

test('the write-ahead log of a file is emptied for the process that writes it, which goes on writing', async () => {
  const ROW_BYTES = 100_000;
  /** More than `WAL_PAGES_MAX` pages of a connection that checkpoints itself. */
  const ROWS = 400;
  const openNotes = () => SqliteConnection.open(file, { ...NOTES, wal_pages_max: WAL_PAGES_MAX_UNATTENDED });
  const writeRows = (notes: SqliteConnection): void => {
    for (let row = 0; row < ROWS; row++) notes.write('INSERT INTO notes VALUES (?)', ['x'.repeat(ROW_BYTES)]);
  };
  const countRows = (notes: SqliteConnection): number => Number(notes.value('SELECT count(*) FROM notes'));
  const walBytes = (): number => statSync(`${file}-wal`).size;

  const notes = await openNotes();
  writeRows(notes);
  // The writing connection has not copied anything itself.
  expect(walBytes()).toBeGreaterThan(ROWS * ROW_BYTES);
  expect(statSync(file).size).toBeLessThan(ROW_BYTES);

  const stop = startWalCheckpoints([file, join(folder.path, 'absent.sqlite')], pino({ level: 'silent' }));
  await waitFor(() => walBytes() === 0, { what: 'an empty write-ahead log' });
  expect(statSync(file).size).toBeGreaterThan(ROWS * ROW_BYTES);
  writeRows(notes);
  expect(countRows(notes)).toBe(2 * ROWS);
  await waitFor(() => walBytes() === 0, { what: 'an empty write-ahead log' });
  stop();

  notes.close();
  const reopened = await openNotes();
  expect(countRows(reopened)).toBe(2 * ROWS);
  reopened.close();
});
