import { existsSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { SqliteConnection } from '../../shared/adapters/sqlite/connection';
import { DisposableFile } from '../../shared/adapters/sqlite/disposable-file';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const options = {
  synchronous: 'NORMAL',
  schema: 'CREATE TABLE notes (text TEXT) STRICT',
  format: 1,
} as const;

const read = (connection: SqliteConnection) => connection.all('SELECT text FROM notes');

/** Returns work that SQLite fails once as it fails a read that the disk did not complete. */
function failingOnce<Result>(work: (connection: SqliteConnection) => Result) {
  let failed = false;
  return (connection: SqliteConnection): Result => {
    if (failed) return work(connection);
    failed = true;
    throw Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
  };
}

test('a healthy file stays in its place if a single read of it fails', () =>
  withTempDir(async (folder) => {
    const file = join(folder, 'notes.sqlite');
    const notes = await DisposableFile.open(file, options);
    await notes.attempt((connection) => connection.write("INSERT INTO notes VALUES ('kept')"));
    const { ino } = statSync(file);
    expect(await notes.attempt(failingOnce(read))).toEqual([['kept']]);
    expect(statSync(file).ino).toBe(ino);
    expect(readdirSync(folder).filter((name) => name.includes('.damaged-'))).toEqual([]);
    notes.close();
  }));

test('a connection that keeps an old view of its file, and so cannot write any more, is replaced', () =>
  withTempDir(async (folder) => {
    const file = join(folder, 'notes.sqlite');
    const connection = await SqliteConnection.open(file, { ...options, remedy: 'Delete it.' });
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
    expect(await connection.health()).toBe('ok');
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
  }));

test('a file that is no database is moved aside once, and replaced by an empty one', () =>
  withTempDir(async (folder) => {
    const file = join(folder, 'notes.sqlite');
    writeFileSync(file, 'no database'.repeat(1_000));
    const moved: string[] = [];
    const onRecreated = ({ moved_to }: { moved_to: string }): void => void moved.push(moved_to);
    const opened = await Promise.all(
      [1, 2, 3].map(() => DisposableFile.open(file, { ...options, onRecreated })),
    );
    for (const notes of opened) expect(await notes.attempt(read)).toEqual([]);
    expect(moved).toHaveLength(1);
    for (const notes of opened) notes.close();
  }));

test('a process that opens a file while another one moves it waits for the end of the move', () =>
  withTempDir(async (folder) => {
    const file = join(folder, 'notes.sqlite');
    const damaged = await DisposableFile.open(file, options);
    await damaged.attempt((connection) => connection.write("INSERT INTO notes VALUES ('moved')"));
    const mover = new Database(`${file}.moving`);
    mover.exec('BEGIN EXCLUSIVE');
    for (const suffix of ['-wal', '-shm']) renameSync(file + suffix, `${file}.damaged${suffix}`);

    const opening = DisposableFile.open(file, options);
    for (let turns = 0; turns < 20; turns++) await nextTurn();
    expect(existsSync(`${file}-wal`)).toBe(false);
    renameSync(file, `${file}.damaged`);
    mover.exec('ROLLBACK');
    mover.close();

    const notes = await opening;
    expect(await notes.attempt(read)).toEqual([]);
    notes.close();
    damaged.close();
  }));
