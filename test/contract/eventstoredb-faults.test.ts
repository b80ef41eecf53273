import { randomUUID } from 'node:crypto';
import { copyFileSync, renameSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { EventStoreDBClient } from '@eventstore/db-client';
import { type CountedPageViews, PageViewLog } from '../../services/command/page-views';
import { allChangesOf } from '../../services/query/change-collector';
import { Feed } from '../../services/query/feed';
import { DEFAULT_LIMITS, EventStoreDbConnection } from '../../shared/adapters/eventstoredb/connection';
import { serverHints } from '../../shared/adapters/eventstoredb/subscription';
import { type Position, START, streamName } from '../../shared/catalog/events/envelope';
import { pageViewStream } from '../../shared/catalog/publication/page-views';
import { REALMS } from '../../shared/catalog/realm';
import { CatalogError, DeletedStreamError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { type AppendResult, type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { BEGINNING, markOf, offsetOf, type Place } from '../../shared/ports/log-offset';
import { StandInCluster } from '../support/eventstore-standin/cluster';
import type { FaultPlan } from '../support/eventstore-standin/faults';
import { Follower, type FollowerOptions } from '../support/eventstore-standin/follower';
import { ForgetfulNetwork } from '../support/eventstore-standin/forgetful-network';
import {
  appendInTheEnd,
  openFailFastStore,
  openStore,
  whileConnectionsAreCut,
} from '../support/eventstore-standin/server-under-test';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { UnusableServer } from '../support/eventstore-standin/unusable-server';
import { makeTempDir, type TempDir, withTempDir } from '../support/temp-dir';
import { FAILS_WITHIN_MS, RECOVERS_WITHIN_MS, WAIT_MS_MAX, waitFor, within } from '../support/wait-for';
import { anEvent, aStream, NO_KEYS, someEvents } from './some-events';

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

/** Returns whether nothing listens at the port. */
const isRefused = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(false)).on('error', () => resolve(true));
    socket.unref();
  });

/** Returns what a call returns, or the error with which it fails, in time. */
const outcomeOf = (calling: Promise<unknown>): Promise<unknown> =>
  within(calling, 'the call to end', FAILS_WITHIN_MS).catch((error: unknown) => error);

