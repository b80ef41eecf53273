import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { streamName } from '../../shared/catalog/events/envelope';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { appendInTheEnd } from '../support/eventstore-standin/append-in-the-end';
import { StandInProcess } from '../support/eventstore-standin/child';
import { Follower } from '../support/eventstore-standin/follower';
import { openImpatientStore, openStore } from '../support/eventstore-standin/server-under-test';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { BACK_MS_MAX, TOLD_MS_MAX, waitFor } from '../support/wait-for';
import { someEvents } from './some-events';

/** A server that dies, freezes and comes back, as a process of its own. */
let folder: TempDir;
let server: StandInProcess;
let store: EventStore;

beforeEach(async () => {
  folder = makeTempDir();
  server = new StandInProcess(folder.path);
  await server.start();
  store = await openStore(server.url);
});
afterEach(async () => {
  await store.close();
  await server.kill();
  folder.remove();
});

/** Appends one event after the other to a stream of its own until told to stop, whatever happens to the server. */
class Writer {
  readonly acknowledged: string[] = [];
  private stopped = false;
  private readonly done: Promise<void>;

  constructor() {
    this.done = this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.done;
  }

  private async run(): Promise<void> {
    const stream = streamName('live', 'publication', randomUUID());
    let revision = NO_STREAM;
    while (!this.stopped) {
      const events = someEvents(1);
      const result = await appendInTheEnd(store, stream, revision, events);
      if (result.outcome !== 'appended')
        throw new Error(`lost a race against nobody: ${JSON.stringify(result)}`);
      revision = result.revision;
      this.acknowledged.push(events[0]!.id);
    }
  }
}

test('killed again and again under writers and followers: what was acknowledged is there, once, in one order', async () => {
  const followers = [new Follower(store), new Follower(store, { batch_size: 3 })];
  const writers = Array.from({ length: 8 }, () => new Writer());
  const more = async (): Promise<void> => {
    const count = (): number => writers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
    const goal = count() + 100;
    await waitFor(() => count() >= goal, { what: '100 more acknowledged events' });
  };
  for (let round = 0; round < 3; round++) {
    await more();
    await server.kill('SIGKILL');
    // Away for longer each time: for them to try again and again.
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

test('frozen: calls end in time; thawed: writers and followers go on', async () => {
  const follower = new Follower(store);
  await store.append(streamName('live', 'store', randomUUID()), NO_STREAM, someEvents(1));
  await follower.until(1);
  server.signal('SIGSTOP');
  const stream = streamName('live', 'store', randomUUID());
  const events = someEvents(2);
  const caller = await openImpatientStore(server.url);
  const started_ms = performance.now();
  await expect(caller.append(stream, NO_STREAM, events)).rejects.toMatchObject({
    condition: 'database_timeout',
  });
  expect(performance.now() - started_ms).toBeLessThan(TOLD_MS_MAX);
  await caller.close();
  server.signal('SIGCONT');
  expect(await store.append(stream, NO_STREAM, events)).toMatchObject({ outcome: 'appended', revision: 1 });
  await follower.until(3);
  await follower.end();
  expect(follower.events.slice(1).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
});

test('away for longer than a back-off: noticed soon after its return', async () => {
  const follower = new Follower(store);
  await store.append(streamName('live', 'store', randomUUID()), NO_STREAM, someEvents(1));
  await follower.until(1);
  await server.kill();
  const caller = await openImpatientStore(server.url);
  const until_ms = performance.now() + 8_000;
  while (performance.now() < until_ms)
    await expect(caller.head()).rejects.toMatchObject({ condition: 'unavailable' });
  await server.start();
  const started_ms = performance.now();
  await appendInTheEnd(caller, streamName('live', 'store', randomUUID()), NO_STREAM, someEvents(1));
  await follower.until(2);
  expect(performance.now() - started_ms).toBeLessThan(BACK_MS_MAX);
  await caller.close();
  await follower.end();
});

test('a process that closes its store ends by itself', async () => {
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
  const killing = setTimeout(() => child.kill('SIGKILL'), 120_000);
  const [code] = await once(child, 'exit');
  clearTimeout(killing);
  expect(code).toBe(0);
});
