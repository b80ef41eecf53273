import { type Position, type RecordedEvent, START } from '../../shared/catalog/events/envelope';
import { type EventStore, type LogBatch, NO_STREAM } from '../../shared/ports/event-store';
import { waitFor } from '../support/wait-for';
import type { EventStoreUnderTest } from './event-store.contract';
import { aStream, someEvents } from './some-events';

/** Following a log, from any place in it. */
export function eventSubscriptionContract(name: string, open: () => Promise<EventStoreUnderTest>): void {
  describe(`subscriptions to the event store on ${name}`, () => {
    let given: EventStoreUnderTest;
    let store: EventStore;

    beforeEach(async () => {
      given = await open();
      store = given.store;
    });
    afterEach(() => given.dispose());

    test('gives everything from the start, in log order, then says that it caught up', async () => {
      const streams = [aStream(), aStream()];
      for (const stream of streams) await store.append(stream, NO_STREAM, someEvents(5));
      await store.append(streams[0]!, 4, someEvents(1));
      const head = await store.head();
      const { events, last } = await takeUntilCaughtUp(store, START);
      expect(events.map(({ stream }) => streams.indexOf(stream))).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0]);
      expectIncreasing(events);
      expect(last.position).toBeGreaterThanOrEqual(head);
      const own = events.filter(({ stream }) => stream === streams[0]);
      expect(own).toEqual(await store.readStream(streams[0]!));
    });

    test('says on an empty log that it caught up', async () => {
      const { events } = await takeUntilCaughtUp(store, START);
      expect(events).toEqual([]);
    });

    test('resumes after any position without a gap or a double', async () => {
      for (let n = 0; n < 7; n++) await store.append(aStream(), NO_STREAM, someEvents(3));
      const { events: all } = await takeUntilCaughtUp(store, START);
      expect(all).toHaveLength(21);
      for (const [index, { position }] of all.entries()) {
        const { events: rest } = await takeUntilCaughtUp(store, position, 4);
        expect(rest).toEqual(all.slice(index + 1));
      }
    });

    test('gives what is appended later, by this process and by another, as it comes', async () => {
      const other = await given.again();
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

    test('keeps one order for all who follow while several write', async () => {
      const other = await given.again();
      const followers = [followFrom(store, START, 3), followFrom(other, START, 50)];
      const late = (async () => {
        const position = (await waitFor(() => followers[0]!.events[10])).position;
        return { position, follower: followFrom(other, position, 7) };
      })();
      await Promise.all([store, other, store, other].map((writer) => write(writer, 25)));
      const { position, follower } = await late;
      followers.push(follower);
      const { events: all } = await takeUntilCaughtUp(store, START);
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

    test('gives batches of the size that was asked for at most', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(10));
      const ending = new AbortController();
      const batches = store.subscribe({ after: START, signal: ending.signal, batch_size: 4 });
      const iterator = batches[Symbol.asyncIterator]();
      let first = (await iterator.next()).value as LogBatch;
      // Where others' events come before, the log may move on without one of this realm first.
      while (first.events.length === 0) first = (await iterator.next()).value as LogBatch;
      expect(first.events.length).toBeLessThanOrEqual(4);
      expect(first.caught_up).toBe(false);
      expect(first.position).toBe(first.events.at(-1)!.position);
      ending.abort();
      await drain(iterator);
    });

    test('ends without an error when aborted: at rest, between batches, and before it began', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(10));
      const resting = followFrom(store, START);
      await waitFor(() => resting.events.length === 10);
      await resting.end();

      const between = new AbortController();
      let seen = 0;
      for await (const batch of store.subscribe({ after: START, signal: between.signal, batch_size: 3 })) {
        seen += batch.events.length;
        between.abort();
      }
      expect(seen).toBeLessThan(10);

      for await (const _ of store.subscribe({ after: START, signal: AbortSignal.abort() }))
        throw new Error('a batch from a subscription that was aborted before');
    });

    test('ends without an error when the store is closed', async () => {
      const follower = followFrom(await given.again(), START);
      await waitFor(() => follower.caught_up);
      await follower.store.close();
      await follower.done;
    });

    test('may be left at any time', async () => {
      await store.append(aStream(), NO_STREAM, someEvents(10));
      const signal = new AbortController().signal;
      for await (const _ of store.subscribe({ after: START, signal, batch_size: 3 })) break;
      await store.append(aStream(), NO_STREAM, someEvents(1));
    });
  });
}

/** Appends `count` times two events, each time to a stream of its own. */
async function write(store: EventStore, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.append(aStream(), NO_STREAM, someEvents(2));
}

export async function takeUntilCaughtUp(store: EventStore, after: Position, batch_size?: number) {
  const ending = new AbortController();
  const size = batch_size === undefined ? {} : { batch_size };
  const events: RecordedEvent[] = [];
  for await (const batch of store.subscribe({ after, signal: ending.signal, ...size })) {
    events.push(...batch.events);
    if (!batch.caught_up) continue;
    ending.abort();
    return { events, last: batch };
  }
  throw new Error('the subscription ended before it caught up');
}

/** Follows a log in the background; collects what it gives. */
function followFrom(store: EventStore, after: Position, batch_size = 100) {
  const ending = new AbortController();
  const follower = {
    store,
    events: [] as RecordedEvent[],
    caught_up: false,
    done: Promise.resolve(),
    end: async () => {
      ending.abort();
      await follower.done;
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
