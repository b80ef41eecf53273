import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  ANY,
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  type JSONEventData,
  jsonEvent,
  NO_STREAM,
  type Position,
  STREAM_EXISTS,
  StreamDeletedError,
  StreamNotFoundError,
  streamNameFilter,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { filterByPrefix } from '../../shared/adapters/eventstoredb/client';
import { EventStoreServer, eventStoreUrl } from '../support/eventstore-standin/server-under-test';
import { waitFor } from '../support/wait-for';

/**
 * Tests the behaviour of EventStoreDB that the adapter and its tests rely on, with the plain client. With
 * EVENTSTORE_URL they run on a real server, which shows whether the stand-in differs from it.
 */
const server = new EventStoreServer();
let client: EventStoreDBClient;

beforeAll(async () => {
  await server.start();
  client = EventStoreDBClient.connectionString(server.url);
});
afterAll(async () => {
  await client.dispose();
  await server.stop();
});

const { UNKNOWN } = status;
const aStream = (): string => `standin-${randomUUID()}`;
const events = (count: number): JSONEventData[] =>
  Array.from({ length: count }, (_, n) => jsonEvent({ type: 'happened', data: { n }, metadata: { n } }));

/** With credentials the client sends one call per append, as the adapter does for an append that is refused. */
const ALONE = { credentials: { username: 'admin', password: 'changeit' } };

async function read(stream: string, options: Parameters<EventStoreDBClient['readStream']>[1] = {}) {
  const read_events = [];
  for await (const { event } of client.readStream(stream, options)) if (event) read_events.push(event);
  return read_events;
}

async function readAll(options: Parameters<EventStoreDBClient['readAll']>[0]) {
  const read_events = [];
  for await (const { event } of client.readAll(options)) if (event) read_events.push(event);
  return read_events;
}

