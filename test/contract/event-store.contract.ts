import { type EncodedEvent, START, type StreamName } from '../../shared/catalog/events/envelope';
import { APPEND_BYTES_MAX, type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { bounded } from '../support/bounded';
import { readLogBatches } from '../support/read-log';
import { within } from '../support/wait-for';
import { eventSnapshotsContract } from './event-snapshots.contract';
import { eventSubscriptionContract } from './event-subscriptions.contract';
import { anEvent, aStream, someEvents } from './some-events';

/** The log of a realm without events; other realms may have events. `openAnother` opens it as another process would. */
export interface EventStoreUnderTest {
  readonly store: EventStore;
  openAnother(): Promise<EventStore>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

/** Tests what every event store guarantees (shared/ports/event-store.ts). */
export function eventStoreContract(name: string, open: () => Promise<EventStoreUnderTest>): void {
  eventAppendsContract(name, open);
  eventSubscriptionContract(name, open);
  eventSnapshotsContract(name, open);
}

function eventAppendsContract(name: string, open: () => Promise<EventStoreUnderTest>): void {
  describe(`event store on ${name}`, () => {
    let under_test: EventStoreUnderTest;
    let store: EventStore;

    beforeEach(async () => {
      under_test = await open();
      store = bounded(under_test.store, 'event store');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    async function appendOrThrow(stream: StreamName, expected: number, events: readonly EncodedEvent[]) {
      const result = await store.append(stream, expected, events);
      if (result.outcome !== 'appended') throw new Error(`lost race: ${JSON.stringify(result)}`);
      return result;
    }

    describe('append and readStream', () => {
      test('an empty log has no streams, and a subscription reaches its head', async () => {
        expect(await store.readStream(aStream())).toEqual([]);
        const head = await store.head();
        const { events, last } = await readLogBatches(store, START);
        expect(events).toEqual([]);
        expect(last.position).toBeGreaterThanOrEqual(head);
      });

      test('reads appended events back unchanged, in order, with revisions from 0', async () => {
        const stream = aStream();
        const events = someEvents(3, { nested: { list: [1, 'two', null, true, 1.5] } });
        const first = await appendOrThrow(stream, NO_STREAM, events.slice(0, 2));
        const second = await appendOrThrow(stream, 1, events.slice(2));
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

      test('reads a stream from a revision on', async () => {
        const stream = aStream();
        await appendOrThrow(stream, NO_STREAM, someEvents(5));
        expect((await store.readStream(stream, 3)).map(({ revision }) => revision)).toEqual([3, 4]);
        expect(await store.readStream(stream, 5)).toEqual([]);
        expect((await store.readStream(stream, 1, 2)).map(({ revision }) => revision)).toEqual([1, 2]);
        expect((await store.readStream(stream, 4, 2)).map(({ revision }) => revision)).toEqual([4]);
      });

      test('reads the log backwards, page by page', async () => {
        expect(await store.readBackwards(2)).toEqual([]);
        const [one, other] = [aStream(), aStream()];
        await appendOrThrow(one, NO_STREAM, someEvents(2));
        await appendOrThrow(other, NO_STREAM, someEvents(2));
        await appendOrThrow(one, 1, someEvents(1));
        const { events } = await readLogBatches(store, START);
        expect(events).toHaveLength(5);
        const newest = await store.readBackwards(2);
        const earlier = await store.readBackwards(10, newest[1]!.position);
        expect([...newest, ...earlier]).toEqual(events.reverse());
        expect(await store.readBackwards(10, earlier.at(-1)!.position)).toEqual([]);
      });

      test('any text is read back unchanged', async () => {
        const texts = ['ßüñ 漢字 🛒🏽', '\u0000 \u2028 "\\', 'e\u0301 vs \u00e9', '\ud83d', ''];
        const stream = aStream();
        await appendOrThrow(stream, NO_STREAM, [anEvent({ texts, 'ключ 🔑': 'значение' })]);
        expect((await store.readStream(stream))[0]!.data).toEqual({ texts, 'ключ 🔑': 'значение' });
      });

      test('large events are read back unchanged', async () => {
        const stream = aStream();
        const events = [1, 2].map((n) => anEvent({ n, text: `${n}🛒`.repeat(100_000) }));
        await appendOrThrow(stream, NO_STREAM, events);
        expect((await store.readStream(stream)).map(({ data }) => data)).toEqual(
          events.map(({ data }) => data),
        );
      });

      test('the head is at or after the newest event, and a subscription reaches it', async () => {
        const { position } = await appendOrThrow(aStream(), NO_STREAM, someEvents(2));
        const head = await store.head();
        expect(head).toBeGreaterThanOrEqual(position);
        const { events, last } = await readLogBatches(store, position);
        expect(events).toEqual([]);
        expect(last.position).toBeGreaterThanOrEqual(head);
      });

      test('changing the event objects after the call does not change what is appended', async () => {
        const stream = aStream();
        const data = { title: 'as appended' };
        const appending = appendOrThrow(stream, NO_STREAM, [anEvent(data)]);
        data.title = 'changed since';
        await appending;
        expect((await store.readStream(stream))[0]!.data).toEqual({ title: 'as appended' });
      });
    });

    test('a truncated stream has its last events, goes on, and has no snapshot', async () => {
      const [stream, other] = [aStream(), aStream()];
      const events = someEvents(4);
      // First, because a log keeps its first event.
      await appendOrThrow(other, NO_STREAM, someEvents(2));
      await appendOrThrow(stream, NO_STREAM, events.slice(0, 3));
      await store.snapshots!.write(stream, { schema: 's', revision: 1, event_id: events[1]!.id, state: {} });
      await store.truncate(stream, 2);
      expect((await store.readStream(stream)).map(({ revision, id }) => [revision, id])).toEqual([
        [2, events[2]!.id],
      ]);
      expect(await store.readStream(stream, 0, 1)).toHaveLength(1);
      expect(await store.snapshots!.read(stream)).toBeUndefined();
      expect(await appendOrThrow(stream, 2, events.slice(3))).toMatchObject({ revision: 3 });
      expect(await store.readStream(other)).toHaveLength(2);
      await store.truncate(stream, 2);
      const another = await under_test.openAnother();
      expect((await another.readStream(stream)).map(({ revision }) => revision)).toEqual([2, 3]);
      await store.truncate(stream, 3);
      expect(await another.readStream(stream)).toHaveLength(1);
    });

    describe('expected revision', () => {
      test('an append that expects no stream is refused if the stream exists, and writes nothing', async () => {
        const stream = aStream();
        const { position } = await appendOrThrow(stream, NO_STREAM, someEvents(2));
        expect(await store.append(stream, NO_STREAM, someEvents(1))).toEqual({
          outcome: 'wrong_revision',
          actual: 1,
        });
        expect((await readLogBatches(store, position)).events).toEqual([]);
        expect(await store.readStream(stream)).toHaveLength(2);
      });

      test('an append at a future revision is refused', async () => {
        const stream = aStream();
        expect(await store.append(stream, 0, someEvents(1))).toEqual({
          outcome: 'wrong_revision',
          actual: NO_STREAM,
        });
        await appendOrThrow(stream, NO_STREAM, someEvents(1));
        expect(await store.append(stream, 5, someEvents(1))).toEqual({
          outcome: 'wrong_revision',
          actual: 0,
        });
      });

      test('exactly one of many appends at the same revision succeeds', async () => {
        const stream = aStream();
        const attempts = Array.from({ length: 20 }, () => someEvents(2));
        const results = await Promise.all(attempts.map((events) => store.append(stream, NO_STREAM, events)));
        expect(results.filter(({ outcome }) => outcome === 'appended')).toHaveLength(1);
        const winner = attempts[results.findIndex(({ outcome }) => outcome === 'appended')]!;
        expect((await store.readStream(stream)).map(({ id }) => id)).toEqual(winner.map(({ id }) => id));
      });

      test('exactly one of two processes succeeds at the same revision', async () => {
        const other = await under_test.openAnother();
        const stream = aStream();
        for (let revision = NO_STREAM; revision < 9; revision++) {
          const results = await Promise.all(
            [store, other].map((handle) => handle.append(stream, revision, someEvents(1))),
          );
          expect(results.map(({ outcome }) => outcome).sort()).toEqual(['appended', 'wrong_revision']);
        }
        expect(await store.readStream(stream)).toEqual(await other.readStream(stream));
        expect(await store.readStream(stream)).toHaveLength(10);
      });

      test('a refused append does not affect concurrent appends', async () => {
        const [one, two, taken] = [aStream(), aStream(), aStream()];
        await appendOrThrow(taken, NO_STREAM, someEvents(1));
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

    describe('a repeated append', () => {
      test('returns the first result, and stores nothing twice', async () => {
        const stream = aStream();
        const events = someEvents(3);
        const first = await appendOrThrow(stream, NO_STREAM, events);
        expect(await store.append(stream, NO_STREAM, events)).toEqual(first);
        expect(await store.readStream(stream)).toHaveLength(3);
      });

      test('returns the first result if the stream has grown since', async () => {
        const stream = aStream();
        await appendOrThrow(stream, NO_STREAM, someEvents(1));
        const events = someEvents(2);
        const first = await appendOrThrow(stream, 0, events);
        await appendOrThrow(stream, 2, someEvents(2));
        expect(await store.append(stream, 0, events)).toEqual(first);
        expect(await store.readStream(stream)).toHaveLength(5);
      });

      test('returns the first result if its time and its trace differ, and keeps the first metadata', async () => {
        const stream = aStream();
        const events = someEvents(2);
        const [first_trace, second_trace] = ['a', 'b'].map((id) => `00-${id.repeat(32)}-${id.repeat(16)}-01`);
        const at = (occurred_at: string, traceparent: string): EncodedEvent[] =>
          events.map((event) => ({ ...event, metadata: { ...event.metadata, occurred_at, traceparent } }));
        const first = await appendOrThrow(stream, NO_STREAM, at('2026-01-31T12:00:00.000Z', first_trace!));
        const repeated = at('2026-01-31T12:00:01.000Z', second_trace!);
        expect(await store.append(stream, NO_STREAM, repeated)).toEqual(first);
        const stored = await store.readStream(stream);
        expect(stored.map(({ metadata }) => metadata.traceparent)).toEqual([first_trace, first_trace]);
      });

      test('is stored once if both run at the same time', async () => {
        const stream = aStream();
        const other = await under_test.openAnother();
        const events = someEvents(2);
        const results = await Promise.all(
          [store, other, store].map((handle) => handle.append(stream, NO_STREAM, events)),
        );
        expect(new Set(results.map((result) => result.outcome))).toEqual(new Set(['appended']));
        expect(results[1]).toEqual(results[0]);
        expect(results[2]).toEqual(results[0]);
        expect(await store.readStream(stream)).toHaveLength(2);
      });

      test('is refused if only some of the events are the same', async () => {
        const stream = aStream();
        const [first, second, third] = someEvents(3) as [EncodedEvent, EncodedEvent, EncodedEvent];
        await appendOrThrow(stream, NO_STREAM, [first, second]);
        const outcome = { outcome: 'wrong_revision', actual: 1 };
        expect(await store.append(stream, NO_STREAM, [first, third])).toEqual(outcome);
        expect(await store.append(stream, NO_STREAM, [first, second, third])).toEqual(outcome);
      });
    });

    describe('event ids', () => {
      test('identify an event only within its stream, at its revision', async () => {
        const [one, other] = [aStream(), aStream()];
        const event = anEvent();
        await appendOrThrow(one, NO_STREAM, [event]);
        await appendOrThrow(other, NO_STREAM, [event]);
        await appendOrThrow(one, 0, [event]);
        expect((await store.readStream(one)).map(({ id }) => id)).toEqual([event.id, event.id]);
        expect((await store.readStream(other)).map(({ id }) => id)).toEqual([event.id]);
      });

      const ID = '019c0f3a-6c56-7f5b-9d53-7a1a0e6f1c01';
      test.each([
        ['is no UUID', ['not-a-uuid']],
        ['has upper-case letters', [ID.toUpperCase()]],
        ['is that of two events', [ID, ID]],
        ['is empty', ['']],
      ])('an append whose id %s is refused, and writes nothing', async (_what, ids) => {
        const stream = aStream();
        const events = ids.map((id) => anEvent({}, id));
        await expect(store.append(stream, NO_STREAM, events)).rejects.toThrow(TypeError);
        expect(await store.readStream(stream)).toEqual([]);
      });
    });

    test('an append without events is refused', async () => {
      await expect(store.append(aStream(), NO_STREAM, [])).rejects.toThrow(TypeError);
    });

    test.each([
      ['$system', 'is reserved by EventStoreDB'],
      ['', 'is empty'],
    ])('an event of the type "%s" is refused: it %s', async (type) => {
      const stream = aStream();
      const events = [anEvent(), { ...anEvent(), type }];
      await expect(store.append(stream, NO_STREAM, events)).rejects.toThrow(TypeError);
      expect(await store.readStream(stream)).toEqual([]);
    });

    test.each([-2, 0.5, Number.NaN, 2 ** 53])('an append at revision %d is refused', async (revision) => {
      await expect(store.append(aStream(), revision, someEvents(1))).rejects.toThrow(TypeError);
    });

    test.each([
      [-1, undefined],
      [0.5, undefined],
      [Number.NaN, undefined],
      [0, 0],
      [0, -1],
      [0, 1.5],
    ])('a read from revision %d of %p events is refused', async (from, count) => {
      await expect(store.readStream(aStream(), from, count)).rejects.toThrow(TypeError);
    });

    describe('the size of an append', () => {
      /** Returns two events that have this many bytes together. */
      const eventsOf = (bytes: number): EncodedEvent[] => {
        const events = [anEvent({ text: '🛒' }), anEvent({ text: '' })];
        const used = events.reduce((sum, { type, data, metadata, schema_version }) => {
          const texts = [JSON.stringify(data), JSON.stringify({ ...metadata, schema_version })];
          return texts.reduce((length, text) => length + Buffer.byteLength(text), sum + 2 * type.length);
        }, 0);
        return [events[0]!, { ...events[1]!, data: { text: 'x'.repeat(bytes - used) } }];
      };

      test('is at most 1,048,576 bytes', async () => {
        const stream = aStream();
        const events = eventsOf(APPEND_BYTES_MAX);
        await appendOrThrow(stream, NO_STREAM, events);
        expect((await store.readStream(stream)).map(({ data }) => data)).toEqual(
          events.map(({ data }) => data),
        );
      });

      test.each([
        ['one byte more', APPEND_BYTES_MAX + 1],
        ['20 MB', 20 * 1_048_576],
      ])('%s is refused with too_large, and writes nothing', async (_what, bytes) => {
        const stream = aStream();
        const appending = store.append(stream, NO_STREAM, eventsOf(bytes));
        await expect(appending).rejects.toMatchObject({ condition: 'too_large' });
        expect(await store.readStream(stream)).toEqual([]);
      });
    });

    test('all acknowledged events are stored when the log is opened again', async () => {
      const stream = aStream();
      await appendOrThrow(stream, NO_STREAM, someEvents(3));
      const { events: before } = await readLogBatches(store, START);
      await store.close();
      const reopened = await under_test.openAnother();
      expect((await readLogBatches(reopened, START)).events).toEqual(before);
      const next = await reopened.append(stream, 2, someEvents(1));
      expect(next).toMatchObject({ outcome: 'appended', revision: 3 });
    });

    test('a closed store rejects calls with unavailable', async () => {
      const other = await under_test.openAnother();
      await other.close();
      const unavailable = { condition: 'unavailable' };
      await expect(other.append(aStream(), NO_STREAM, someEvents(1))).rejects.toMatchObject(unavailable);
      await expect(other.head()).rejects.toMatchObject(unavailable);
    });
  });
}
