import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
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
import { join, parse } from 'node:path';
import Database from 'libsql';
import { IDEMPOTENCY_FILE } from '../../shared/adapters/sqlite/idempotency-store';
import { LIST_FILE, versionFile } from '../../shared/adapters/sqlite/view-store';
import { type Cli, expectFailure, InProcessCli } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { makeTempDir, type TempDir, withTempDir } from '../support/temp-dir';
import { TWO_WORKERS } from '../support/two-workers';
import { waitFor } from '../support/wait-for';

/*
 * Files of the embedded stores that a disk has damaged. Commands end and name the file, the service continues with what
 * works, and whatever can be made again is made again: at the start, or by a rebuild.
 */

const PAGE_BYTES = 4_096;
const MAIN = 'services/boot/main.js';

const DAMAGES: Readonly<Record<string, (file: string) => void>> = {
  // A single page may be one of an index that no read of the test uses.
  'pages in the middle overwritten': (file) => {
    const open = openSync(file, 'r+');
    const length = middleOf(file);
    writeSync(open, Buffer.alloc(length, 0xab), 0, length, Math.floor(length / 2 / PAGE_BYTES) * PAGE_BYTES);
    closeSync(open);
  },
  truncated: (file) => truncateSync(file, middleOf(file)),
  'random bytes': (file) => writeFileSync(file, randomBytes(statSync(file).size)),
  missing: (file) => rmSync(file),
};

const middleOf = (file: string): number => Math.floor(statSync(file).size / 2 / PAGE_BYTES) * PAGE_BYTES;
const damage = (how: string, file: string): void => DAMAGES[how]!(file);

/** What an owner reads of the shop. */
const PATHS = [
  '/api/store',
  '/api/listings?limit=50',
  '/api/publications?limit=50',
  '/api/publications?q=green',
];
const RESOURCES = 40;

let original: TempDir;
let key: string;
/** The answers to `PATHS`. */
let answers: string[];

beforeAll(async () => {
  original = makeTempDir();
  const settings = { DATA_DIR: original.path };
  key = await createSecretKey(settings);
  const { url, end } = await startProcess(MAIN, settings);
  const token = await fetchToken(url, key);
  const createBoth = async (n: number): Promise<void> => {
    const { text } = await create(url, token, `first-key-${n}`);
    const listing_id = JSON.parse(text).data.id as string;
    const publication = { listing_id, title: `green ${n}`, price_currency: 'USD', price_amount: n };
    expect(await post(url, token, 'publication', publication)).toMatchObject({ status: 201 });
  };
  await Promise.all(Array.from({ length: RESOURCES }, (_, n) => createBoth(n)));
  answers = await answersOf(url, token);
  expect(await end('SIGTERM')).toBe(0);
});
afterAll(() => original.remove());

interface Shop {
  readonly folder: string;
  readonly cli: Cli;
  start(settings?: Record<string, string>): Promise<RunningProcess>;
}

/** A copy of a data folder with events, documents and keys. */
function shopIn(temporary: string): Shop {
  const folder = join(temporary, 'data');
  cpSync(original.path, folder, { recursive: true });
  const settings = { DATA_DIR: folder, START_TIMEOUT_S: '1' };
  return {
    folder,
    cli: new InProcessCli(folder, { LOG_LEVEL: 'silent' }),
    start: (own = {}) => startProcess(MAIN, { ...settings, ...own }),
  };
}
const withShop = (story: (shop: Shop) => Promise<void>): Promise<void> =>
  withTempDir((temporary) => story(shopIn(temporary)).finally(endAll));

