import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { Cli, expectFailure } from '../api/cli-run';
import { type Answers, makeDataFolder, unpackDataFolder } from '../fixtures/data-folder';
import { fetch } from '../support/fetch';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { makeTempDir, type TempDir, withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * Files of the embedded stores that a disk has damaged. Commands end and name the file, the service continues with what
 * works, and whatever can be made again is made again.
 */

const PAGE_BYTES = 4_096;
const MAIN = 'services/boot/main.js';

const DAMAGES: Readonly<Record<string, (file: string) => void>> = {
  'a page in the middle overwritten': (file) => {
    const open = openSync(file, 'r+');
    writeSync(open, Buffer.alloc(PAGE_BYTES, 0xab), 0, PAGE_BYTES, middleOf(file));
    closeSync(open);
  },
  emptied: (file) => truncateSync(file),
  truncated: (file) => truncateSync(file, middleOf(file)),
  'random bytes': (file) => writeFileSync(file, randomBytes(statSync(file).size)),
  missing: (file) => rmSync(file),
};
const DAMAGES_OF_DOCUMENTS = Object.keys(DAMAGES).filter((how) => how !== 'emptied');

const middleOf = (file: string): number => Math.floor(statSync(file).size / 2 / PAGE_BYTES) * PAGE_BYTES;
const damage = (how: string, file: string): void => DAMAGES[how]!(file);

let archives: TempDir;
const archive = (): string => join(archives.path, 'data-folder.tar.gz');

beforeAll(() => {
  archives = makeTempDir();
  makeDataFolder(archive());
});
afterEach(endAll);
afterAll(() => archives.remove());

interface Shop extends Answers {
  readonly folder: string;
  readonly cli: Cli;
  start(settings?: Record<string, string>): Promise<RunningProcess>;
}

/** Runs the story on a copy of a data folder with events, documents and keys. */
async function withShop(story: (shop: Shop) => Promise<void>): Promise<void> {
  await withTempDir(async (temporary) => {
    const { data_dir: folder, ...known } = unpackDataFolder(temporary, archive());
    const settings = { DATA_DIR: folder, LOG_LEVEL: 'info', START_TIMEOUT_S: '20' };
    const cli = new Cli(folder, { LOG_LEVEL: 'silent' });
    const start = (own = {}) => startProcess(MAIN, { ...settings, ...own });
    await story({ ...known, folder, cli, start });
  });
}

async function tokenOf(url: string, { keys }: Answers): Promise<string> {
  const reply = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': keys.secret } });
  return ((await reply.json()) as { data: { token: string } }).data.token;
}

/** Creates a listing with an idempotency key. Returns the answer. */
async function create(url: string, token: string, key: string): Promise<{ status: number; text: string }> {
  const reply = await fetch(`${url}/api/listing`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ name: 'Tea' }),
  });
  return { status: reply.status, text: await reply.text() };
}

/** Returns what `/health/ready` says about the realm `live`. */
async function readiness(url: string): Promise<{ status: number; live: Record<string, unknown> }> {
  const reply = await fetch(`${url}/health/ready`);
  const body = (await reply.json()) as {
    data?: { live: Record<string, unknown> };
    error?: { details: { live: Record<string, unknown> } };
  };
  return { status: reply.status, live: (body.data ?? body.error!.details).live };
}

/** Expects the answers that the data folder gave before, as the owner of the shop sees them. */
async function expectSameAnswers(url: string, shop: Shop): Promise<void> {
  const token = await tokenOf(url, shop);
  const answers = shop.answers.filter(({ key }) => key === 'secret');
  expect(answers.length).toBeGreaterThan(20);
  for (const { path, status, body } of answers) {
    const reply = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect({ path, status: reply.status, body: await reply.text() }).toEqual({ path, status, body });
  }
}

const movedAside = (folder: string, name: string): string[] =>
  readdirSync(folder).filter((found) => found.startsWith(`${name}.damaged-`) && /Z$/.test(found));

