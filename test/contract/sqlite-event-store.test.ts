import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { SqliteEventStore, type SqliteEventStoreOptions } from '../../shared/adapters/sqlite/event-store';
import { LIST_FILE, versionFile } from '../../shared/adapters/sqlite/view-store';
import { type RecordedEvent, START, type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { NO_STREAM } from '../../shared/ports/event-store';
import type { AppendReport } from '../support/append-process';
import { readLog } from '../support/read-log';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';
import { anEvent, someEvents } from './some-events';

const STREAM = streamName('live', 'publication', '1');
const OTHER = streamName('live', 'publication', '2');

describe('the event store on SQLite', () => {
  let folder: TempDir;
  let file: string;
  const opened: SqliteEventStore[] = [];
  const children: ChildProcess[] = [];

  beforeEach(() => {
    folder = makeTempDir();
    file = join(folder.path, 'events.sqlite');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    for (const store of opened.splice(0)) await store.close();
    folder.remove();
  });

  async function open(limits: Omit<SqliteEventStoreOptions, 'file'> = {}): Promise<SqliteEventStore> {
    const store = await SqliteEventStore.open({ file, ...limits });
    opened.push(store);
    return store;
  }

  /** Starts a process that appends. `reports` collects its messages. */
  function appendProcess(stream: StreamName | '-', appends: number) {
    const script = join(__dirname, '../support/append-process.js');
    const child = fork(script, [file, stream, String(appends)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    children.push(child);
    const reports: AppendReport[] = [];
    const exited = once(child, 'exit');
    child.on('message', (report) => void reports.push(report as AppendReport));
    return {
      child,
      exited: () => within(exited, 'the appending process to exit'),
      begin: async () => {
        await waitFor(() => reports.length > 0, { what: 'the process to be ready' });
        child.send('begin');
      },
      acknowledged: () =>
        reports.flatMap((report) => ('acknowledged' in report ? [report.acknowledged] : [])),
      lostRaces: () => reports.flatMap((report) => ('lost_races' in report ? [report.lost_races] : []))[0],
    };
  }

  test('appends acknowledged by a killed process are stored', async () => {
    const writer = appendProcess('-', 100_000);
    await writer.begin();
    await waitFor(() => writer.acknowledged().length > 200, { what: 'acknowledged appends' });
    writer.child.kill('SIGKILL');
    await writer.exited();
    const acknowledged = writer.acknowledged();
    const events = await readLog(await open());
    const stored = new Set(events.map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(events.length).toBeLessThan(100_000);
    // The log accepts further appends.
    await expect((await open()).append(STREAM, NO_STREAM, someEvents(1))).resolves.toMatchObject({
      outcome: 'appended',
    });
  });

  test('several processes can create a log at the same time and append to one stream', async () => {
    const writers = [1, 2, 3].map(() => appendProcess(STREAM, 60));
    await Promise.all(writers.map(({ begin }) => begin()));
    await Promise.all(writers.map(({ exited }) => exited()));
    const events = await (await open()).readStream(STREAM);
    expect(events.map(({ revision }) => revision)).toEqual(Array.from({ length: 180 }, (_, n) => n));
    expect(events.map(({ id }) => id).sort()).toEqual(writers.flatMap((one) => one.acknowledged()).sort());
    expect(writers.map((one) => one.lostRaces())).not.toContain(undefined);
  });

  test('a failing append does not fail the others of its transaction', async () => {
    await (await open()).close();
    // Files of earlier releases refuse an event id that another stream has.
    const database = new Database(file);
    database.exec('CREATE UNIQUE INDEX ids ON events (id)');
    database.close();
    const store = await open();
    const used = anEvent();
    await store.append(OTHER, NO_STREAM, [used]);
    const [good, bad, late] = await Promise.allSettled([
      store.append(STREAM, NO_STREAM, someEvents(2)),
      // The first event must be rolled back.
      store.append(streamName('live', 'publication', '3'), NO_STREAM, [anEvent(), { ...used }]),
      store.append(STREAM, 1, someEvents(1)),
    ]);
    expect([good.status, bad.status, late.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await readLog(store)).toHaveLength(4);
  });

  test('an event that cannot be JSON fails its own append only', async () => {
    const store = await open();
    const data = { position: 1n } as unknown as RecordedEvent['data'];
    const results = await Promise.allSettled([
      store.append(STREAM, NO_STREAM, [anEvent(data)]),
      store.append(OTHER, NO_STREAM, someEvents(1)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  test('appends that arrive during or directly after a commit are committed too', async () => {
    const store = await open();
    const chain = async (stream: StreamName): Promise<void> => {
      for (let revision = NO_STREAM; revision < 50; revision++)
        await store.append(stream, revision, someEvents(1));
    };
    await Promise.all([STREAM, OTHER].map(chain));
    expect(await readLog(store)).toHaveLength(102);
  });

  test('appends that arrive turn after turn share commits, but none waits for the end of the others', async () => {
    let commits = 0;
    const store = await open({ commits: { publish: () => commits++, listen: () => {} } });
    const appends: Promise<unknown>[] = [];
    const appendInTurns = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) {
        const next = nextTurn();
        const stream = streamName('live', 'review', String(appends.length));
        appends.push(store.append(stream, NO_STREAM, [anEvent()]));
        await next;
      }
    };
    await appendInTurns(5);
    await Promise.all(appends);
    expect(commits).toBe(1);
    const arriving = appendInTurns(50);
    await appends[5];
    expect(appends.length).toBeLessThan(5 + 50);
    await arriving;
  });

  test('more appends than fit one transaction are committed in order of arrival', async () => {
    const store = await open();
    const appends = Array.from({ length: 30 }, (_, n) => store.append(STREAM, n * 100 - 1, someEvents(100)));
    expect((await Promise.all(appends)).map(({ outcome }) => outcome)).toEqual(Array(30).fill('appended'));
    expect(await store.readStream(STREAM)).toHaveLength(3_000);
  });

  test('close commits pending appends', async () => {
    const store = await open();
    const appending = store.append(STREAM, NO_STREAM, someEvents(2));
    await store.close();
    await expect(appending).resolves.toMatchObject({ outcome: 'appended' });
    expect(await readLog(await open())).toHaveLength(2);
  });

  test('many appends at once share several transactions, so that other work runs between them', async () => {
    const store = await open();
    const appends = Array.from({ length: 1_000 }, (_, n) =>
      store.append(streamName('live', 'publication', String(n)), NO_STREAM, someEvents(1)),
    );
    await appends[0];
    expect(await store.head()).toBeLessThan(500n);
    await Promise.all(appends);
    expect(await store.head()).toBe(1_000n);
  });

  test('waits for the lock of another process without blocking this one', async () => {
    const store = await open();
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    const appending = store.append(STREAM, NO_STREAM, someEvents(1));
    await waitFor(() => turns > 5);
    clearInterval(ticking);
    other.exec('ROLLBACK');
    await expect(appending).resolves.toMatchObject({ outcome: 'appended' });
    other.close();
  });

  test('a lock that is not released in time is a timeout, and the append can be repeated', async () => {
    const store = await open({ timeout_ms: 30 });
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    const events = someEvents(1);
    const timeout = { condition: 'database_timeout' };
    await expect(store.append(STREAM, NO_STREAM, events)).rejects.toMatchObject(timeout);
    other.exec('ROLLBACK');
    await expect(store.append(STREAM, NO_STREAM, events)).resolves.toMatchObject({ outcome: 'appended' });
    other.close();
  });

  test('a waiting subscription does not block a checkpoint of the write-ahead log', async () => {
    const store = await open();
    await store.append(STREAM, NO_STREAM, someEvents(300));
    const reader = await open();
    const ending = new AbortController();
    const batches = reader.subscribe({ after: START, signal: ending.signal, batch_size: 100 });
    await within(batches[Symbol.asyncIterator]().next(), 'the first batch');
    await store.append(STREAM, 299, someEvents(1));
    const third = new Database(file);
    expect(third.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()).toEqual([
      { busy: 0, log: 0, checkpointed: 0 },
    ]);
    third.close();
    ending.abort();
  });

  test('rejects a file that has another format, is not a database, or cannot be opened', async () => {
    const store = await open();
    await store.close();
    const other = new Database(file);
    other.exec('PRAGMA user_version = 99');
    other.close();
    await expect(open()).rejects.toThrow('format 99');
    file = join(folder.path, 'scrambled.sqlite');
    writeFileSync(file, 'no database '.repeat(500));
    await expect(open()).rejects.toThrow(`${file} is damaged`);
    file = join(folder.path, 'nowhere', 'events.sqlite');
    await expect(open()).rejects.toMatchObject({ condition: 'unavailable' });
  });

  describe('a log that has lost its content', () => {
    const lost = () => expect(open()).rejects.toThrow(`${file} is missing or empty, but `);

    test.each([
      ['truncated to nothing', () => truncateSync(file)],
      ['removed', () => rmSync(file)],
    ])('is not replaced by an empty one next to documents: %s', async (_, lose) => {
      const store = await open();
      await store.append(STREAM, NO_STREAM, someEvents(1));
      await store.close();
      writeFileSync(join(folder.path, versionFile(3)), 'documents');
      lose();
      await lost();
      expect(statSync(file, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    });

    test('is not replaced next to its write-ahead log, which SQLite would delete', async () => {
      const store = await open();
      await store.append(STREAM, NO_STREAM, someEvents(1));
      const write_ahead = readFileSync(`${file}-wal`);
      await store.close();
      truncateSync(file);
      writeFileSync(`${file}-wal`, write_ahead);
      await lost();
      expect(readFileSync(`${file}-wal`).equals(write_ahead)).toBe(true);
    });

    test('is not replaced if only its first page is left', async () => {
      const first = new Database(file);
      first.exec('PRAGMA journal_mode = WAL');
      first.close();
      expect(statSync(file).size).toBe(4_096);
      writeFileSync(join(folder.path, LIST_FILE), 'documents');
      await lost();
      rmSync(join(folder.path, LIST_FILE));
      await open();
    });

    test('an empty file of a start that was interrupted is a new log', async () => {
      writeFileSync(file, '');
      writeFileSync(join(folder.path, LIST_FILE), '');
      expect(await readLog(await open())).toEqual([]);
    });
  });

  test('a damaged file of snapshots is replaced, and the log is not concerned', async () => {
    const snapshot = { schema: 'a', revision: 0, event_id: 'b', state: { tag: 'absent' } };
    const before = await open();
    await before.append(STREAM, NO_STREAM, someEvents(1));
    await before.snapshots.write(STREAM, snapshot);
    await before.close();
    writeFileSync(join(folder.path, 'snapshots.sqlite'), 'no database '.repeat(1_000));
    const recreated: string[] = [];
    const after = await open({ onRecreated: (moved) => recreated.push(moved.file) });
    expect(await after.snapshots.read(STREAM)).toBeUndefined();
    expect(recreated).toEqual([join(folder.path, 'snapshots.sqlite')]);
    await after.snapshots.write(STREAM, snapshot);
    expect(await after.snapshots.read(STREAM)).toEqual(snapshot);
    expect(await after.readStream(STREAM)).toHaveLength(1);
  });

  test('yields large events in small batches', async () => {
    const store = await open();
    const EVENTS = 30;
    for (let n = 0; n < EVENTS; n++)
      await store.append(STREAM, n - 1, [anEvent({ text: 'x'.repeat(800_000) })]);
    const ending = new AbortController();
    const sizes: number[] = [];
    for await (const { events, caught_up } of store.subscribe({
      ...{ after: START, signal: ending.signal, batch_size: 2_000 },
    })) {
      sizes.push(events.length);
      if (caught_up) break;
    }
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(EVENTS);
    expect(Math.max(...sizes.slice(1))).toBeLessThanOrEqual(10);
  });
});