describe('an append is stored exactly once if it is', () => {
  const faults: [string, Partial<FaultPlan>][] = [
    ['stored, and the connection is cut before the response', { lost_acks: 1 }],
    ['stored, and the connection is cut before the response, twice', { lost_acks: 2 }],
    ['cut off half-way', { cut_appends: 1 }],
    ['stored, and reported as timed out', { timed_out_appends: 1 }],
    ['stored, and answered without its position', { unplaced_answers: 1 }],
    ['sent to a server that is not the leader', { not_leader: 1 }],
    ['sent to a server that is not ready', { not_ready: 2 }],
  ];
  test.each(faults)('%s', async (_what, fault) => {
    const stream = aStream();
    await store.append(stream, NO_STREAM, someEvents(1));
    server.faults.set(fault);
    const events = someEvents(3);
    const result = await store.append(stream, 0, events);
    expect(result).toMatchObject({ outcome: 'appended', revision: 3 });
    const stored = await store.readStream(stream, 1);
    expect(stored.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(result).toMatchObject({ position: stored.at(-1)!.position });
  });

  test('an append without a response keeps its first result while another writer appends', async () => {
    const stream = aStream();
    const other = await openStore(server.url);
    const events = someEvents(2);
    server.faults.set({ lost_acks: 1 });
    const appending = store.append(stream, NO_STREAM, events);
    await other.readStream(stream);
    await waitFor(async () => (await other.readStream(stream)).length === 2, { what: 'the append' });
    await other.append(stream, 1, someEvents(1));
    await other.close();
    expect(await appending).toMatchObject({ outcome: 'appended', revision: 1 });
    expect(await store.readStream(stream)).toHaveLength(3);
  });

  test('an append without a response may be stored, also if its next attempt is not sent', async () => {
    const caller = await openStore(server.url, { limits: { attempt_ms: 200, call_ms: WAIT_MS_MAX } });
    const outcomes = [Promise.resolve(), Promise.reject(new CatalogError('unavailable'))];
    outcomes[1]!.catch(() => {});
    server.faults.set({ hung_appends: true });
    const appending = caller.append(aStream(), NO_STREAM, someEvents(1), () => outcomes.shift()!);
    await expect(appending).rejects.toMatchObject({ condition: 'database_timeout' });
    await caller.close();
  });

  test('page views of two processes are counted once, although responses are lost', async () => {
    const stores = [await openFailFastStore(server.url), await openFailFastStore(server.url)];
    const store_id = randomUUID() as StoreId;
    const tea = randomUUID();
    const counted_at_ms = Date.UTC(2026, 10, 22);
    const views = () => ({ id: randomUUID(), environment: 'live', store_id, counted_at_ms }) as const;
    const logs = stores.map((events) => new PageViewLog({ events: { live: events, test: events } }));
    const appendUntilAcknowledged = async (log: PageViewLog, batch: CountedPageViews): Promise<void> => {
      for (;;)
        try {
          return await log.append(batch);
        } catch (error) {
          expect(error).toBeInstanceOf(CatalogError);
        }
    };
    for (let round = 0; round < 5; round++) {
      server.faults.set({ lost_acks: 3, timed_out_appends: 2, cut_appends: 1 });
      await within(
        Promise.all(logs.map((log) => appendUntilAcknowledged(log, { ...views(), counts: { [tea]: 1 } }))),
        'the page views to be appended',
      );
    }
    server.faults.clear();
    const stored = await store.readStream(pageViewStream('live', store_id, counted_at_ms));
    expect(stored).toHaveLength(10);
    for (const opened of stores) await opened.close();
  });

  test('64 concurrent writers while connections are cut repeatedly', async () => {
    const writers = Array.from({ length: 64 }, () => aStream());
    await whileConnectionsAreCut(server, 40, async () => {
      const writing = writers.map(async (stream) => {
        for (let revision = NO_STREAM; revision < 4; revision++) {
          const result = await appendInTheEnd(store, stream, revision, someEvents(1));
          expect(result).toMatchObject({ outcome: 'appended', revision: revision + 1 });
        }
      });
      await Promise.all(writing);
    });
    for (const stream of writers) expect(await store.readStream(stream)).toHaveLength(5);
    expect(new Set(server.events('live.').map(({ id }) => id)).size).toBe(64 * 5);
  });
});

describe('reads', () => {
  test.each([
    ['cut off half-way', { cut_reads: 1, cut_reads_after_events: 5 }],
    ['sent to a server that is not the leader', { not_leader: 1 }],
    ['sent to a server that is not ready', { not_ready: 1 }],
  ])('are complete if they were %s', async (_what, fault) => {
    const stream = aStream();
    await store.append(stream, NO_STREAM, someEvents(20));
    server.faults.set(fault);
    expect(await store.readStream(stream)).toHaveLength(20);
  });

  test('a read may take longer than a call, as long as the server keeps sending events', async () => {
    const limits = { attempt_ms: 400, call_ms: 600, outage_ms: 600 };
    const slow = await openStore(server.url, { limits });
    try {
      const stream = aStream();
      await slow.append(stream, NO_STREAM, someEvents(25));
      // Together, the pauses are twice as long as a call may take.
      server.faults.set({ read_pause_ms: 50 });
      expect(await slow.readStream(stream)).toHaveLength(25);
    } finally {
      await slow.close();
    }
  });

  test('a long stream is read in pages, past events of the server, and a lost connection repeats one page', async () => {
    const stream = aStream();
    await store.append(stream, NO_STREAM, someEvents(600));
    server.writeNoise(stream, 1);
    for (const from of [601, 1_101, 1_601]) await store.append(stream, from - 1, someEvents(500));
    server.faults.set({ cut_reads: 1, cut_reads_after_events: 900 });
    expect(await store.readStream(stream)).toHaveLength(2_100);
    expect(server.faults.current.cut_reads).toBe(0);
    const revisions = (await store.readStream(stream, 500, 1_500)).map(({ revision }) => revision);
    const all = Array.from({ length: 1_501 }, (_, index) => 500 + index);
    expect(revisions).toEqual(all.filter((revision) => revision !== 600));
  });

  test('a deleted stream reads as empty and can be appended to again', async () => {
    const stream = aStream();
    await store.append(stream, NO_STREAM, someEvents(3));
    await withClient((client) => client.deleteStream(stream));
    expect(await store.readStream(stream)).toEqual([]);
    expect(await store.append(stream, NO_STREAM, someEvents(2))).toMatchObject({
      outcome: 'appended',
      revision: 4,
    });
    const found = await waitFor(async () => {
      const events = await store.readStream(stream);
      return events.length > 0 && events;
    });
    expect(found.map(({ revision }) => revision)).toEqual([3, 4]);
  });

  test('a tombstoned stream reads as empty and cannot be appended to', async () => {
    const stream = aStream();
    await store.append(stream, NO_STREAM, someEvents(3));
    await withClient((client) => client.tombstoneStream(stream));
    expect(await store.readStream(stream)).toEqual([]);
    await expect(store.append(stream, NO_STREAM, someEvents(1))).rejects.toThrow(DeletedStreamError);
  });
});

describe('reads of the head', () => {
  /** Opens a store for each realm. */
  const openRealms = () => Promise.all(REALMS.map((realm) => openStore(server.url, { realm })));

  test('never run at the same time, also of several realms and callers', async () => {
    server.faults.set({ concurrent_head_read_ms: 2_000 });
    const realms = await openRealms();
    const heads = await Promise.all(Array.from({ length: 64 }, (_, n) => realms[n % realms.length]!.head()));
    expect(new Set(heads).size).toBe(1);
    expect(server.headReads).toMatchObject({ concurrent: 0 });
    expect(server.headReads.total).toBeLessThanOrEqual(2);
    for (const realm of realms) await realm.close();
  });

  test('a head is at or after every event that was acknowledged before the call', async () => {
    const stream = aStream();
    for (let revision = NO_STREAM; revision < 50; revision++) {
      const running = store.head();
      const appended = await store.append(stream, revision, someEvents(1));
      expect(await store.head()).toBeGreaterThanOrEqual(positionOf(appended));
      await running;
    }
  });

  test('a head of a given age is read once for all realms', async () => {
    const realms = await openRealms();
    await realms[0]!.head();
    const { total } = server.headReads;
    for (let n = 0; n < 20; n++) await Promise.all(realms.map((realm) => realm.head(60_000)));
    expect(server.headReads.total).toBe(total);
    const appended = await store.append(aStream(), NO_STREAM, someEvents(1));
    expect(await realms[1]!.head()).toBeGreaterThanOrEqual(positionOf(appended));
    for (const realm of realms) await realm.close();
  });
});

describe('a server that does not answer', () => {
  test('every call fails within the deadline, and succeeds when the server answers again', async () => {
    const calls: ((one: EventStore) => Promise<unknown>)[] = [
      (one) => one.append(aStream(), NO_STREAM, someEvents(1)),
      (one) => one.readStream(aStream()),
      (one) => one.head(),
    ];
    const one = await openFailFastStore(server.url);
    await one.head();
    server.faults.set({ silent: true });
    for (const outcome of await Promise.all(calls.map((call) => outcomeOf(call(one)))))
      expect(outcome).toMatchObject({ condition: 'database_timeout' });
    server.faults.clear();
    for (const call of calls) await call(one);
    await one.close();
  });

  test.each([1, 3])(
    'a process makes at most one connection a second to %d hosts that cannot be used, and its calls fail in time',
    async (hosts) => {
      /** Uses the hosts as a process does, and returns how many connections it has made in which time. */
      const use = async (closes: boolean) => {
        const servers: UnusableServer[] = [];
        for (let n = 0; n < hosts; n++) servers.push(await UnusableServer.start({ closes }));
        const url = `esdb://${servers.map(({ host }) => host).join(',')}?tls=false`;
        const stores = await Promise.all(
          REALMS.map((realm) => openStore(url, { realm, limits: DEFAULT_LIMITS })),
        );
        for (const opened of stores) follow({}, opened);
        const began_ms = performance.now();
        // Three calls, because the first connections are made at once.
        for (let n = 0; n < 3; n++)
          expect(await outcomeOf(stores[0]!.readStream(aStream()))).toMatchObject({
            condition: expect.stringMatching(/unavailable|database_timeout/),
          });
        const seconds = (performance.now() - began_ms) / 1_000;
        const connections = servers.reduce((sum, server) => sum + server.connections, 0);
        for (const opened of stores) await opened.close();
        const areClosed = (): boolean => servers.every(({ open }) => open === 0);
        await waitFor(areClosed, { what: 'every connection to be closed' });
        for (const server of servers) await server.stop();
        return { seconds, connections };
      };
      const warnings: Error[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning);
      process.on('warning', onWarning);
      for (const { seconds, connections } of await Promise.all([use(false), use(true)]))
        expect(connections).toBeLessThanOrEqual(2 * hosts + seconds);
      process.off('warning', onWarning);
      // Such as that a time limit is negative.
      expect(warnings).toEqual([]);
    },
  );
});

test('a process makes few connections to a cluster that has no leader, and uses the next leader at once', () =>
  withTempDir(async (own) => {
    const cluster = await StandInCluster.start(own);
    const stores = await Promise.all(
      REALMS.map((realm) => openStore(cluster.url, { realm, limits: DEFAULT_LIMITS })),
    );
    for (const opened of stores) follow({}, opened);
    await stores[0]!.append(aStream(), NO_STREAM, someEvents(1));
    cluster.loseQuorum();
    const { connections } = cluster;
    for (let n = 0; n < 2; n++)
      expect(await outcomeOf(stores[0]!.head())).toMatchObject({ condition: 'unavailable' });
    // One connection to each node to ask who leads, for each client. Clients are replaced every few seconds.
    expect(cluster.connections - connections).toBeLessThanOrEqual(10);
    cluster.resign();
    await appendInTheEnd(stores[0]!, aStream(), NO_STREAM, someEvents(1));
    await waitFor(() => cluster.openConnections <= 1, { what: 'the nodes to be asked no more' });
    for (const opened of stores) await opened.close();
    await cluster.stop();
  }));

describe('a server that is told to stop', () => {
  /** Far longer than a test may wait for it. */
  const PATIENCE_MS = 10 * WAIT_MS_MAX;
  /** Opens a store whose pings do not end the connection. */
  const openQuietStore = () => openStore(`${server.url}&keepAliveInterval=${PATIENCE_MS}`);

  test('has no call to wait for, also of clients that send nothing', async () => {
    const { port } = server.address;
    const [writing, reading] = await Promise.all([openQuietStore(), openQuietStore()]);
    await writing.append(aStream(), NO_STREAM, someEvents(1));
    const follower = new Follower(reading);
    await follower.until(1);
    await within(server.finishCalls(PATIENCE_MS), 'the open calls to end');
    await server.stop();
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    await writing.append(aStream(), NO_STREAM, someEvents(1));
    await follower.until(2);
    await follower.end();
    for (const opened of [writing, reading]) await opened.close();
  });

  test('answers the appends that it has received', async () => {
    const { port } = server.address;
    const writing = await openQuietStore();
    await writing.append(aStream(), NO_STREAM, someEvents(1));
    server.faults.set({ held_answers: true });
    const appending = writing.append(aStream(), NO_STREAM, someEvents(2));
    await waitFor(() => server.events('live.').length === 3, { what: 'the append to be stored' });
    const finished = server.finishCalls(PATIENCE_MS);
    await waitFor(() => isRefused(port), { what: 'the port to be closed' });
    server.faults.clear();
    expect(await appending).toMatchObject({ outcome: 'appended', revision: 1 });
    await within(finished, 'the open calls to end');
    await writing.close();
  });
});

describe('a server that cannot be reached', () => {
  test('calls fail within the deadline; the store works when the server has started', async () => {
    const { port } = server.address;
    await server.stop();
    const early = await openFailFastStore(`esdb://127.0.0.1:${port}?tls=false`);
    const outcome = await outcomeOf(early.append(aStream(), NO_STREAM, someEvents(1)));
    expect(outcome).toMatchObject({ condition: 'unavailable', retry_after_s: 1 });
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    const appended = await appendInTheEnd(early, aStream(), NO_STREAM, someEvents(1));
    expect(appended).toMatchObject({ outcome: 'appended' });
    await early.close();
  });

  test('a call during a restart succeeds', async () => {
    const { port } = server.address;
    const stream = aStream();
    const retrying = await openStore(server.url);
    await retrying.append(stream, NO_STREAM, someEvents(1));
    await server.stop();
    const appending = retrying.append(stream, 0, someEvents(1));
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    expect(await appending).toMatchObject({ outcome: 'appended', revision: 1 });
    await retrying.close();
  });

  test('a cluster that cannot be discovered is unavailable, and is discovered when it is back', async () => {
    const { port } = server.address;
    const url = `esdb+discover://127.0.0.1:${port}?tls=false`;
    const found = await openFailFastStore(url);
    const appended = await appendInTheEnd(found, aStream(), NO_STREAM, someEvents(1));
    expect(appended).toMatchObject({ outcome: 'appended' });
    await server.stop();
    for (const outcome of await Promise.all([1, 2, 3].map(() => outcomeOf(found.head()))))
      expect(outcome).toMatchObject({ condition: expect.stringMatching(/unavailable|database_timeout/) });
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    await waitFor(async () => (await found.head()) > START, { timeout_ms: RECOVERS_WITHIN_MS });
    await found.close();
  });

  test('a store that is closed while it looks for a leader leaves no connection open', async () => {
    await store.close();
    const discovering = await openStore(server.url.replace('esdb:', 'esdb+discover:'));
    server.faults.set({ silent: true });
    const appending = discovering.append(aStream(), NO_STREAM, someEvents(1));
    const refused = expect(appending).rejects.toMatchObject({ condition: 'unavailable' });
    await waitFor(() => server.openConnections > 0, { what: 'a connection' });
    await discovering.close();
    server.faults.clear();
    await refused;
    // grpc-js closes connections that no channel uses after 10 s.
    await waitFor(() => server.openConnections === 0, { what: 'all connections to be closed' });
  });

  test('open rejects a malformed address without showing its password', async () => {
    await expect(openStore('http://127.0.0.1:2113')).rejects.toThrow(/esdb/);
    const refused = openStore('esdb://reader:no-secret-of-ours@127.0.0.1:2113?tls=perhaps');
    await expect(refused).rejects.toThrow(/true or false/);
    await expect(refused).rejects.not.toThrow(/no-secret-of-ours/);
  });

  test('an address can have the scheme kurrentdb', async () => {
    const found = await openStore(server.url.replace('esdb', 'kurrentdb'));
    expect(await found.head()).toEqual(await store.head());
    await found.close();
  });
});

describe('events that cannot be stored', () => {
  test('data that cannot be JSON is rejected', async () => {
    const event = anEvent({ amount: 1n as unknown as number });
    await expect(store.append(aStream(), NO_STREAM, [event])).rejects.toThrow(TypeError);
  });

  test('an append above the server’s own limit is rejected with too_large', async () => {
    server.faults.set({ append_bytes_max: 100_000 });
    const event = anEvent({ text: 'x'.repeat(100_000) });
    await expect(store.append(aStream(), NO_STREAM, [event])).rejects.toMatchObject({
      condition: 'too_large',
    });
  });

  test('an append above the largest message of a server is rejected with too_large', async () => {
    const small = makeTempDir();
    const limited = await EventStoreStandIn.start({ folder: small.path, message_bytes_max: 100_000 });
    const appending = await openStore(limited.url);
    const event = anEvent({ text: 'x'.repeat(100_000) });
    await expect(appending.append(aStream(), NO_STREAM, [event])).rejects.toMatchObject({
      condition: 'too_large',
    });
    await appending.close();
    await limited.stop();
    small.remove();
  });

  test('a repeated append whose events an operator has removed since has its first revision', async () => {
    const stream = aStream();
    const events = someEvents(2);
    const first = await store.append(stream, NO_STREAM, events);
    await store.append(stream, 1, someEvents(1));
    await withClient((client) => client.setStreamMetadata(stream, { truncateBefore: 2 }));
    server.faults.set({ unplaced_answers: 1 });
    const repeated = await store.append(stream, NO_STREAM, events);
    expect(repeated).toMatchObject({ outcome: 'appended', revision: 1 });
    expect(positionOf(repeated)).toBeGreaterThan(positionOf(first));
    expect(await store.head()).toBeGreaterThanOrEqual(positionOf(repeated));
  });
});

function follow(options: FollowerOptions = {}, from: EventStore = store): Follower {
  const follower = new Follower(from, options);
  followers.push(follower);
  return follower;
}

async function write(appends: number): Promise<void> {
  for (let n = 0; n < appends; n++) await appendInTheEnd(store, aStream(), NO_STREAM, someEvents(2));
}

describe('a subscription continues without gaps or duplicates', () => {
  /** Waits until the follower has each event of the log once, in log order. */
  async function expectAll(follower: Follower): Promise<void> {
    const stored = server.events('live.').map(({ id }) => id);
    await follower.until(stored.length);
    expect(follower.events.map(({ id }) => id)).toEqual(stored);
  }

  /** Stops the server until a call has failed, and subscriptions have retried several times. */
  async function restart(): Promise<void> {
    const { port } = server.address;
    await server.stop();
    const caller = await openFailFastStore(server.url);
    await expect(caller.head()).rejects.toMatchObject({ condition: 'unavailable' });
    await caller.close();
    server = await EventStoreStandIn.start({ folder: folder.path, port });
  }

  const disturbances: [string, () => unknown][] = [
    ['after the server ended it without an error', () => server.endSubscriptions()],
    ['after reaching a server that is not ready', () => server.faults.set({ not_leader: 1, not_ready: 2 })],
    ['although the server no longer delivers', () => server.faults.set({ dumb_subscriptions: true })],
    ['although each read takes a second', () => server.faults.set({ read_stall_ms: 1_000 })],
    ['after the server was down', restart],
    ['while connections are cut', () => whileConnectionsAreCut(server, 14, () => write(20))],
  ];
  test.each(disturbances)('%s', async (_when, disturb) => {
    const follower = follow({ batch_size: 7 });
    await write(1);
    await follower.until(2);
    await disturb();
    await write(2);
    await expectAll(follower);
  });

  test('after its connection was cut during catch-up', async () => {
    await write(50);
    server.faults.set({ cut_reads: 4, cut_reads_after_events: 13 });
    await expectAll(follow({ batch_size: 30 }));
    expect(server.faults.current.cut_reads).toBe(0);
  });

  test('if it started before the server', async () => {
    const restarting = restart();
    const follower = follow();
    await restarting;
    await write(1);
    await expectAll(follower);
  });

  test('after the network silently dropped the connection; calls succeed, too', async () => {
    const network = new ForgetfulNetwork(server.address);
    const remote = await openStore(`esdb://127.0.0.1:${await network.listen()}?tls=false`);
    try {
      const follower = follow({}, remote);
      await write(1);
      await follower.until(2);
      network.forget();
      expect(await remote.append(aStream(), NO_STREAM, someEvents(2))).toMatchObject({ outcome: 'appended' });
      await expectAll(follower);
    } finally {
      await remote.close();
      await network.close();
    }
  });

  test('past events of other streams, of other realms and of the server', async () => {
    const follower = follow();
    const others = [
      await openStore(server.url, { realm: 'test' }),
      await openStore(server.url, { namespace: 'another.' }),
    ];
    for (const other of others)
      await other.append(streamName('test', 'store', randomUUID()), NO_STREAM, someEvents(3));
    for (const stream of ['$others', 'live.publication-marked']) server.writeNoise(stream, 400);
    const head = await store.head();
    await waitFor(() => follower.position >= head && follower.caught_up, { what: 'the head to be reached' });
    expect(follower.events).toEqual([]);
    await write(1);
    await follower.until(2);
    expect(follower.events.map(({ type }) => type)).toEqual(['something_happened', 'something_happened']);
    for (const other of others) await other.close();
  });
});

test('a feed and a subscription pass 200,000 events of other programs in steps', async () => {
  const streams = [aStream(), aStream()];
  await store.append(streams[0]!, NO_STREAM, [anEvent()]);
  server.writeNoise('others', 200_000);
  await store.append(streams[1]!, NO_STREAM, [anEvent()]);
  server.writeNoise('others', 10_000);
  // One read examines them for longer than a request may take.
  server.faults.set({ searched_per_s: 30_000 });
  const follower = follow();
  const feed = new Feed({ control_view: NO_KEYS }, store, allChangesOf('another-store'));
  let place: Place = BEGINNING;
  const head = await store.head();
  while (place.position < head) {
    const page = await feed.read(place);
    expect(page.next.position).toBeGreaterThan(place.position);
    place = await markOf(store, offsetOf(page.next));
  }
  await follower.untilCaughtUp();
  expect(follower.events.map(({ stream }) => stream)).toEqual(streams);
});

test('the server pushes a hint for each event of the realm, also after the subscription has ended', async () => {
  const connection = new EventStoreDbConnection(server.url);
  let hints = 0;
  const stop = serverHints(connection, 'live.').listen(() => {
    hints++;
  });
  for (const round of [1, 2]) {
    await waitFor(() => server.subscriptions.size === 1, { what: 'the subscription' });
    server.writeNoise('$others', 1);
    await write(1);
    await waitFor(() => hints === 2 * round, { what: 'a hint for each event' });
    server.endSubscriptions();
    await waitFor(() => server.subscriptions.size === 0);
  }
  await waitFor(() => server.subscriptions.size === 1, { what: 'the subscription' });
  stop();
  await waitFor(() => server.subscriptions.size === 0, { what: 'the end of the subscription' });
  await connection.close();
});

describe('a subscription ends with an error if an older copy of the log was restored', () => {
  const large = someEvents(1, { text: 'x'.repeat(10_000) });
  test.each<[string, (copy: EventStore) => Promise<unknown>, string]>([
    ['and the copy ends before what was yielded', async () => {}, 'the log has no event'],
    [
      'and others have written past what was yielded',
      (copy) => copy.append(aStream(), NO_STREAM, large),
      'No event begins at position',
    ],
  ])('%s', async (_when, writeTo, message) => {
    const { port } = server.address;
    const file = join(folder.path, 'events.jsonl');
    const follower = new Follower(store);
    await write(1);
    await follower.until(2);
    copyFileSync(file, `${file}.copy`);
    await store.append(aStream(), NO_STREAM, someEvents(2, { text: 'x'.repeat(1_000) }));
    await follower.until(4);
    await server.stop();
    renameSync(`${file}.copy`, file);
    const elsewhere = await EventStoreStandIn.start({ folder: folder.path });
    const copy = await openStore(elsewhere.url);
    await writeTo(copy);
    await copy.close();
    await elsewhere.stop();
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    const expected = { name: 'LogMismatchError', message: expect.stringContaining(message) };
    await expect(follower.ended()).rejects.toMatchObject(expected);
    const again = new Follower(store, { after: follower.position });
    await expect(again.ended()).rejects.toMatchObject({ name: 'LogMismatchError' });
  });
});

function positionOf(result: AppendResult): Position {
  if (result.outcome !== 'appended') throw new Error(`nothing was appended: ${result.outcome}`);
  return result.position;
}

async function withClient(work: (client: EventStoreDBClient) => Promise<unknown>): Promise<void> {
  const client = EventStoreDBClient.connectionString(server.url);
  await work(client);
  await client.dispose();
}