describe('a damaged log', () => {
  test.each(['verify', 'rebuild'])('ends "projections %s", which names the file', (command) =>
    withShop(async ({ folder, cli }) => {
      const file = join(folder, 'live', 'events.sqlite');
      damage('a page in the middle overwritten', file);
      const before = readFileSync(file);
      expectFailure(
        await cli.run('projections', command, '--realm', 'live'),
        1,
        `${file} is damaged. Restore it from a back-up`,
      );
      expect(readFileSync(file).equals(before)).toBe(true);
    }),
  );

  test('is logged once and shown in readiness while the service continues with what works', () =>
    withShop(async (shop) => {
      // Without documents, the service must read the whole log.
      for (const name of readdirSync(join(shop.folder, 'live')))
        if (name.startsWith('views')) rmSync(join(shop.folder, 'live', name));
      damage('a page in the middle overwritten', join(shop.folder, 'live', 'events.sqlite'));
      const { url, warnings, end } = await shop.start();
      await waitFor(async () => (await readiness(url)).live.event_store === 'damaged', {
        what: 'readiness to show the damage',
      });
      expect((await tokenOf(url, shop)).length).toBeGreaterThan(20);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(warnings.filter((line) => line.includes('events.sqlite is damaged'))).toHaveLength(1);
      expect(warnings.filter((line) => line.includes('retrying') || line.includes('restarting'))).toEqual([]);
      expect(await end('SIGTERM')).toBe(0);
    }));

  test('that is no database any more prevents the start, which names the file', () =>
    withShop(async ({ folder, start }) => {
      const file = join(folder, 'live', 'events.sqlite');
      damage('random bytes', file);
      await expect(start()).rejects.toThrow(`${file} is damaged. Restore it from a back-up`);
    }));

  test.each(['emptied', 'missing'])('that is %s prevents the start, which names the file', (how) =>
    withShop(async ({ folder, start, cli }) => {
      const file = join(folder, 'live', 'events.sqlite');
      damage(how, file);
      await expect(start()).rejects.toThrow(`${file} is missing or empty, but `);
      expectFailure(await cli.run('projections', 'verify'), 1, 'Restore it from a back-up');
      expect(existsSync(file)).toBe(how === 'emptied');
      expect(existsSync(join(folder, 'live', 'views-v1.sqlite'))).toBe(true);
    }),
  );
});

describe.each(DAMAGES_OF_DOCUMENTS)('the file of the active version is damaged: %s', (how) => {
  test('"projections rebuild" makes the documents again, and "verify" names the file before', () =>
    withShop(async (shop) => {
      const { folder, cli } = shop;
      const file = join(folder, 'live', 'views-v1.sqlite');
      damage(how, file);
      expectFailure(
        await cli.run('projections', 'verify', '--realm', 'live'),
        1,
        `${file} is ${how === 'missing' ? 'missing' : 'damaged'}. Run "catalog projections rebuild"`,
      );
      expect(await cli.run('projections', 'rebuild', '--realm', 'live')).toMatchObject({
        code: 0,
        stderr: '',
      });
      expect(await cli.run('projections', 'drop', '--realm', 'live')).toMatchObject({ code: 0 });
      expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0 });
      const { url, end } = await shop.start();
      await expectSameAnswers(url, shop);
      expect(await end('SIGTERM')).toBe(0);
    }));
});

test('a rebuild next to a running service replaces a damaged version, without a restart', () =>
  withShop(async (shop) => {
    damage('truncated', join(shop.folder, 'live', 'views-v1.sqlite'));
    const { url, warnings, end } = await shop.start();
    const before = await fetch(`${url}${shop.answers[0]!.path}`, {
      headers: { authorization: `Bearer ${await tokenOf(url, shop)}` },
    });
    expect(before.status).toBe(503);
    expect(await before.text()).not.toContain(shop.folder);
    expect(await readiness(url)).toMatchObject({ status: 503, live: { view_store: 'damaged' } });
    expect(warnings.filter((line) => /"level":"error".*views-v1.sqlite is damaged/.test(line))).toHaveLength(
      1,
    );
    expect(await shop.cli.run('projections', 'rebuild', '--realm', 'live')).toMatchObject({ code: 0 });
    await waitFor(async () => (await readiness(url)).status === 200, { what: 'the service to be ready' });
    const token = await tokenOf(url, shop);
    expect((await create(url, token, 'after-rebuild-0001')).status).toBe(201);
    expect(await end('SIGTERM')).toBe(0);
    expect(await shop.cli.run('projections', 'verify')).toMatchObject({ code: 0 });
  }));

