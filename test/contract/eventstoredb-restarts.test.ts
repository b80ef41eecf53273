import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { streamName } from '../../shared/catalog/events/envelope';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { Follower } from '../support/eventstore-standin/follower';
import {
  appendInTheEnd,
  openFailFastStore,
  openStore,
} from '../support/eventstore-standin/server-under-test';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { FAILS_WITHIN_MS, waitFor, within } from '../support/wait-for';
import { someEvents } from './some-events';

/** The server runs as a process of its own, so that tests can kill, freeze and restart it. */
let server: OwnServer;
let store: EventStore;

beforeEach(async () => {
  server = await startOwnServer('eventstore');
  store = await openStore(server.url);
});
afterEach(async () => {
  await store.close();
  await server.dispose();
});

/** Appends single events to a stream of its own until `stop`, whatever happens to the server. */
class Writer {
  readonly acknowledged: string[] = [];
  private stopped = false;
  /** Rejects at once if the writer fails. */
  readonly done: Promise<void>;

  constructor() {
    this.done = this.run();
    this.done.catch(() => {});
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await within(this.done, 'a writer to stop');
  }

  private async run(): Promise<void> {
    const stream = streamName('live', 'publication', randomUUID());
    let revision = NO_STREAM;
    while (!this.stopped) {
      const events = someEvents(1);
      const result = await appendInTheEnd(store, stream, revision, events);
      if (result.outcome !== 'appended')
        throw new Error(`lost a race without another writer: ${JSON.stringify(result)}`);
      revision = result.revision;
      this.acknowledged.push(events[0]!.id);
    }
  }
}

test('after repeated kills, every acknowledged event is stored once and in the same order for all', async () => {
  const followers = [new Follower(store), new Follower(store, { batch_size: 3 })];
  const writers = Array.from({ length: 8 }, () => new Writer());
  const more = async (): Promise<void> => {
    const count = (): number => writers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
    const goal = count() + 100;
    const reached = waitFor(() => count() >= goal, { what: '100 more acknowledged events' });
    await Promise.race([reached, ...writers.map(({ done }) => done)]);
  };
  for (let round = 0; round < 3; round++) {
    await more();
    await server.kill();
    // Each outage is longer, so that the clients retry more often.
    await sleep(round * 300);
    await server.start();
  }
  await more();
  for (const writer of writers) await writer.stop();
  const acknowledged = writers.flatMap((writer) => writer.acknowledged);
  expect(acknowledged.length).toBeGreaterThan(0);
  for (const follower of followers) await follower.until(acknowledged.length);
  for (const follower of followers) await follower.end();
  const ids = followers[0]!.events.map(({ id }) => id);
  expect(new Set(ids)).toEqual(new Set(acknowledged));
  expect(ids).toHaveLength(acknowledged.length);
  expect(followers[1]!.events).toEqual(followers[0]!.events);
});

test('calls fail within the deadline while the server is frozen; writers and followers continue afterwards', async () => {
  const follower = new Follower(store);
  await store.append(streamName('live', 'store', randomUUID()), NO_STREAM, someEvents(1));
  await follower.until(1);
  await server.freeze();
  const stream = streamName('live', 'store', randomUUID());
  const events = someEvents(2);
  const caller = await openFailFastStore(server.url);
  const appending = within(caller.append(stream, NO_STREAM, events), 'the append to fail', FAILS_WITHIN_MS);
  await expect(appending).rejects.toMatchObject({ condition: 'database_timeout' });
  await caller.close();
  await server.thaw();
  expect(await store.append(stream, NO_STREAM, events)).toMatchObject({ outcome: 'appended', revision: 1 });
  await follower.until(3);
  await follower.end();
  expect(follower.events.slice(1).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
});

test('a server that was down for longer than the back-off is noticed soon after its restart', async () => {
  const follower = new Follower(store);
  await store.append(streamName('live', 'store', randomUUID()), NO_STREAM, someEvents(1));
  await follower.until(1);
  await server.kill();
  const caller = await openFailFastStore(server.url);
  for (let call = 0; call < 2; call++) {
    // On a busy machine, the time of the call may end during an attempt, which then counts as one without an answer.
    const condition = expect.stringMatching(/^(unavailable|database_timeout)$/);
    await expect(caller.head()).rejects.toMatchObject({ condition });
  }
  await server.start();
  await appendInTheEnd(caller, streamName('live', 'store', randomUUID()), NO_STREAM, someEvents(1));
  await follower.until(2);
  await caller.close();
  await follower.end();
});

test('an EVENTSTORE_COMMAND that fails is reported with what it printed', async () => {
  const { env } = process;
  process.env = {
    ...env,
    EVENTSTORE_COMMAND: `node -e 'console.log("an"); console.error("option"); process.exit(3)'`,
  };
  try {
    const failing = startOwnServer('eventstore');
    await expect(failing).rejects.toThrow(/printed:(\n(an|option)){2}/);
    await expect(failing).rejects.toMatchObject({ cause: { message: 'it ended with 3' } });
  } finally {
    process.env = env;
  }
});

test('a process exits after it has closed its store', async () => {
  const adapter = resolve(__dirname, '../../shared/adapters/eventstoredb/event-store.js');
  const script = `
    const event = ${JSON.stringify(someEvents(1)[0])};
    const { EventStoreDbEventStore } = require(${JSON.stringify(adapter)});
    (async () => {
      const store = await EventStoreDbEventStore.open({ url: ${JSON.stringify(server.url)}, realm: 'live' });
      await store.append('live.store-1', -1, [event]);
      const batches = store.subscribe({ after: 0n, signal: new AbortController().signal });
      await batches.next();
      const closed = store.close();
      for await (const _ of batches);
      await closed;
    })();`;
  const child = spawn(process.execPath, ['-e', script], { stdio: 'inherit' });
  try {
    const [code] = await within(once(child, 'exit') as Promise<[number | null]>, 'the process to exit');
    expect(code).toBe(0);
  } finally {
    child.kill('SIGKILL');
  }
});
