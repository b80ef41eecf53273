import { randomUUID } from 'node:crypto';
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { streamName } from '../../shared/catalog/events/envelope';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { appendInTheEnd } from '../support/eventstore-standin/append-in-the-end';
import { whileConnectionsAreCut } from '../support/eventstore-standin/cut-connections';
import { Follower, type FollowerOptions } from '../support/eventstore-standin/follower';
import { ForgetfulNetwork } from '../support/eventstore-standin/forgetful-network';
import { openFailFastStore, openStore } from '../support/eventstore-standin/server-under-test';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { aStream, someEvents } from './some-events';

/** Injects faults that a real server cannot produce on demand, so these tests always use the stand-in. */
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

/** Waits until a call to the stopped server has failed. Subscriptions have then retried several times. */
async function untilCallsFail(url: string): Promise<void> {
  const caller = await openFailFastStore(url);
  await expect(caller.head()).rejects.toMatchObject({ condition: 'unavailable' });
  await caller.close();
}

/** Expects each event of the log once, in log order. */
function expectAll(follower: Follower): void {
  expect(follower.events.map(({ id }) => id)).toEqual(server.events('live.').map(({ id }) => id));
}

describe('a subscription continues without gaps or duplicates', () => {
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

  test('after its connection was cut during catch-up', async () => {
    await write(50);
    server.faults.set({ cut_reads: 4, cut_reads_after_events: 13 });
    const follower = follow({ batch_size: 30 });
    await follower.until(100);
    expect(server.faults.current.cut_reads).toBe(0);
    expectAll(follower);
  });

  test('while connections are cut and writers append', async () => {
    const follower = follow({ batch_size: 7 });
    await whileConnectionsAreCut(server, 14, () => Promise.all([write(40), write(40)]));
    await follower.until(160);
    expectAll(follower);
  });

  test('after reaching a server that was not the leader or not ready', async () => {
    server.faults.set({ not_leader: 1, not_ready: 2 });
    const follower = follow();
    await write(2);
    await follower.until(4);
    expectAll(follower);
  });

  test('after the server stopped and restarted', async () => {
    const { port } = server.address;
    const follower = follow();
    await write(3);
    await follower.until(6);
    await server.stop();
    await untilCallsFail(server.url);
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    await write(3);
    await follower.until(12);
    expectAll(follower);
  });

  test('if it started before the server', async () => {
    const { port } = server.address;
    await server.stop();
    const follower = follow();
    await untilCallsFail(server.url);
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    await write(1);
    await follower.until(2);
  });

  test('after it stopped delivering while the server answers other calls', async () => {
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

  test('after the network silently dropped the connection; calls succeed, too', async () => {
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

  test('after the server dropped it because it was slow', async () => {
    const follower = follow({ batch_size: 4, handle: () => sleep(20) });
    await follower.untilCaughtUp();
    const large = { text: 'x'.repeat(20_000) };
    for (let n = 0; n < 60; n++) await store.append(aStream(), NO_STREAM, someEvents(2, large));
    await follower.until(120);
    expectAll(follower);
  });

  test('after an event of another realm that was scavenged', async () => {
    await write(1);
    await server.writeNoise('$others', 1);
    const before = follow();
    await before.untilCaughtUp();
    const { position } = before;
    expect(position).toBe(await store.head());
    await before.end();
    // The server skips the first event at or after the requested position, even if there is no event at the position.
    server.scavenge('$others');
    await write(1);
    const after = follow({ after: position });
    await after.until(2);
    expect([...before.events, ...after.events].map(({ id }) => id)).toEqual(
      server.events('live.').map(({ id }) => id),
    );
  });
});

describe('a subscription ends with an error if an older copy of the log was restored', () => {
  /**
   * Copies the log, appends two events, and restores the copy under the running subscription. `write` appends to the
   * copy before the subscription reaches the server again.
   */
  async function restoreUnder(
    follower: Follower,
    write: (copy: EventStore) => Promise<unknown> = async () => {},
  ): Promise<void> {
    const { port } = server.address;
    const file = join(folder.path, 'events.jsonl');
    await follower.until(2);
    copyFileSync(file, `${file}.copy`);
    await store.append(aStream(), NO_STREAM, someEvents(2, { text: 'x'.repeat(1_000) }));
    await follower.until(4);
    await server.stop();
    renameSync(`${file}.copy`, file);
    const elsewhere = await EventStoreStandIn.start({ folder: folder.path });
    const copy = await openStore(elsewhere.url);
    await write(copy);
    await copy.close();
    await elsewhere.stop();
    server = await EventStoreStandIn.start({ folder: folder.path, port });
  }

  /** Expects the error, and that a new subscription after the same position has the same one. */
  async function expectMismatch(follower: Follower, message: string): Promise<void> {
    const expected = { name: 'LogMismatchError', message: expect.stringContaining(message) };
    await expect(follower.ended()).rejects.toMatchObject(expected);
    const again = new Follower(store, { after: follower.position });
    await expect(again.ended()).rejects.toMatchObject({ name: 'LogMismatchError' });
  }

  test('and the copy ends before what was yielded', async () => {
    const follower = new Follower(store);
    await write(1);
    await restoreUnder(follower);
    await expectMismatch(follower, 'the log has no event');
  });

  test('and others have written past what was yielded', async () => {
    const follower = new Follower(store);
    await write(1);
    const large = someEvents(1, { text: 'x'.repeat(10_000) });
    await restoreUnder(follower, (copy) => copy.append(aStream(), NO_STREAM, large));
    await expectMismatch(follower, 'No event begins at position');
  });
});

test('reads that stall for seconds delay a subscription, and do not end it', async () => {
  const follower = follow();
  await write(1);
  await follower.until(2);
  server.faults.set({ read_stall_ms: 1_000 });
  server.endSubscriptions();
  await write(1);
  await follower.until(4);
  server.faults.clear();
  await write(1);
  await follower.until(6);
  expectAll(follower);
});

describe('a subscription advances', () => {
  test('past events of other streams, to the head', async () => {
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

  test('past events of other realms and of other catalogs', async () => {
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

  test('past system events in its streams', async () => {
    const follower = follow();
    await server.writeNoise('live.publication-marked', 2);
    await write(1);
    await follower.until(2);
    expect(follower.events.map(({ type }) => type)).toEqual(['something_happened', 'something_happened']);
  });
});
