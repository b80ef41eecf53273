import { NO_STREAM as SERVERS_NO_STREAM } from '@eventstore/db-client';
import type { Append } from '../../shared/adapters/eventstoredb/append-stream';
import { type OpenedClient, openClient } from '../../shared/adapters/eventstoredb/connection';
import { toBytes, toEventData } from '../../shared/adapters/eventstoredb/events';
import { failureOf, SilenceError } from '../../shared/adapters/eventstoredb/failures';
import type { EncodedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { type AppendResult, type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import type { FaultPlan } from '../support/eventstore-standin/faults';
import { openImpatientStore, openStore } from '../support/eventstore-standin/server-under-test';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { TOLD_MS_MAX, waitFor } from '../support/wait-for';
import { anEvent, aStream, someEvents } from './some-events';

/** Appends that share a call, and what ends that call under them: always on the stand-in. */
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

interface Written {
  readonly stream: StreamName;
  readonly events: readonly EncodedEvent[];
  readonly result: AppendResult;
}

/** So many appends at once, each to a stream of its own. */
function writeMany(count: number, to: EventStore = store): Promise<Written[]> {
  const writing = Array.from({ length: count }, async () => {
    const [stream, events] = [aStream(), someEvents(2)];
    return { stream, events, result: await to.append(stream, NO_STREAM, events) };
  });
  return Promise.all(writing);
}

/** Each was told where its own events stand, and they stand there once. */
async function expectAllThere(written: readonly Written[]): Promise<void> {
  for (const { stream, events, result } of written) {
    const stored = await store.readStream(stream);
    expect(stored.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(result).toEqual({ outcome: 'appended', revision: 1, position: stored[1]!.position });
  }
  const ids = server.events('live.').map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
}

const outcomesOf = (calls: readonly Promise<unknown>[]): Promise<unknown[]> =>
  Promise.all(calls.map((call) => call.catch((error: unknown) => error)));

describe('while nothing goes wrong', () => {
  test('64 at once go over one call, and each has its own answer', async () => {
    await expectAllThere(await writeMany(64));
    await expectAllThere(await writeMany(64));
    expect(server.appendCalls).toMatchObject({ alone: 0, shared: 1 });
  });

  test('a wrong revision among them is told to that one alone', async () => {
    const taken = aStream();
    await store.append(taken, NO_STREAM, someEvents(3));
    const others = writeMany(20);
    const losing = [store.append(taken, 0, someEvents(1)), store.append(aStream(), 4, someEvents(1))];
    const more = writeMany(20);
    expect(await Promise.all(losing)).toEqual([
      { outcome: 'wrong_revision', actual: 2 },
      { outcome: 'wrong_revision', actual: NO_STREAM },
    ]);
    await expectAllThere([...(await others), ...(await more)]);
    expect(server.appendCalls).toMatchObject({ alone: 0, shared: 1 });
  });

  test('more than the call takes at once wait for their turn', async () => {
    const large = Array.from({ length: 200 }, async () => {
      const event = anEvent({ text: 'x'.repeat(100_000) });
      expect(await store.append(aStream(), NO_STREAM, [event])).toMatchObject({ outcome: 'appended' });
    });
    await Promise.all(large);
    await expectAllThere(await writeMany(10));
  });

  test('a large one has a call of its own', async () => {
    const event = anEvent({ text: 'x'.repeat(300_000) });
    expect(await store.append(aStream(), NO_STREAM, [event])).toMatchObject({ outcome: 'appended' });
    expect(server.appendCalls).toMatchObject({ alone: 1, shared: 0 });
  });

  test.each([
    ['over a shared call', 10],
    ['in a call of its own', 300_000],
  ])('an answer without a position %s: it is read', async (_way, length) => {
    server.faults.set({ unplaced_answers: 1 });
    const stream = aStream();
    const result = await store.append(stream, NO_STREAM, someEvents(2, { text: 'x'.repeat(length) }));
    const [, last] = await store.readStream(stream);
    expect(result).toEqual({ outcome: 'appended', revision: 1, position: last!.position });
  });
});

describe('whatever becomes of the call, all that wait on it end well and none is doubled', () => {
  const faults: [string, Partial<FaultPlan>][] = [
    ['ended by the server without an error', { ended_batch_calls: 1 }],
    ['ended by the server, and the next one too', { ended_batch_calls: 2 }],
    ['refused by a server that is not the leader any more', { not_leader: 1 }],
    ['cut before anything was stored', { cut_appends: 1 }],
    ['cut after something was stored', { lost_acks: 1 }],
    ['kept, and one of them told that the server is not ready', { not_ready: 1 }],
    ['kept, and one of them told that it timed out, though it was stored', { timed_out_appends: 1 }],
  ];
  describe.each(faults)('%s', (_what, fault) => {
    test('at its first append', async () => {
      server.faults.set(fault);
      await expectAllThere(await writeMany(32));
    });

    test('after a while', async () => {
      await writeMany(2);
      server.faults.set(fault);
      await expectAllThere(await writeMany(32));
      await expectAllThere(await writeMany(2));
    });
  });

  test('every connection cut while they wait for their answers', async () => {
    server.faults.set({ held_batch_answers: true });
    const writing = writeMany(32);
    await waitFor(() => server.events('live.').length === 64);
    server.cutConnections();
    await expectAllThere(await writing);
  });
});

describe('one that cannot be stored fails alone, with its own error', () => {
  test('where it makes the server end the call', async () => {
    server.faults.set({ poison_type: 'poison' });
    const before = writeMany(16);
    const poison = store.append(aStream(), NO_STREAM, [{ ...anEvent(), type: 'poison' }]);
    const after = writeMany(16);
    await expect(poison).rejects.toThrow(/cannot survive/);
    await expectAllThere([...(await before), ...(await after)]);
    await expectAllThere(await writeMany(4));
  });

  test('where the server tells it alone: the others notice nothing', async () => {
    const before = writeMany(16);
    const invalid = store.append(aStream(), NO_STREAM, [anEvent({}, 'no UUID')]);
    const after = writeMany(16);
    await expect(invalid).rejects.toThrow(/not a valid UUID/);
    await expectAllThere([...(await before), ...(await after)]);
    expect(server.appendCalls).toMatchObject({ alone: 1, shared: 1 });
  });
});

describe('a shared call that is not answered', () => {
  test('is told to all that wait in time, and they can be written when the server is back', async () => {
    const impatient = await openImpatientStore(server.url);
    await writeMany(1, impatient);
    server.faults.set({ silent: true });
    const started_ms = performance.now();
    const writing = Array.from({ length: 16 }, () => impatient.append(aStream(), NO_STREAM, someEvents(1)));
    for (const outcome of await outcomesOf(writing))
      expect(outcome).toMatchObject({ condition: 'database_timeout' });
    expect(performance.now() - started_ms).toBeLessThan(TOLD_MS_MAX);
    server.faults.clear();
    await expectAllThere(await writeMany(16, impatient));
    await impatient.close();
  });

  test('ends with the store: nothing of it is left at the server', async () => {
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

test('what ends the call of one store leaves the appends of another alone', async () => {
  const other = await openStore(server.url);
  await writeMany(1, other);
  server.faults.set({ held_batch_answers: true, poison_type: 'poison' });
  const waiting = writeMany(8, other);
  await waitFor(() => server.events('live.').length === 2 + 16);
  await expect(store.append(aStream(), NO_STREAM, [{ ...anEvent(), type: 'poison' }])).rejects.toThrow(
    /cannot survive/,
  );
  server.faults.clear();
  await expectAllThere(await waiting);
  // The bad one's second try, and no other's.
  expect(server.appendCalls).toMatchObject({ alone: 1, shared: 2 });
  await other.close();
});

test('a server that does not know such calls is asked once', async () => {
  server.faults.set({ no_batch_appends: true });
  await writeMany(1);
  await expectAllThere(await writeMany(16));
  expect(server.appendCalls).toEqual({ alone: 17, shared: 1, shared_open: 0 });
});

describe('of one client', () => {
  let opened: OpenedClient;
  beforeEach(() => {
    opened = openClient(server.url, 0);
  });
  afterEach(() => opened.close());

  const ask = (events: readonly EncodedEvent[], stream: string = aStream()): Append => {
    return { stream, expected_revision: SERVERS_NO_STREAM, events: events.map(toBytes) };
  };
  const PATIENCE_MS = 60_000;

  test('an answer that comes too late is nobody’s; what it answered has landed', async () => {
    server.faults.set({ held_batch_answers: true });
    const late = ask(someEvents(2));
    await expect(opened.appends.append(late, 50)).rejects.toBeInstanceOf(SilenceError);
    server.faults.clear();
    // Answered after the late one, over the same call.
    const next = await opened.appends.append(ask(someEvents(1)), PATIENCE_MS);
    expect(next).toMatchObject({ nextExpectedRevision: 0n });
    expect(await opened.appends.append(late, PATIENCE_MS)).toMatchObject({ nextExpectedRevision: 1n });
    expect(server.appendCalls).toMatchObject({ alone: 0, shared: 1 });
    expect(server.events('live.')).toHaveLength(3);
  });

  /** What both ways have to mean to those who catch it. */
  const meaningOf = (error: unknown): unknown => {
    if (!(error instanceof Error)) return error;
    const { streamName, expectedVersion, actualVersion, maxAppendSize } = error as unknown as Record<
      string,
      unknown
    >;
    const fields = { streamName, expectedVersion, actualVersion, maxAppendSize };
    return { kind: error.constructor.name, ...fields, failure: failureOf(error), told: error.message !== '' };
  };
  const refusals: [string, string, (stream: string) => Promise<Append>][] = [
    [
      'a wrong revision',
      'WrongExpectedVersionError',
      async (stream) => {
        await store.append(stream as StreamName, NO_STREAM, someEvents(3));
        return { ...ask(someEvents(1), stream), expected_revision: 1n };
      },
    ],
    [
      'a stream that is not there',
      'WrongExpectedVersionError',
      async (stream) => ({ ...ask(someEvents(1), stream), expected_revision: 1n }),
    ],
    [
      'a tombstone',
      'StreamDeletedError',
      async (stream) => {
        await opened.client.tombstoneStream(stream);
        return ask(someEvents(1), stream);
      },
    ],
    [
      'its size',
      'MaxAppendSizeExceededError',
      async (stream) => ask([anEvent({ text: 'x'.repeat(1_100_000) })], stream),
    ],
    [
      'who asks',
      'AccessDeniedError',
      async (stream) => {
        server.faults.set({ denied_appends: 2 });
        return ask(someEvents(1), stream);
      },
    ],
    [
      'the time it took',
      'TimeoutError',
      async (stream) => {
        server.faults.set({ timed_out_appends: 2 });
        return ask(someEvents(1), stream);
      },
    ],
  ];
  test.each(refusals)(
    'an append refused for %s is refused as in a call of its own',
    async (_why, kind, prepare) => {
      const asked = await prepare(aStream());
      const { stream, events, expected_revision: expectedRevision } = asked;
      // One after the other: a repeat of what is on its way to the disk is dropped.
      const [shared] = await outcomesOf([opened.appends.append(asked, PATIENCE_MS)]);
      const [alone] = await outcomesOf([
        opened.client.appendToStream(stream, events.map(toEventData), { expectedRevision }),
      ]);
      expect(meaningOf(shared)).toMatchObject({ kind });
      expect(meaningOf(shared)).toEqual(meaningOf(alone));
    },
  );
});
