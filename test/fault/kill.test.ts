import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { streamName } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { InProcessCli } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { runs } from '../support/long';
import {
  createKeys,
  createListing,
  fetchToken,
  findMissingWrites,
  waitForWrites,
  waitUntilProjected,
} from '../support/merchant';
import { preload } from '../support/preload';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { isSignedWith, type Received, Receiver } from '../support/receiver';
import { makeTempDir } from '../support/temp-dir';
import { Ledger, write } from '../support/traffic';
import { TWO_WORKERS } from '../support/two-workers';
import { waitFor } from '../support/wait-for';

/* The service is killed -9 during writes and started again. The clock of the last process is hours ahead. */

const KILLS = runs(1, 5);
const WRITES_PER_KILL = 40;
const MESSAGES_PER_KILL = 10;
const HOUR_MS = 3_600_000;
/** Duration of a lock (docs/interface/writes.md#idempotency). */
const LOCK_S = 10;
const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 5 };

const folder = makeTempDir();
const SETTINGS = {
  DATA_DIR: folder.path,
  DEMO: 'off',
  WEBHOOKS: 'private',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  RATE_LIMIT_AUTH: '100000/100000',
};

/** Returns the settings of a process whose clock is ahead. */
const ahead = (hours: number) => ({
  ...SETTINGS,
  NODE_OPTIONS: preload('clock-ahead'),
  CLOCK_AHEAD_MS: String(hours * HOUR_MS),
});

/** A copy of the publications that a merchant keeps by the messages of a webhook. */
class Copy {
  readonly titles = new Map<string, string>();
  readonly disorder: string[] = [];
  private readonly revisions = new Map<string, number>();

  /** Messages may come again, but not before an earlier change of the same resource. */
  apply({ resource_id, revision, type, changed }: Change): void {
    const known = this.revisions.get(resource_id) ?? 0;
    if (known === 0 && type !== 'publication.created') this.disorder.push(`${type} of ${resource_id} first`);
    if (revision <= known) return;
    this.revisions.set(resource_id, revision);
    if (type.endsWith('.deleted')) this.titles.delete(resource_id);
    else if (changed.title) this.titles.set(resource_id, String(changed.title.after));
  }
}

interface Change {
  readonly resource_id: string;
  readonly revision: number;
  readonly type: string;
  readonly changed: Record<string, { readonly after: unknown }>;
}

/** A client of one process. */
async function clientOf({ url }: RunningProcess, key: string) {
  const token = await fetchToken(url, key);
  const send = async (method: string, path: string, body?: object, more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more };
    const reply = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
    const parsed: any = JSON.parse(text);
    return { status: reply.status, headers: reply.headers, text, body: parsed };
  };
  const once = (idempotency_key: string) =>
    send('POST', '/api/publication', TEA, { 'idempotency-key': idempotency_key });
  return { token, send, once };
}

type Client = Awaited<ReturnType<typeof clientOf>>;
type Answer = Awaited<ReturnType<Client['send']>>;

const ledger = new Ledger();
const copy = new Copy();
const names: string[] = [];
const unsigned: Received[] = [];
let receiver: Receiver;
let webhook: { readonly id: string; readonly secret: string };
let harmless: Answer;
let replayed: Answer;
let locked: Answer;
/** Due in one hour and in three hours. */
const scheduled: string[] = [];
let published: (readonly string[])[];
let last: RunningProcess;
let merchant: Client;
let visitor: Client;

beforeAll(async () => {
  const keys = await createKeys(SETTINGS);
  receiver = await Receiver.start();
  let refused = 0;
  receiver.answer = ({ data }) => {
    if (refused++ % 2 === 0) return { status: 503 };
    copy.apply(data);
    return { status: 200 };
  };

  // The clock of the first process is an hour ahead. The next process therefore finds its lock in place, however long
  // the start takes.
  const first = await clientOf(
    await startProcess('services/boot/main.js', {
      ...ahead(1),
      NODE_OPTIONS: preload('clock-ahead', 'die-after-append'),
      DIE_AFTER_APPEND_OF: 'fatal',
    }),
    keys.secret,
  );
  harmless = await first.once('harmless');
  await expect(first.once('fatal')).rejects.toThrow();

  const listings: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const name = `erp-${kill}`;
    const running = await startProcess('services/boot/main.js', {
      ...SETTINGS,
      NODE_OPTIONS: preload('die-after-append'),
      DIE_AFTER_NAME: name,
    });
    const client = await clientOf(running, keys.secret);
    if (kill === 0) {
      replayed = await client.once('harmless');
      locked = await client.once('fatal');
      const events = ['created', 'updated', 'deleted'].map((verb) => ({ type: `publication.${verb}` }));
      webhook = (await client.send('POST', '/api/webhook', { url: receiver.url, events })).body.data;
      listings.push(await createListing(running.url, client.token, 'Tea'));
      for (const hours of [1, 3]) {
        const publish_at = new Date(Date.now() + hours * HOUR_MS).toISOString();
        scheduled.push((await client.send('POST', '/api/publication', { ...TEA, publish_at })).body.data.id);
      }
    }
    const stopping = new AbortController();
    const options = { token: client.token, ledger, listings, signal: stopping.signal };
    const writers = ['a', 'b', 'c', 'd'].map((writer) => write(`${writer}${kill}`, running.url, options));
    const sent = receiver.received.length;
    const cli = new InProcessCli(folder.path, SETTINGS);
    if (kill === 0) expect(await cli.run('projections', 'rebuild')).toMatchObject({ code: 0 });
    await waitForWrites(ledger, WRITES_PER_KILL);
    await waitFor(() => receiver.received.length > sent + MESSAGES_PER_KILL, { what: 'messages' });
    // The process is killed after the reservation of the name, while the others write.
    await expect(client.send('PUT', `/api/publication/by-external-id/${name}`, TEA)).rejects.toThrow();
    names.push(name);
    stopping.abort();
    await Promise.all(writers);
    unsigned.push(
      ...receiver.received.slice(sent).filter((message) => !isSignedWith(webhook.secret, message)),
    );
  }

  const worker = await startProcess('services/boot/main.js worker', ahead(2));
  const log = await openRuntime(parseConfig(SETTINGS), pino({ level: 'silent' }), realSystem);
  const eventsOf = async (id: string) => {
    const events = await log.events.live.readStream(streamName('live', 'publication', id));
    return events.map(({ type }) => type);
  };
  await waitFor(async () => (await eventsOf(scheduled[0]!)).length > 1, {
    what: 'a publication by the worker',
  });
  published = await Promise.all(scheduled.map(eventsOf));
  await log.close();
  expect(await worker.end('SIGTERM')).toBe(0);

  receiver.answer = ({ data }) => {
    copy.apply(data);
    return { status: 200 };
  };
  last = await startProcess('services/boot/main.js', { ...ahead(4), ...TWO_WORKERS });
  merchant = await clientOf(last, keys.secret);
  visitor = await clientOf(last, keys.public);
  await waitUntilProjected(last.url, merchant.token, ledger);
});