describe('while two processes have a file open, it is', () => {
  const OF_A_FILE = ['', '-wal', '-shm'];
  const moveAway = (file: string): void => {
    for (const suffix of OF_A_FILE)
      if (existsSync(file + suffix)) renameSync(file + suffix, `${file}.former${suffix}`);
  };
  const moveLogAway = (file: string): void => {
    for (const suffix of ['-wal', '-shm']) renameSync(file + suffix, `${file}.former${suffix}`);
  };
  const putBack = (file: string): void => {
    for (const suffix of existsSync(`${file}.former`) ? OF_A_FILE : ['-wal', '-shm']) {
      rmSync(file + suffix, { force: true });
      if (existsSync(`${file}.former${suffix}`)) renameSync(`${file}.former${suffix}`, file + suffix);
    }
  };
  const replace = (file: string): void => {
    const database = new Database(file, { timeout: 5_000 });
    database.exec(`VACUUM INTO '${file}.copy'`);
    database.close();
    moveAway(file);
    renameSync(`${file}.copy`, file);
  };

  /** Starts the service. `callMany` sends requests, each on a connection of its own, so that both processes answer. */
  async function startTwo(shop: Shop) {
    const running = await shop.start({ WORKERS: '2' });
    const token = await tokenOf(running.url, shop);
    const { path } = shop.answers.find(({ key, status }) => key === 'secret' && status === 200)!;
    const read = async () => {
      const headers = { authorization: `Bearer ${token}`, connection: 'close' };
      const reply = await fetch(`${running.url}${path}`, { headers });
      return { status: reply.status, text: await reply.text() };
    };
    const write = () => create(running.url, token, randomUUID());
    const callMany = async (call: typeof read) => Promise.all(Array.from({ length: 8 }, call));
    await callMany(read);
    return { ...running, read, write, callMany };
  }

  test.each([
    ['the log', 'deleted', 'events.sqlite', moveAway, 'event_store'],
    ['the log', 'replaced', 'events.sqlite', replace, 'event_store'],
    ['the write-ahead log of the log', 'deleted', 'events.sqlite', moveLogAway, 'event_store'],
    ['the documents', 'deleted', 'views-v1.sqlite', moveAway, 'view_store'],
  ] as const)(
    '%s, %s: the service is not ready, and both answer 503 until it is back',
    (_, __, name, change, store) =>
      withShop(async (shop) => {
        const { url, warnings, read, write, callMany, end } = await startTwo(shop);
        const file = join(shop.folder, 'live', name);
        change(file);
        await waitFor(async () => {
          const { status, live } = await readiness(url);
          return status === 503 && live[store] === 'damaged';
        });
        // Each process looks at the file once per second.
        const call = store === 'event_store' ? write : read;
        await waitFor(async () => (await callMany(call)).every(({ status }) => status === 503));
        for (const { status, text } of await callMany(call)) {
          expect(status).toBe(503);
          expect(text).not.toContain(shop.folder);
        }
        const shown = new RegExp(
          `"level":"error".*${name} (was deleted or replaced while it was open|is missing)`,
        );
        expect(warnings.filter((line) => shown.test(line))).toHaveLength(1);

        putBack(file);
        await waitFor(async () => (await readiness(url)).status === 200, { what: 'the service to be ready' });
        await waitFor(async () => (await callMany(call)).every(({ status }) => status < 300));
        expect(await end('SIGTERM')).toBe(0);
        expect(await shop.cli.run('projections', 'verify')).toMatchObject({ code: 0 });
      }),
  );

  test('the documents, replaced: both processes read and project into the new file', () =>
    withShop(async (shop) => {
      const { url, read, write, callMany, end } = await startTwo(shop);
      const before = JSON.parse((await read()).text).data.stats.listing_count as number;
      replace(join(shop.folder, 'live', 'views-v1.sqlite'));
      await waitFor(async () => (await write()).status === 201);
      const counts = async () =>
        (await callMany(read)).map(({ text }) => JSON.parse(text).data?.stats.listing_count as number);
      await waitFor(async () => (await counts()).every((count) => count === before + 1));
      await waitFor(async () => (await readiness(url)).status === 200);
      expect(await end('SIGTERM')).toBe(0);
      expect(await shop.cli.run('projections', 'verify')).toMatchObject({ code: 0 });
    }));
});

