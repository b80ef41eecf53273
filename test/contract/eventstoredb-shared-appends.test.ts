import { NO_STREAM as SERVERS_NO_STREAM } from '@eventstore/db-client';
import { ServerAddress } from '../../shared/adapters/eventstoredb/address';
import { OpenedClient } from '../../shared/adapters/eventstoredb/client';
import { toBytes, toEventData } from '../../shared/adapters/eventstoredb/events';
import type { AppendRequest } from '../../shared/adapters/eventstoredb/shared-appends';
import type { EncodedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { type AppendResult, type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import type { FaultPlan } from '../support/eventstore-standin/faults';
import { openFailFastStore, openStore } from '../support/eventstore-standin/server-under-test';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { FAILS_WITHIN_MS, waitFor, within } from '../support/wait-for';
import { anEvent, aStream, someEvents } from './some-events';

/** Tests appends that share a call, and failures of that call. Always uses the stand-in. */
let folder: TempDir;
let server: EventStoreStandIn;
let store: EventStore;

beforeEach(async () => {
  folder = makeTempDir();
  server = await EventStoreStandIn.start({ folder: folder.path });
  store = await openStore(server.url);
});
afterEach(async () => {
  await store.close();
  await server.stop();
  folder.remove();
});

interface AppendedEvents {
  readonly stream: StreamName;
  readonly events: readonly EncodedEvent[];
  readonly result: AppendResult;
}

/** Makes `count` concurrent appends, each to a new stream. */
function writeMany(count: number, to: EventStore = store): Promise<AppendedEvents[]> {
  const writing = Array.from({ length: count }, async () => {
    const [stream, events] = [aStream(), someEvents(2)];
    return { stream, events, result: await to.append(stream, NO_STREAM, events) };
  });
  return within(Promise.all(writing), `${count} appends to be answered`);
}

/** Expects that each append returned the position of its own events, and that they are stored once. */
async function expectAllStored(written: readonly AppendedEvents[]): Promise<void> {
  for (const { stream, events, result } of written) {
    const stored = await store.readStream(stream);
    expect(stored.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(result).toEqual({ outcome: 'appended', revision: 1, position: stored[1]!.position });
  }
  const ids = server.events('live.').map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
}

const outcomesOf = (calls: readonly Promise<unknown>[]): Promise<unknown[]> =>
  within(Promise.all(calls.map((call) => call.catch((error: unknown) => error))), 'calls to be answered');

describe('without failures', () => {
  test('64 concurrent appends share one call, and each gets its own result', async () => {
    await expectAllStored(await writeMany(64));
    await expectAllStored(await writeMany(64));
    expect(server.appendCalls).toMatchObject({ alone: 0, shared: 1 });
  });

  test('a wrong revision is reported to its own append only', async () => {
    const taken = aStream();
    await store.append(taken, NO_STREAM, someEvents(3));
    const others = writeMany(20);
    const losing = [store.append(taken, 0, someEvents(1)), store.append(aStream(), 4, someEvents(1))];
    const more = writeMany(20);
    expect(await Promise.all(losing)).toEqual([
      { outcome: 'wrong_revision', actual: 2 },
      { outcome: 'wrong_revision', actual: NO_STREAM },
    ]);
    await expectAllStored([...(await others), ...(await more)]);
    expect(server.appendCalls).toMatchObject({ alone: 2, shared: 1 });
  });

  test('appends wait while the call applies backpressure', async () => {
    const large = Array.from({ length: 200 }, async () => {
      const event = anEvent({ text: 'x'.repeat(100_000) });
      expect(await store.append(aStream(), NO_STREAM, [event])).toMatchObject({ outcome: 'appended' });
    });
    await Promise.all(large);
    await expectAllStored(await writeMany(10));
  });

  test('a large append has a call of its own', async () => {
    const event = anEvent({ text: 'x'.repeat(300_000) });
    expect(await store.append(aStream(), NO_STREAM, [event])).toMatchObject({ outcome: 'appended' });
    expect(server.appendCalls).toMatchObject({ alone: 1, shared: 0 });
  });

  test.each([
    ['over a shared call', 10],
    ['in a call of its own', 300_000],
  ])('a response without a position %s: the position is read', async (_way, length) => {
    server.faults.set({ unplaced_answers: 1 });
    const stream = aStream();
    const result = await store.append(stream, NO_STREAM, someEvents(2, { text: 'x'.repeat(length) }));
    const [, last] = await store.readStream(stream);
    expect(result).toEqual({ outcome: 'appended', revision: 1, position: last!.position });
  });
});

describe('all pending appends succeed and none is stored twice if the shared call is', () => {
  const faults: [string, Partial<FaultPlan>][] = [
    ['ended by the server without an error', { ended_batch_calls: 1 }],
    ['ended by the server, and so is the next one', { ended_batch_calls: 2 }],
    ['refused by a server that is no longer the leader', { not_leader: 1 }],
    ['cut before anything was stored', { cut_appends: 1 }],
    ['cut after something was stored', { lost_acks: 1 }],
    ['not ended, but one append gets the response that the server is not ready', { not_ready: 1 }],
    ['not ended, but one stored append is reported as timed out', { timed_out_appends: 1 }],
  ];
  describe.each(faults)('%s', (_what, fault) => {
    test('at its first append', async () => {
      server.faults.set(fault);
      await expectAllStored(await writeMany(32));
    });

    test('at a later append', async () => {
      await writeMany(2);
      server.faults.set(fault);
      await expectAllStored(await writeMany(32));
      await expectAllStored(await writeMany(2));
    });
  });

  test('all pending appends succeed if every connection is cut before the responses', async () => {
    server.faults.set({ held_batch_answers: true });
    const writing = writeMany(32);
    await waitFor(() => server.events('live.').length === 64);
    server.cutConnections();
    server.faults.clear();
    await expectAllStored(await writing);
  });
});

describe('an append that cannot be stored fails alone, with its own error', () => {
  test('if it makes the server end the call', async () => {
    server.faults.set({ poison_type: 'poison' });
    const before = writeMany(16);
    const poison = store.append(aStream(), NO_STREAM, [{ ...anEvent(), type: 'poison' }]);
    const after = writeMany(16);
    await expect(poison).rejects.toThrow(/cannot survive/);
    await expectAllStored([...(await before), ...(await after)]);
    await expectAllStored(await writeMany(4));
  });

  test('if the server refuses only this append: the others are not affected', async () => {
    server.faults.set({ append_bytes_max: 100_000 });
    const others = writeMany(30);
    const refused = store.append(aStream(), NO_STREAM, [anEvent({ text: 'x'.repeat(100_000) })]);
    const more = writeMany(30);
    await expect(refused).rejects.toMatchObject({ condition: 'too_large' });
    await expectAllStored([...(await others), ...(await more)]);
    expect(server.appendCalls).toMatchObject({ alone: 1, shared: 1 });
  });
});

describe('a shared call without responses', () => {
  test('fails all pending appends within the deadline, and appends succeed when the server is back', async () => {
    const failing_fast = await openFailFastStore(server.url);
    await writeMany(1, failing_fast);
    server.faults.set({ silent: true });
    const started_ms = performance.now();
    const writing = Array.from({ length: 16 }, () =>
      failing_fast.append(aStream(), NO_STREAM, someEvents(1)),
    );
    for (const outcome of await outcomesOf(writing))
      expect(outcome).toMatchObject({ condition: 'database_timeout' });
    expect(performance.now() - started_ms).toBeLessThan(FAILS_WITHIN_MS);
    server.faults.clear();
    await expectAllStored(await writeMany(16, failing_fast));
    await failing_fast.close();
  });

  test('ends when the store is closed: the server has no open call', async () => {
    const closing = await openStore(server.url);
    server.faults.set({ held_batch_answers: true });
    const writing = Array.from({ length: 8 }, () => closing.append(aStream(), NO_STREAM, someEvents(1)));
    const outcomes = outcomesOf(writing);
    await waitFor(() => server.events('live.').length === 8);
    await closing.close();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ condition: 'unavailable' });
    await waitFor(() => server.appendCalls.shared_open === 0);
    server.faults.clear();
  });
});

test('the end of one store’s call does not affect the appends of another store', async () => {
  const other = await openStore(server.url);
  await writeMany(1, other);
  server.faults.set({ held_batch_answers: true, poison_type: 'poison' });
  const waiting = writeMany(8, other);
  await waitFor(() => server.events('live.').length === 2 + 16);
  await expect(store.append(aStream(), NO_STREAM, [{ ...anEvent(), type: 'poison' }])).rejects.toThrow(
    /cannot survive/,
  );
  server.faults.clear();
  await expectAllStored(await waiting);
  // Only the refused append was repeated in a call of its own.
  expect(server.appendCalls).toMatchObject({ alone: 1, shared: 2 });
  await other.close();
});

test('a server that does not support BatchAppend is tried once', async () => {
  server.faults.set({ no_batch_appends: true });
  await writeMany(1);
  await expectAllStored(await writeMany(16));
  expect(server.appendCalls).toEqual({ alone: 17, shared: 1, shared_open: 0 });
});

describe('the shared appends of one client', () => {
  const { appends, close } = (() => {
    let opened: OpenedClient;
    beforeEach(() => {
      opened = new OpenedClient(new ServerAddress(server.url), 0, () => {});
    });
    return { appends: () => opened.appends, close: () => opened.close() };
  })();
  afterEach(() => close());

  const toAppend = (events: readonly EncodedEvent[]): AppendRequest => {
    return { stream: aStream(), expected_revision: SERVERS_NO_STREAM, events: events.map(toBytes) };
  };

  test('a client that was replaced before its first append leaves no call open', async () => {
    appends().retire();
    expect(await appends().append(toAppend(someEvents(1)))).toMatchObject({ nextExpectedRevision: 0n });
    await waitFor(() => server.appendCalls.shared_open === 0, { what: 'the call to end' });
  });

  test('an append whose event id is not a UUID is refused alone', async () => {
    const [refused, stored] = await outcomesOf([
      appends().append(toAppend([anEvent({}, 'not-a-uuid')])),
      appends().append(toAppend(someEvents(1))),
    ]);
    expect(refused).toBeInstanceOf(Error);
    expect(stored).toMatchObject({ nextExpectedRevision: 0n });
  });
});

test('a client that is closed while it looks for a leader leaves no connection open', async () => {
  await store.close();
  const address = new ServerAddress(server.url.replace('esdb:', 'esdb+discover:'));
  const discovering = new OpenedClient(address, 0, () => {});
  server.faults.set({ silent: true });
  const events = someEvents(1).map(toBytes).map(toEventData);
  const outcome = discovering.client.appendToStream(aStream(), events).catch((error: unknown) => error);
  await waitFor(() => server.openConnections > 0, { what: 'a connection' });
  await discovering.close();
  server.faults.clear();
  const ended = await within(outcome, 'the append of the closed client to end');
  expect(ended).toMatchObject({ message: 'a closed channel' });
  // grpc-js closes connections that no channel uses after 10 s.
  await waitFor(() => server.openConnections === 0, { what: 'all connections to be closed' });
});