afterAll(() => {
  endAll();
  receiver?.close();
  folder.remove();
});

test('no acknowledged write is missing', async () => {
  expect(await findMissingWrites(last.url, merchant.token, ledger)).toEqual([]);
});

test('a write that was answered is answered again with the same text', () => {
  expect(harmless.status).toBe(201);
  expect([replayed.status, replayed.text, replayed.headers.get('idempotent-replayed')]).toEqual([
    201,
    harmless.text,
    'true',
  ]);
});

test('a write that was killed between append and answer is locked, then found in the log and not repeated', async () => {
  expect([locked.status, locked.body.error.code]).toEqual([409, 'RESOURCE_LOCKED']);
  const wait_s = Number(locked.headers.get('retry-after'));
  expect(wait_s).toBeGreaterThan(0);
  expect(wait_s).toBeLessThanOrEqual(HOUR_MS / 1000 + LOCK_S);

  const answered = await merchant.once('fatal');
  expect([answered.status, answered.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  expect((await merchant.once('fatal')).text).toBe(answered.text);
});

test('a PUT that was killed after the reservation of its name can be repeated, and the name stays unique', async () => {
  for (const name of names) {
    const listed = async () =>
      (await merchant.send('GET', `/api/publications?external_id=${name}`)).body.data;
    expect(await listed()).toEqual([]);
    const repeated = await merchant.send('PUT', `/api/publication/by-external-id/${name}`, TEA);
    expect(repeated.status).toBe(201);
    const second = await merchant.send('POST', '/api/publication', { ...TEA, external_id: name });
    expect([second.status, second.body.error.code]).toEqual([409, 'CONFLICT']);
    await waitFor(async () => (await listed()).length > 0);
    expect(await listed()).toMatchObject([{ id: repeated.body.data.id }]);
  }
});

test('what became due meanwhile is published, by a worker process or by the next service', async () => {
  expect(published.map((types) => types.includes('PublicationVisibilityChanged'))).toEqual([true, false]);
  const isShown = async (id: string) => (await visitor.send('GET', `/api/publication/${id}`)).status === 200;
  for (const id of scheduled) await waitFor(() => isShown(id), { what: 'the publication' });
});

test('a copy by webhook is complete and in order, with a receiver that refused half of the messages', async () => {
  const fatal = await merchant.once('fatal');
  // The webhook is younger than the first two publications.
  const before = [harmless, fatal].map(({ body }) => body.data.id);
  const isComplete = async () => {
    const titles: [string, string][] = [];
    for (let page = 1; titles.length === 50 * (page - 1); page++) {
      const { data } = (await merchant.send('GET', `/api/publications?limit=50&page=${page}`)).body;
      titles.push(...data.map(({ id, title }: Record<string, string>) => [id, title]));
    }
    const expected = titles.filter(([id]) => !before.includes(id));
    return JSON.stringify([...copy.titles].sort()) === JSON.stringify(expected.sort());
  };
  await waitFor(isComplete, { what: 'the copy to be complete' });
  expect(copy.disorder).toEqual([]);
  expect(copy.titles.size).toBeGreaterThan(KILLS * MESSAGES_PER_KILL);
  expect(unsigned).toEqual([]);
});

test('the service stops gracefully, and its documents are those of the log', async () => {
  expect(await last.end('SIGTERM')).toBe(0);
  expect(last.faults).toEqual([]);
  const verified = await new InProcessCli(folder.path, SETTINGS).run('projections', 'verify');
  expect(verified).toMatchObject({ code: 0, stderr: '' });
});