describe(`${eventStoreUrl === undefined ? 'the stand-in' : 'EventStoreDB'}`, () => {
  describe('appends', () => {
    const mode = ALONE;

    test('only at the expected revision', async () => {
      const stream = aStream();
      await expect(
        client.appendToStream(stream, events(1), { ...mode, expectedRevision: 0n }),
      ).rejects.toMatchObject({
        type: 'wrong-expected-version',
        actualVersion: 'no_stream',
      });
      const first = await client.appendToStream(stream, events(2), { ...mode, expectedRevision: NO_STREAM });
      expect(first).toMatchObject({ success: true, nextExpectedRevision: 1n });
      for (const expectedRevision of [NO_STREAM, 0n, 2n] as const)
        await expect(
          client.appendToStream(stream, events(1), { ...mode, expectedRevision }),
        ).rejects.toMatchObject({
          actualVersion: 1n,
        });
      await client.appendToStream(stream, events(1), { ...mode, expectedRevision: 1n });
      await client.appendToStream(stream, events(1), { ...mode, expectedRevision: ANY });
      expect((await read(stream)).map(({ revision }) => revision)).toEqual([0n, 1n, 2n, 3n]);
    });

    test('repeated events at the same revision once, with the first result', async () => {
      const stream = aStream();
      const [one, two, three] = events(3) as [JSONEventData, JSONEventData, JSONEventData];
      const first = await client.appendToStream(stream, [one, two], { ...mode, expectedRevision: NO_STREAM });
      await client.appendToStream(stream, [three], { ...mode, expectedRevision: 1n });
      expect(
        await client.appendToStream(stream, [one, two], { ...mode, expectedRevision: NO_STREAM }),
      ).toEqual(first);
      for (const others of [
        [two, one],
        [one, three],
        [one, two, events(1)[0]!],
      ])
        await expect(
          client.appendToStream(stream, others, { ...mode, expectedRevision: NO_STREAM }),
        ).rejects.toBeInstanceOf(WrongExpectedVersionError);
      expect(await read(stream)).toHaveLength(3);
    });

    test('repeated events at any revision once', async () => {
      const stream = aStream();
      const same = events(2);
      const first = await client.appendToStream(stream, same, { ...mode, expectedRevision: ANY });
      expect(await client.appendToStream(stream, same, { ...mode, expectedRevision: ANY })).toEqual(first);
      expect(await client.appendToStream(stream, same, { ...mode, expectedRevision: STREAM_EXISTS })).toEqual(
        first,
      );
      expect(await read(stream)).toHaveLength(2);
    });

    test('nothing above the maximum append size', async () => {
      const large = jsonEvent({ type: 'happened', data: { text: 'x'.repeat(1_100_000) } });
      await expect(client.appendToStream(aStream(), [large], mode)).rejects.toMatchObject({
        type: 'maximum-append-size-exceeded',
      });
    });
  });

  test('answers an append whose event id is not a UUID with code 2', async () => {
    const invalid = jsonEvent({ id: 'not-a-uuid', type: 'happened', data: {} });
    await expect(client.appendToStream(aStream(), [invalid], ALONE)).rejects.toMatchObject({ code: 2 });
  });

  test('refuses a message of more than 16 MB with code 8', async () => {
    const large = jsonEvent({ type: 'happened', data: { text: 'x'.repeat(17 * 1_048_576) } });
    await expect(client.appendToStream(aStream(), [large], ALONE)).rejects.toMatchObject({ code: 8 });
  });

  test('a result has the position of the last event, and every event has its own position', async () => {
    const stream = aStream();
    const { position } = await client.appendToStream(stream, events(3), ALONE);
    const read_events = await read(stream);
    expect(read_events.at(-1)!.position).toEqual(position);
    const positions = read_events.map((event) => event.position!);
    for (const position_of_event of positions)
      expect(position_of_event.commit).toBe(position_of_event.prepare);
    expect(positions[0]!.commit).toBeLessThan(positions[1]!.commit);
    expect(positions[1]!.commit).toBeLessThan(positions[2]!.commit);
  });

  test('a forward read includes the event at the position, a backward read starts before it', async () => {
    const stream = aStream();
    const { position } = await client.appendToStream(stream, events(1));
    const [at] = await readAll({ fromPosition: position!, direction: FORWARDS, maxCount: 1 });
    expect(at!.streamId).toBe(stream);
    const [before] = await readAll({ fromPosition: position!, direction: BACKWARDS, maxCount: 1 });
    expect(before!.position.commit).toBeLessThan(position!.commit);
    const [newest] = await readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1 });
    expect(newest!.position.commit).toBeGreaterThanOrEqual(position!.commit);
  });

  describe('a position between two records', () => {
    const between = async (): Promise<Position> => {
      const { position } = await client.appendToStream(aStream(), events(2));
      return { commit: position!.commit - 1n, prepare: position!.prepare - 1n };
    };

    test.each([FORWARDS, BACKWARDS] as const)('cannot be read from, %s', async (direction) => {
      const fromPosition = await between();
      await expect(readAll({ fromPosition, direction, maxCount: 1 })).rejects.toMatchObject({
        code: UNKNOWN,
        message: expect.stringContaining('Unexpected ReadAllResult: Error'),
      });
    });

    test('cannot be subscribed from', async () => {
      const fromPosition = await between();
      const filter = streamNameFilter({ prefixes: [aStream()] });
      const subscription = client.subscribeToAll({ fromPosition, filter });
      const [error] = await once(subscription, 'error');
      expect(error).toMatchObject({
        code: UNKNOWN,
        message: expect.stringContaining('Exception was thrown by handler'),
      });
    });
  });

  test('nothing is read from a position after the end', async () => {
    const { position } = await client.appendToStream(aStream(), events(1));
    const far_away = position!.commit + 1_000_000_000n;
    expect(await readAll({ fromPosition: { commit: far_away, prepare: far_away }, maxCount: 1 })).toEqual([]);
  });

  test('a stream that does not exist cannot be deleted', async () => {
    const error = await client.deleteStream(aStream()).catch((refused: unknown) => refused);
    expect(error).toBeInstanceOf(WrongExpectedVersionError);
    expect(error).toMatchObject({ actualVersion: -1n });
  });

  test('a deleted stream is not found and can be created again; a tombstoned stream cannot', async () => {
    const [deleted, tombstoned] = [aStream(), aStream()];
    for (const stream of [deleted, tombstoned]) await client.appendToStream(stream, events(2));
    await client.deleteStream(deleted);
    await client.tombstoneStream(tombstoned);
    await expect(read(deleted)).rejects.toBeInstanceOf(StreamNotFoundError);
    await expect(read(tombstoned)).rejects.toBeInstanceOf(StreamDeletedError);
    await expect(read(aStream())).rejects.toBeInstanceOf(StreamNotFoundError);
    const again = await client.appendToStream(deleted, events(1), { expectedRevision: NO_STREAM });
    expect(again.nextExpectedRevision).toBe(2n);
    // It may be not found for a moment.
    const revived = await waitFor(() => read(deleted), { what: 'the stream to be found again' });
    expect(revived.map(({ revision }) => revision)).toEqual([2n]);
    await expect(
      client.appendToStream(tombstoned, events(1), { ...ALONE, expectedRevision: NO_STREAM }),
    ).rejects.toBeInstanceOf(StreamDeletedError);
  });

  test('a filtered subscription delivers matching events after the position, and new ones', async () => {
    const prefix = aStream();
    const first = await client.appendToStream(`${prefix}-a`, events(1), ALONE);
    await client.appendToStream(`${prefix}-b`, events(2), ALONE);
    const filter = streamNameFilter({ prefixes: [`${prefix}-`] });
    const subscription = client.subscribeToAll({ fromPosition: first.position!, filter });
    const delivered: string[] = [];
    subscription.on('error', () => {});
    subscription.on('data', ({ event }) => void delivered.push(event!.streamId));
    await waitFor(() => delivered.length === 2);
    await client.appendToStream(aStream(), events(100), ALONE);
    await client.appendToStream(`${prefix}-c`, events(1), ALONE);
    await waitFor(() => delivered.length === 3);
    expect(delivered).toEqual([`${prefix}-b`, `${prefix}-b`, `${prefix}-c`]);
    await subscription.unsubscribe();
  });

  test('a filtered read returns matching events at or after the position, up to the end of the log', async () => {
    const prefix = aStream();
    const first = await client.appendToStream(`${prefix}-a`, events(1), ALONE);
    await client.appendToStream(aStream(), events(100), ALONE);
    await client.appendToStream(`${prefix}-b`, events(2), ALONE);
    const reading = filterByPrefix(client, `${prefix}-`).readAll({
      fromPosition: first.position!,
      maxCount: 9,
    });
    const streams: string[] = [];
    for await (const { event } of reading) streams.push(event!.streamId);
    expect(streams).toEqual([`${prefix}-a`, `${prefix}-b`, `${prefix}-b`]);
  });
});
