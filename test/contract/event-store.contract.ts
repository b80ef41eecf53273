import { type EncodedEvent, START, type StreamName } from '../../shared/catalog/events/envelope';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { eventSubscriptionContract, takeUntilCaughtUp } from './event-subscriptions.contract';
import { anEvent, aStream, someEvents } from './some-events';

/** A realm's log without events, maybe on a server with others'; `again` opens it as another process would. */
export interface EventStoreUnderTest {
  readonly store: EventStore;
  again(): Promise<EventStore>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

/** What every event store promises (shared/ports/event-store.ts). */
export function eventStoreContract(name: string, open: () => Promise<EventStoreUnderTest>): void {
  eventAppendsContract(name, open);
  eventSubscriptionContract(name, open);
}

function eventAppendsContract(name: string, open: () => Promise<EventStoreUnderTest>): void {
  describe(`event store on ${name}`, () => {
    let given: EventStoreUnderTest;
    let store: EventStore;

    beforeEach(async () => {
      given = await open();
      store = given.store;
    });
    afterEach(() => given.dispose());

    async function appended(stream: StreamName, expected: number, events: readonly EncodedEvent[]) {
      const result = await store.append(stream, expected, events);
      if (result.outcome !== 'appended') throw new Error(`lost race: ${JSON.stringify(result)}`);
      return result;
    }

    describe('append and readStream', () => {
      test('a log without events has no streams, and its head can be reached', async () => {
        expect(await store.readStream(aStream())).toEqual([]);
        const head = await store.head();
        const { events, last } = await takeUntilCaughtUp(store, START);
        expect(events).toEqual([]);
        expect(last.position).toBeGreaterThanOrEqual(head);
      });

      test('what was appended is read back as it was, in order, with revisions from 0', async () => {
        const stream = aStream();
        const events = someEvents(3, { nested: { list: [1, 'two', null, true, 1.5] } });
        const first = await appended(stream, NO_STREAM, events.slice(0, 2));
        const second = await appended(stream, 1, events.slice(2));
        expect([first.revision, second.revision]).toEqual([1, 2]);
        const read = await store.readStream(stream);
        expect(read).toEqual(
          events.map((event, revision) => ({
            ...event,
            stream,
            revision,
            position: read[revision]!.position,
          })),
        );
        expect(read[1]!.position).toBe(first.position);
        expect(read[2]!.position).toBe(second.position);
        expect(second.position).toBeGreaterThan(first.position);
      });

      test('a stream is read from a revision on', async () => {
        const stream = aStream();
        await appended(stream, NO_STREAM, someEvents(5));
        expect((await store.readStream(stream, 3)).map(({ revision }) => revision)).toEqual([3, 4]);
        expect(await store.readStream(stream, 5)).toEqual([]);
      });

      test('any text comes back as it was', async () => {
        const texts = ['ßüñ 漢字 🛒🏽', '\u0000 \u2028 "\\', 'e\u0301 vs \u00e9', '\ud83d', ''];
        const stream = aStream();
        await appended(stream, NO_STREAM, [anEvent({ texts, 'ключ 🔑': 'значение' })]);
        expect((await store.readStream(stream))[0]!.data).toEqual({ texts, 'ключ 🔑': 'значение' });
      });

      test('large events are kept whole', async () => {
        const stream = aStream();
        const events = [1, 2].map((n) => anEvent({ n, text: `${n}🛒`.repeat(100_000) }));
        await appended(stream, NO_STREAM, events);
        expect((await store.readStream(stream)).map(({ data }) => data)).toEqual(
          events.map(({ data }) => data),
        );
      });

      test('the head is not behind the newest event, and can be reached', async () => {
        const { position } = await appended(aStream(), NO_STREAM, someEvents(2));
        const head = await store.head();
        expect(head).toBeGreaterThanOrEqual(position);
        const { events, last } = await takeUntilCaughtUp(store, position);
        expect(events).toEqual([]);
        expect(last.position).toBeGreaterThanOrEqual(head);
      });

      test('an append changes nothing that the caller does to its events later', async () => {
        const stream = aStream();
        const data = { title: 'as appended' };
        const appending = appended(stream, NO_STREAM, [anEvent(data)]);
        data.title = 'changed since';
        await appending;
        expect((await store.readStream(stream))[0]!.data).toEqual({ title: 'as appended' });
      });
    });

    describe('expected revision', () => {
      test('a stream that exists refuses to be created, and nothing is written', async () => {
        const stream = aStream();
        const { position } = await appended(stream, NO_STREAM, someEvents(2));
        expect(await store.append(stream, NO_STREAM, someEvents(1))).toEqual({
          outcome: 'wrong_revision',
          actual: 1,
        });
        expect((await takeUntilCaughtUp(store, position)).events).toEqual([]);
        expect(await store.readStream(stream)).toHaveLength(2);
      });

      test('a revision that is not there yet is refused too', async () => {
        const stream = aStream();
        expect(await store.append(stream, 0, someEvents(1))).toEqual({
          outcome: 'wrong_revision',
          actual: NO_STREAM,
        });
        await appended(stream, NO_STREAM, someEvents(1));
        expect(await store.append(stream, 5, someEvents(1))).toEqual({
          outcome: 'wrong_revision',
          actual: 0,
        });
      });

      test('of many appends at the same revision exactly one wins', async () => {
        const stream = aStream();
        const attempts = Array.from({ length: 20 }, () => someEvents(2));
        const results = await Promise.all(attempts.map((events) => store.append(stream, NO_STREAM, events)));
        expect(results.filter(({ outcome }) => outcome === 'appended')).toHaveLength(1);
        const winner = attempts[results.findIndex(({ outcome }) => outcome === 'appended')]!;
        expect((await store.readStream(stream)).map(({ id }) => id)).toEqual(winner.map(({ id }) => id));
      });

      test('of two processes at the same revision exactly one wins', async () => {
        const other = await given.again();
        const stream = aStream();
        for (let revision = NO_STREAM; revision < 9; revision++) {
          const results = await Promise.all(
            [store, other].map((one) => one.append(stream, revision, someEvents(1))),
          );
          expect(results.map(({ outcome }) => outcome).sort()).toEqual(['appended', 'wrong_revision']);
        }
        expect(await store.readStream(stream)).toEqual(await other.readStream(stream));
        expect(await store.readStream(stream)).toHaveLength(10);
      });

      test('an append that loses takes nothing from those that arrive with it', async () => {
        const [one, two, taken] = [aStream(), aStream(), aStream()];
        await appended(taken, NO_STREAM, someEvents(1));
        const results = await Promise.all([
          store.append(one, NO_STREAM, someEvents(2)),
          store.append(taken, NO_STREAM, someEvents(2)),
          store.append(two, NO_STREAM, someEvents(2)),
        ]);
        expect(results.map(({ outcome }) => outcome)).toEqual(['appended', 'wrong_revision', 'appended']);
        expect(await store.readStream(taken)).toHaveLength(1);
        expect(await store.readStream(two)).toHaveLength(2);
      });
    });

    describe('an append that is repeated', () => {
      test('is answered as the first time, and nothing is doubled', async () => {
        const stream = aStream();
        const events = someEvents(3);
        const first = await appended(stream, NO_STREAM, events);
        expect(await store.append(stream, NO_STREAM, events)).toEqual(first);
        expect(await store.readStream(stream)).toHaveLength(3);
      });

      test('is answered as the first time where the stream has grown since', async () => {
        const stream = aStream();
        await appended(stream, NO_STREAM, someEvents(1));
        const events = someEvents(2);
        const first = await appended(stream, 0, events);
        await appended(stream, 2, someEvents(2));
        expect(await store.append(stream, 0, events)).toEqual(first);
        expect(await store.readStream(stream)).toHaveLength(5);
      });

      test('is one append where both are under way at once', async () => {
        const stream = aStream();
        const other = await given.again();
        const events = someEvents(2);
        const results = await Promise.all(
          [store, other, store].map((one) => one.append(stream, NO_STREAM, events)),
        );
        expect(new Set(results.map((result) => result.outcome))).toEqual(new Set(['appended']));
        expect(results[1]).toEqual(results[0]);
        expect(results[2]).toEqual(results[0]);
        expect(await store.readStream(stream)).toHaveLength(2);
      });

      test('is no repetition where only some of the events are the same', async () => {
        const stream = aStream();
        const [first, second, third] = someEvents(3) as [EncodedEvent, EncodedEvent, EncodedEvent];
        await appended(stream, NO_STREAM, [first, second]);
        const outcome = { outcome: 'wrong_revision', actual: 1 };
        expect(await store.append(stream, NO_STREAM, [first, third])).toEqual(outcome);
        expect(await store.append(stream, NO_STREAM, [first, second, third])).toEqual(outcome);
      });
    });

    test('everything acknowledged is there when the log is opened again', async () => {
      const stream = aStream();
      await appended(stream, NO_STREAM, someEvents(3));
      const { events: before } = await takeUntilCaughtUp(store, START);
      await store.close();
      const reopened = await given.again();
      expect((await takeUntilCaughtUp(reopened, START)).events).toEqual(before);
      const next = await reopened.append(stream, 2, someEvents(1));
      expect(next).toMatchObject({ outcome: 'appended', revision: 3 });
    });

    test('a closed store says that it is unavailable', async () => {
      const other = await given.again();
      await other.close();
      const unavailable = { condition: 'unavailable' };
      await expect(other.append(aStream(), NO_STREAM, someEvents(1))).rejects.toMatchObject(unavailable);
      await expect(other.head()).rejects.toMatchObject(unavailable);
    });
  });
}