test('a rebuild does not continue a damaged version of an interrupted rebuild', () =>
  withShop(async ({ folder, cli }) => {
    const interrupted = cli.start('projections', 'rebuild', '--realm', 'live');
    const file = join(folder, 'live', 'views-v2.sqlite');
    await waitFor(() => existsSync(file), { what: 'the new version' });
    interrupted.kill('SIGKILL');
    await once(interrupted, 'exit');
    writeFileSync(file, randomBytes(40 * PAGE_BYTES));
    // It contains every page that was written, so SQLite would restore the file from it.
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
    const { realms } = await cli.json('projections', 'status', '--realm', 'live');
    expect(realms[0].versions).toMatchObject([
      { version: 2, damaged: true },
      { version: 1, status: 'active', damaged: false },
    ]);
    expect(await cli.run('projections', 'rebuild', '--realm', 'live')).toMatchObject({ code: 0 });
    expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0 });
  }));

test.each(['truncated', 'random bytes', 'a page in the middle overwritten'])(
  'a damaged list of versions (%s) is moved aside, and the documents are made again',
  (how) =>
    withShop(async (shop) => {
      damage(how, join(shop.folder, 'live', 'views.sqlite'));
      const { url, warnings, end } = await shop.start();
      await expectSameAnswers(url, shop);
      expect(movedAside(join(shop.folder, 'live'), 'views.sqlite')).toHaveLength(1);
      expect(warnings.filter((line) => line.includes('moved it aside'))).toHaveLength(1);
      expect(await end('SIGTERM')).toBe(0);
      expect(await shop.cli.run('projections', 'verify')).toMatchObject({ code: 0 });
    }),
);

describe.each(['idempotency.sqlite', 'limits.sqlite'])('a damaged %s', (name) => {
  test.each(['truncated', 'random bytes', 'a page in the middle overwritten'])(
    'is moved aside at the start or when it is noticed: %s',
    (how) =>
      withShop(async (shop) => {
        damage(how, join(shop.folder, name));
        const { url, faults, end } = await shop.start();
        const token = await tokenOf(url, shop);
        const first = await create(url, token, 'the-same-key-0001');
        expect(first.status).toBe(201);
        expect(await create(url, token, 'the-same-key-0001')).toEqual(first);
        expect(faults).toEqual([]);
        expect(await end('SIGTERM')).toBe(0);
        expect(movedAside(shop.folder, name).length).toBeLessThanOrEqual(1);
        if (how === 'random bytes') expect(movedAside(shop.folder, name)).toHaveLength(1);
      }),
  );
});

test('of several processes that find idempotency.sqlite damaged, one moves it, and all use the new one', () =>
  withShop(async (shop) => {
    damage('random bytes', join(shop.folder, 'idempotency.sqlite'));
    const processes = await Promise.all([shop.start(), shop.start(), shop.start()]);
    expect(movedAside(shop.folder, 'idempotency.sqlite')).toHaveLength(1);
    const token = await tokenOf(processes[0]!.url, shop);
    const answers = [];
    for (const { url } of processes) answers.push(await create(url, token, 'the-same-key-0002'));
    expect(answers[0]!.status).toBe(201);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    for (const { end } of processes) expect(await end('SIGTERM')).toBe(0);
  }));

test('a process opens the new file after another one has replaced the damaged one under it', () =>
  withShop(async (shop) => {
    // The first claim of this release changes the schema of the file. At the end of the process, its write-ahead log is
    // copied to the file: otherwise the next process would read the pages in it, and not the damaged ones.
    const earlier = await shop.start();
    const token = await tokenOf(earlier.url, shop);
    expect((await create(earlier.url, token, 'the-same-key-0000')).status).toBe(201);
    expect(await earlier.end('SIGTERM')).toBe(0);
    const running = await shop.start();
    const first = await create(running.url, token, 'the-same-key-0003');
    damage('random bytes', join(shop.folder, 'idempotency.sqlite'));
    const second = await shop.start();
    // The process compares the files once per second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const answers = [];
    for (const { url } of [running, second]) answers.push(await create(url, token, 'the-same-key-0004'));
    expect([first.status, answers[0]!.status]).toEqual([201, 201]);
    expect(answers[1]).toEqual(answers[0]);
    for (const { end } of [running, second]) expect(await end('SIGTERM')).toBe(0);
  }));

test('a damaged lock file of the pictures is replaced', () =>
  withShop(async ({ folder, start }) => {
    const file = join(folder, 'live', 'media', 'originals', 'lock.sqlite');
    damage('random bytes', file);
    const { end } = await start();
    expect(await end('SIGTERM')).toBe(0);
    expect(movedAside(join(folder, 'live', 'media', 'originals'), 'lock.sqlite')).toHaveLength(1);
  }));
