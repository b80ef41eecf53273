import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { streamName } from '../../shared/catalog/events/envelope';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { appendInTheEnd } from '../support/eventstore-standin/append-in-the-end';
import { whileConnectionsAreCut } from '../support/eventstore-standin/cut-connections';
import { Follower, type FollowerOptions } from '../support/eventstore-standin/follower';
import { ForgetfulNetwork } from '../support/eventstore-standin/forgetful-network';
import { openImpatientStore, openStore } from '../support/eventstore-standin/server-under-test';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { aStream, someEvents } from './some-events';

/** Faults that no real server can be asked for: always on the stand-in. */
let folder: TempDir;
let server: EventStoreStandIn;
let store: EventStore;
let followers: Follower[];

beforeEach(async () => {
  folder = makeTempDir();
  server = await EventStoreStandIn.start({ folder: folder.path });
  store = await openStore(server.url);
  followers = [];
});
afterEach(async () => {
  for (const follower of followers) await follower.end();
  await store.close();
  await server.stop();
  folder.remove();
});

function follow(options: FollowerOptions = {}): Follower {
  const follower = new Follower(store, options);
  followers.push(follower);
  return follower;
}

async function write(appends: number): Promise<void> {
  for (let n = 0; n < appends; n++) await appendInTheEnd(store, aStream(), NO_STREAM, someEvents(2));
}

/** Until a call has given up on a server that is away: long enough for whoever follows to have tried again and again. */
async function noticed(url: string): Promise<void> {
  const caller = await openImpatientStore(url);
  await expect(caller.head()).rejects.toMatchObject({ condition: 'unavailable' });
  await caller.close();
}

/** Each event of the log once, in the log's order. */
function expectAll(follower: Follower): void {
  expect(follower.events.map(({ id }) => id)).toEqual(server.events('live.').map(({ id }) => id));
}

describe('a subscription goes on, without a gap or a double,', () => {
  test('after the server ended it without an error', async () => {
    const follower = follow();
    await write(5);
    await follower.until(10);
    for (let round = 1; round <= 3; round++) {
      await waitFor(() => server.subscriptions.size === 1);
      server.endSubscriptions();
      await write(5);
      await follower.until(10 + round * 10);
    }
    expectAll(follower);
  });

  test('after its connection was cut in the middle of what it had to catch up with', async () => {
    await write(50);
    server.faults.set({ cut_reads: 4, cut_reads_after_events: 13 });
    const follower = follow({ batch_size: 5 });
    await follower.until(100);
    expect(server.faults.current.cut_reads).toBe(0);
    expectAll(follower);
  });

  test('while connections are cut and writers go on', async () => {
    const follower = follow({ batch_size: 7 });
    await whileConnectionsAreCut(server, 14, () => Promise.all([write(40), write(40)]));
    await follower.until(160);
    expectAll(follower);
  });

  test('after a server that was not the leader, or not ready', async () => {
    server.faults.set({ not_leader: 1, not_ready: 2 });
    const follower = follow();
    await write(2);
    await follower.until(4);
    expectAll(follower);
  });

  test('after the server was away and came back', async () => {
    const { port } = server.address;
    const follower = follow();
    await write(3);
    await follower.until(6);
    await server.stop();
    await noticed(server.url);
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    await write(3);
    await follower.until(12);
    expectAll(follower);
  });

  test('where it began before its server was there', async () => {
    const { port } = server.address;
    await server.stop();
    const follower = follow();
    await noticed(server.url);
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    await write(1);
    await follower.until(2);
  });

  test('after it fell silent while the server answers everything else', async () => {
    const follower = follow();
    await write(1);
    await follower.until(2);
    server.faults.set({ dumb_subscriptions: true });
    await write(1);
    server.faults.clear();
    await write(1);
    await follower.until(6);
    expectAll(follower);
  });

  test('after the network forgot its connection, and so do calls', async () => {
    const network = new ForgetfulNetwork(server.address);
    await network.listen();
    const remote = await openStore(`esdb://127.0.0.1:${network.port}?tls=false`);
    const follower = new Follower(remote);
    try {
      await write(1);
      await follower.until(2);
      network.forget();
      expect(await remote.append(aStream(), NO_STREAM, someEvents(2))).toMatchObject({ outcome: 'appended' });
      await follower.until(4);
      expectAll(follower);
    } finally {
      await remote.close();
      await network.close();
    }
  });

  test('where it was dropped for being slow', async () => {
    const follower = follow({ batch_size: 4, handle: () => sleep(20) });
    await follower.untilCaughtUp();
    const large = { text: 'x'.repeat(20_000) };
    for (let n = 0; n < 60; n++) await store.append(aStream(), NO_STREAM, someEvents(2, large));
    await follower.until(120);
    expectAll(follower);
  });

  test('behind an event of others that is no longer there', async () => {
    await write(1);
    await server.writeNoise('$others', 1);
    const before = follow();
    await before.untilCaughtUp();
    const { position } = before;
    expect(position).toBe(await store.head());
    await before.end();
    // A server looks for the event at the position it is asked for and passes over the next where that is gone.
    server.scavenge('$others');
    await write(1);
    const after = follow({ after: position });
    await after.until(2);
    expect([...before.events, ...after.events].map(({ id }) => id)).toEqual(
      server.events('live.').map(({ id }) => id),
    );
  });
});