async function post(url: string, token: string, path: string, body: object, headers = {}) {
  const reply = await fetch(`${url}/api/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: reply.status, text: await reply.text() };
}

/** Creates a listing with an idempotency key. Returns the answer. */
const create = (url: string, token: string, idempotency_key: string) =>
  post(url, token, 'listing', { name: 'Tea' }, { 'idempotency-key': idempotency_key });

/** Returns what `/health/ready` says about the realm `live`. */
async function readiness(url: string): Promise<{ status: number; live: Record<string, unknown> }> {
  const reply = await fetch(`${url}/health/ready`);
  const body = (await reply.json()) as {
    data?: { live: Record<string, unknown> };
    error?: { details: { live: Record<string, unknown> } };
  };
  return { status: reply.status, live: (body.data ?? body.error!.details).live };
}

async function get(url: string, token: string, path: string): Promise<{ status: number; text: string }> {
  // On a connection of its own, so that each of several processes answers some of many requests.
  const headers = { authorization: `Bearer ${token}`, connection: 'close' };
  const reply = await fetch(`${url}${path}`, { headers });
  return { status: reply.status, text: await reply.text() };
}

async function answersOf(url: string, token: string): Promise<string[]> {
  const replies = await Promise.all(PATHS.map((path) => get(url, token, path)));
  expect(replies.map(({ status }) => status)).toEqual(PATHS.map(() => 200));
  return replies.map(({ text }) => text);
}

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

describe('a damaged log', () => {
  test('ends "projections verify" and "projections rebuild", which name the file', () =>
    withShop(async ({ folder, cli }) => {
      const file = join(folder, 'live', 'events.sqlite');
      damage('pages in the middle overwritten', file);
      const before = readFileSync(file);
      for (const command of ['verify', 'rebuild'])
        expectFailure(
          await cli.run('projections', command, '--realm', 'live'),
          1,
          `${file} is damaged. Restore it from a back-up`,
        );
      expect(readFileSync(file).equals(before)).toBe(true);
    }));

  test('is logged once and shown in readiness while the service continues with what works', () =>
    withShop(async (shop) => {
      // Without documents, the service must read the whole log.
      for (const name of readdirSync(join(shop.folder, 'live')))
        if (name.startsWith('views')) rmSync(join(shop.folder, 'live', name));
      damage('pages in the middle overwritten', join(shop.folder, 'live', 'events.sqlite'));
      const { url, warnings, end } = await shop.start();
      const isShown = async () => (await readiness(url)).live.event_store === 'damaged';
      await waitFor(isShown, { what: 'readiness to show the damage' });
      expect((await fetchToken(url, key)).length).toBeGreaterThan(20);
      for (let n = 0; n < 20; n++) expect(await isShown()).toBe(true);
      expect(await end('SIGTERM')).toBe(0);
      expect(warnings.filter((line) => line.includes('events.sqlite is damaged'))).toHaveLength(1);
      expect(warnings.filter((line) => line.includes('retrying') || line.includes('restarting'))).toEqual([]);
    }));

  test.each([
    ['random bytes', 'is damaged. Restore it from a back-up'],
    ['missing', 'is missing or empty, but '],
  ])('prevents the start, which names the file: %s', (how, problem) =>
    withShop(async ({ folder, start, cli }) => {
      const file = join(folder, 'live', 'events.sqlite');
      damage(how, file);
      await expect(start()).rejects.toThrow(`${file} ${problem}`);
      expectFailure(await cli.run('projections', 'verify'), 1, 'Restore it from a back-up');
      expect(existsSync(file)).toBe(how !== 'missing');
      expect(existsSync(join(folder, 'live', versionFile(1)))).toBe(true);
    }),
  );
});

test.each(['pages in the middle overwritten', 'missing'])(
  '"projections verify" names the damaged file of a version (%s), and "rebuild" replaces it',
  (how) =>
    withShop(async ({ folder, cli }) => {
      const file = join(folder, 'live', versionFile(1));
      damage(how, file);
      expectFailure(
        await cli.run('projections', 'verify', '--realm', 'live'),
        1,
        `${file} is ${how === 'missing' ? 'missing' : 'damaged'}. Run "catalog projections rebuild"`,
      );
      // With a verification of the new version.
      expect(await cli.run('projections', 'rebuild', '--realm', 'live')).toMatchObject({
        code: 0,
        stderr: '',
      });
    }),
);

test('a rebuild next to a running service replaces a damaged version, without a restart', () =>
  withShop(async (shop) => {
    damage('truncated', join(shop.folder, 'live', versionFile(1)));
    const { url, warnings, end } = await shop.start();
    const token = await fetchToken(url, key);
    const before = await get(url, token, PATHS[2]!);
    expect(before.status).toBe(503);
    expect(before.text).not.toContain(shop.folder);
    expect(await readiness(url)).toMatchObject({ status: 503, live: { view_store: 'damaged' } });
    expect(warnings.filter((line) => /"level":"error".*-v1.sqlite is damaged/.test(line))).toHaveLength(1);
    expect(await shop.cli.run('projections', 'rebuild', '--realm', 'live')).toMatchObject({ code: 0 });
    await waitFor(async () => (await readiness(url)).status === 200, { what: 'the service to be ready' });
    expect(await answersOf(url, token)).toEqual(answers);
    expect((await create(url, token, 'after-rebuild-0001')).status).toBe(201);
    expect(await end('SIGTERM')).toBe(0);
    expect(await shop.cli.run('projections', 'drop', '--realm', 'live')).toMatchObject({ code: 0 });
    expect(await shop.cli.run('projections', 'verify')).toMatchObject({ code: 0 });
  }));

test('a rebuild does not continue a damaged version of an interrupted rebuild', () =>
  withShop(async ({ folder, cli }) => {
    const interrupted = cli.start('projections', 'rebuild', '--realm', 'live');
    const file = join(folder, 'live', versionFile(2));
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

describe('two processes that answer', () => {
  let temporary: TempDir;
  let shop: Shop;
  let running: RunningProcess;
  beforeAll(() => {
    temporary = makeTempDir();
    shop = shopIn(temporary.path);
  });
  afterAll(() => {
    endAll();
    temporary.remove();
  });

  test('move files aside whose content can be lost, at the start, and lose nothing else', async () => {
    const DISPOSABLE = {
      [`live/${LIST_FILE}`]: 'pages in the middle overwritten',
      [IDEMPOTENCY_FILE]: 'truncated',
      'limits.sqlite': 'pages in the middle overwritten',
      'live/media/originals/lock.sqlite': 'random bytes',
    };
    for (const [name, how] of Object.entries(DISPOSABLE)) damage(how, join(shop.folder, name));
    running = await shop.start(TWO_WORKERS);
    const { url, warnings, faults } = running;
    for (const name of Object.keys(DISPOSABLE)) {
      const { dir, base } = parse(join(shop.folder, name));
      const found = readdirSync(dir).filter((file) => file.startsWith(`${base}.damaged-`) && /Z$/.test(file));
      expect(found).toHaveLength(1);
    }
    expect(warnings.filter((line) => line.includes('moved it aside'))).toHaveLength(4);
    const token = await fetchToken(url, key);
    expect(await answersOf(url, token)).toEqual(answers);
    const first = await create(url, token, 'the-same-key-0001');
    expect(first.status).toBe(201);
    for (let n = 0; n < 8; n++) expect(await create(url, token, 'the-same-key-0001')).toEqual(first);
    expect(faults).toEqual([]);
  });

  test('lose nothing of files that are deleted or replaced while they have them open', async () => {
    const { url, warnings, end } = running;
    const token = await fetchToken(url, key);
    const read = () => get(url, token, '/api/store');
    const write = () => create(url, token, randomUUID());
    const callMany = (call: typeof read) => Promise.all(Array.from({ length: 8 }, call));
    await callMany(read);

    // The service has made the documents again, because it has lost the list of their versions.
    const versions = readdirSync(join(shop.folder, 'live')).filter((name) =>
      /^views.*-v\d+\.sqlite$/.test(name),
    );
    const views = `live/${versions.sort().at(-1)}`;
    const FAILING = [
      ['deleted', 'live/events.sqlite', moveAway, write, 'event_store'],
      ['replaced', 'live/events.sqlite', replace, write, 'event_store'],
      ['without its write-ahead log', 'live/events.sqlite', moveLogAway, write, 'event_store'],
      ['deleted', views, moveAway, read, 'view_store'],
      ['deleted', IDEMPOTENCY_FILE, moveAway, write, undefined],
    ] as const;
    for (const [how, name, change, call, store] of FAILING) {
      const what = `${name}, ${how}`;
      const file = join(shop.folder, name);
      change(file);
      // Each process looks at the file once per second.
      await waitFor(async () => (await callMany(call)).every(({ status }) => status === 503), { what });
      for (const { text } of await callMany(call)) expect(text).not.toContain(shop.folder);
      if (store)
        await waitFor(
          async () => {
            const { status, live } = await readiness(url);
            return status === 503 && live[store] === 'damaged';
          },
          { what: `readiness: ${what}` },
        );
      putBack(file);
      await waitFor(async () => (await readiness(url)).status === 200, { what: `ready: ${what}` });
      await waitFor(async () => (await callMany(call)).every(({ status }) => status < 300), { what });
    }
    for (const name of new Set(FAILING.map(([, name]) => name))) {
      const shown = new RegExp(
        `"level":"error".*${name} (was deleted or replaced while it was open|is missing)`,
      );
      expect(warnings.filter((line) => shown.test(line))).toHaveLength(1);
    }

    // Both processes read and project into the new file.
    const before = JSON.parse((await read()).text).data.stats.listing_count as number;
    replace(join(shop.folder, views));
    expect((await write()).status).toBe(201);
    const counts = async () =>
      (await callMany(read)).map(({ text }) => JSON.parse(text).data?.stats.listing_count as number);
    await waitFor(async () => (await counts()).every((count) => count === before + 1));
    await waitFor(async () => (await readiness(url)).status === 200);
    expect(await end('SIGTERM')).toBe(0);
    expect(await shop.cli.run('projections', 'verify')).toMatchObject({ code: 0 });
  });
});
