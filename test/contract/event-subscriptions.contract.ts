import { type Position, type RecordedEvent, START } from '../../shared/catalog/events/envelope';
import { LogMismatchError } from '../../shared/kernel/errors';
import { type EventStore, type LogBatch, NO_STREAM } from '../../shared/ports/event-store';
import { bounded } from '../support/bounded';
import { readLogBatches } from '../support/read-log';
import { waitFor, within } from '../support/wait-for';
import type { EventStoreUnderTest } from './event-store.contract';
import { aStream, someEvents } from './some-events';

/** More than other users of a server append during a test. */
const FAR_AWAY = 1_000_000_000_000n;

/** Tests of subscriptions. */
export function eventSubscriptionContract(name: string, open: () => Promise<EventStoreUnderTest>): void {
  describe(`subscriptions to the event store on ${name}`, () => {
    let under_test: EventStoreUnderTest;
    let store: EventStore;

    beforeEach(async () => {
      under_test = await open();
      store = bounded(under_test.store, 'event store');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    test('yields all events from the start in log order, then reports caught up', async () => {
      const streams = [aStream(), aStream()];
      for (const stream of streams) await store.append(stream, NO_STREAM, someEvents(5));
      await store.append(streams[0]!, 4, someEvents(1));
      const head = await store.head();
      const { events, last } = await readLogBatches(store, START);
      expect(events.map(({ stream }) => streams.indexOf(stream))).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0]);
      expectIncreasing(events);
      expect(last.position).toBeGreaterThanOrEqual(head);
      const own = events.filter(({ stream }) => stream === streams[0]);
      expect(own).toEqual(await store.readStream(streams[0]!));
    });

    test('reports caught up on an empty log', async () => {
      const { events } = await readLogBatches(store, START);
      expect(events).toEqual([]);
    });

    test('resumes after any position without gaps or duplicates', async () => {
      for (let n = 0; n < 7; n++) await store.append(aStream(), NO_STREAM, someEvents(3));
      const { events: all } = await readLogBatches(store, START);
      expect(all).toHaveLength(21);
      for (const [index, { position }] of all.entries()) {
        const { events: rest } = await readLogBatches(store, position, 4);
        expect(rest).toEqual(all.slice(index + 1));
      }
    });

    test('yields events that this process or another appends later', async () => {
      const other = await under_test.openAnother();
      const follower = followFrom(store, START);
      for (const writer of [store, other, store]) {
        const stream = aStream();
        await writer.append(stream, NO_STREAM, someEvents(2));
        await waitFor(() => follower.events.filter((event) => event.stream === stream).length === 2, {
          what: 'the events to arrive',
        });
      }
      await follower.end();
      expect(follower.events).toHaveLength(6);
      expectIncreasing(follower.events);
    });

    test('all subscriptions see the same order while several processes append', async () => {
      const other = await under_test.openAnother();
      const followers = [followFrom(store, START, 3), followFrom(other, START, 50)];
      const late = (async () => {
        const position = (await waitFor(() => followers[0]!.events[10])).position;
        return { position, follower: followFrom(other, position, 7) };
      })();
      await Promise.all([store, other, store, other].map((writer) => write(writer, 25)));
      const { position, follower } = await late;
      followers.push(follower);
      const { events: all } = await readLogBatches(store, START);
      const newest = all.at(-1)!.position;
      await waitFor(() => followers.every(({ events }) => events.at(-1)?.position === newest), {
        what: 'all followers to be at the newest event',
      });
      for (const one of followers) await one.end();
      expect(all).toHaveLength(200);
      expect(followers[0]!.events).toEqual(all);
      expect(followers[1]!.events).toEqual(all);
      expect(follower.events).toEqual(all.filter((event) => event.position > position));
    });

    test('yields batches of at most the requested size', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(10));
      const ending = new AbortController();
      const batches = store.subscribe({ after: START, signal: ending.signal, batch_size: 4 });
      const iterator = batches[Symbol.asyncIterator]();
      const next = async () => (await within(iterator.next(), 'a batch')).value as LogBatch;
      let first = await next();
      // If other realms' events come first, the first batches may have no events.
      while (first.events.length === 0) first = await next();
      expect(first.events.length).toBeLessThanOrEqual(4);
      expect(first.caught_up).toBe(false);
      expect(first.position).toBe(first.events.at(-1)!.position);
      ending.abort();
      await within(drain(iterator), 'the subscription to end after its abort');
    });

    test('ends without an error when aborted: while waiting, between batches, and before it started', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(10));
      const waiting = followFrom(store, START);
      await waitFor(() => waiting.events.length === 10);
      await waiting.end();

      const between = new AbortController();
      let seen = 0;
      const reading = async () => {
        for await (const batch of store.subscribe({ after: START, signal: between.signal, batch_size: 3 })) {
          seen += batch.events.length;
          between.abort();
        }
      };
      await within(reading(), 'the subscription to end after an abort between batches');
      expect(seen).toBeLessThan(10);

      const aborted = store.subscribe({ after: START, signal: AbortSignal.abort() });
      const first = aborted[Symbol.asyncIterator]().next();
      expect(await within(first, 'an aborted subscription to end')).toMatchObject({ done: true });
    });

    test('ends without an error when the store is closed', async () => {
      const follower = followFrom(await under_test.openAnother(), START);
      await waitFor(() => follower.caught_up);
      await follower.store.close();
      await within(follower.done, 'the subscription to end after the store was closed');
    });

    test('a position after the end of the log ends it with an error that is no outage', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(3));
      const after = (await store.head()) + FAR_AWAY;
      const reading = readLogBatches(store, after);
      await expect(within(reading, 'the subscription to end')).rejects.toBeInstanceOf(LogMismatchError);
      expect(await store.markAt(after)).toBeUndefined();
    });

    test('markAt returns the first event at or after a position', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(2));
      const { events } = await readLogBatches(store, START);
      for (const { position, id } of events)
        expect(await store.markAt(position)).toEqual({ position, event_id: id });
      expect((await store.markAt(START))!.position).toBeLessThanOrEqual(events[0]!.position);
    });

    test('can be stopped by leaving the loop', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(10));
      const signal = new AbortController().signal;
      const leaving = async () => {
        for await (const _ of store.subscribe({ after: START, signal, batch_size: 3 })) break;
      };
      await within(leaving(), 'the subscription to end when its reader leaves');
      await store.append(aStream(), NO_STREAM, someEvents(1));
    });
  });
}

/** Makes `count` appends of two events, each to a new stream. */
async function write(store: EventStore, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.append(aStream(), NO_STREAM, someEvents(2));
}

/** Subscribes in the background and collects the events. */
function followFrom(store: EventStore, after: Position, batch_size = 100) {
  const ending = new AbortController();
  const follower = {
    store,
    events: [] as RecordedEvent[],
    caught_up: false,
    done: Promise.resolve(),
    end: async () => {
      ending.abort();
      await within(follower.done, 'the subscription to end after its abort');
    },
  };
  follower.done = (async () => {
    for await (const batch of store.subscribe({ after, signal: ending.signal, batch_size })) {
      follower.events.push(...batch.events);
      follower.caught_up = batch.caught_up;
    }
  })();
  return follower;
}

async function drain(iterator: AsyncIterator<LogBatch>): Promise<void> {
  while (!(await iterator.next()).done);
}

function expectIncreasing(events: readonly RecordedEvent[]): void {
  for (const [index, { position }] of events.entries())
    expect(position).toBeGreaterThan(events[index - 1]?.position ?? START);
}