describe('a subscription moves on', () => {
  test('over the events of others, to the head', async () => {
    const follower = follow();
    await write(1);
    await follower.until(2);
    for (const count of [1, 40, 700]) {
      await server.writeNoise('$others', count);
      const head = await store.head();
      await waitFor(() => follower.position >= head, { what: 'the head to be reached' });
    }
    expect(follower.caught_up).toBe(true);
    await write(1);
    await follower.until(4);
    expectAll(follower);
  });

  test("over other realms' and other catalogs' events", async () => {
    const follower = follow();
    const others = [
      await openStore(server.url, { realm: 'test' }),
      await openStore(server.url, { namespace: 'another.' }),
    ];
    for (const other of others)
      await other.append(streamName('test', 'store', randomUUID()), NO_STREAM, someEvents(3));
    const head = await store.head();
    await waitFor(() => follower.position >= head);
    expect(follower.events).toEqual([]);
    for (const other of others) await other.close();
  });

  test("past the server's own marks in its streams", async () => {
    const follower = follow();
    await server.writeNoise('live.publication-marked', 2);
    await write(1);
    await follower.until(2);
    expect(follower.events.map(({ type }) => type)).toEqual(['something_happened', 'something_happened']);
  });
});

test('a slow consumer holds the server back instead of filling the memory', async () => {
  const text = 'x'.repeat(50_000);
  for (let n = 0; n < 300; n++) await store.append(aStream(), NO_STREAM, someEvents(4, { text }));
  let released = (): void => {};
  const blocked = new Promise<void>((resolve) => {
    released = resolve;
  });
  // 60 MB stand in the log. Nothing of it is to be fetched while the first batch is being handled, but a buffer's worth.
  const reader = await openStore(server.url);
  const follower = new Follower(reader, { batch_size: 8, handle: () => blocked });
  followers.push(follower);
  await follower.until(1);
  const sent = (): number => [...server.subscriptions].reduce((sum, one) => sum + one.events_sent, 0);
  await untilSteady(sent);
  expect(sent()).toBeLessThan(150);
  released();
  await follower.until(1_200);
  expectAll(follower);
  await reader.close();
});

/** Until a number has not changed for 300 ms. */
async function untilSteady(number: () => number): Promise<void> {
  let last = -1;
  let since_ms = performance.now();
  await waitFor(() => {
    if (number() !== last) since_ms = performance.now();
    last = number();
    return performance.now() - since_ms > 300;
  });
}
