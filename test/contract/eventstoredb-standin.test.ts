import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  ANY,
  type AppendExpectedRevision,
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  type JSONEventData,
  jsonEvent,
  NO_STREAM,
  StreamDeletedError,
  StreamNotFoundError,
  streamNameFilter,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { filterByPrefix } from '../../shared/adapters/eventstoredb/client';
import { EventStoreServer, eventStoreUrl } from '../support/eventstore-standin/server-under-test';
import { WAIT_MS_MAX, waitFor, within } from '../support/wait-for';

/**
 * Tests the behaviour of EventStoreDB that the adapter and its tests rely on, with the plain client. With
 * EVENTSTORE_URL they run on a real server, which shows whether the stand-in differs from it.
 */
const server = new EventStoreServer();
let client: EventStoreDBClient;

beforeAll(async () => {
  await server.start();
  // A busy machine takes longer than the client allows by default.
  const separator = server.url.includes('?') ? '&' : '?';
  client = EventStoreDBClient.connectionString(`${server.url}${separator}defaultDeadline=${WAIT_MS_MAX}`);
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
  test('appends only at the expected revision', async () => {
    const stream = aStream();
    const append = (expectedRevision: AppendExpectedRevision, count = 1) =>
      client.appendToStream(stream, events(count), { ...ALONE, expectedRevision });
    await expect(append(0n)).rejects.toMatchObject({
      type: 'wrong-expected-version',
      actualVersion: 'no_stream',
    });
    expect(await append(NO_STREAM, 2)).toMatchObject({ success: true, nextExpectedRevision: 1n });
    for (const expected of [NO_STREAM, 0n, 2n] as const)
      await expect(append(expected)).rejects.toMatchObject({ actualVersion: 1n });
    await append(1n);
    await append(ANY);
    expect((await read(stream)).map(({ revision }) => revision)).toEqual([0n, 1n, 2n, 3n]);
  });

  test.each([NO_STREAM, ANY] as const)('appends repeated events at %s once', async (expectedRevision) => {
    const stream = aStream();
    const mode = { ...ALONE, expectedRevision };
    const [one, two, three] = events(3) as [JSONEventData, JSONEventData, JSONEventData];
    const first = await client.appendToStream(stream, [one, two], mode);
    await client.appendToStream(stream, [three], { ...ALONE, expectedRevision: 1n });
    expect(await client.appendToStream(stream, [one, two], mode)).toEqual(first);
    expect(await read(stream)).toHaveLength(3);
    if (expectedRevision === NO_STREAM)
      for (const others of [
        [two, one],
        [one, three],
        [one, two, events(1)[0]!],
      ])
        await expect(client.appendToStream(stream, others, mode)).rejects.toBeInstanceOf(
          WrongExpectedVersionError,
        );
  });

  test('appends nothing above the maximum append size', async () => {
    const large = jsonEvent({ type: 'happened', data: { text: 'x'.repeat(1_100_000) } });
    await expect(client.appendToStream(aStream(), [large], ALONE)).rejects.toMatchObject({
      type: 'maximum-append-size-exceeded',
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

  test.each([FORWARDS, BACKWARDS] as const)(
    'a position between two records cannot be read from, %s',
    async (direction) => {
      const { position } = await client.appendToStream(aStream(), events(2));
      const fromPosition = { commit: position!.commit - 1n, prepare: position!.prepare - 1n };
      await expect(readAll({ fromPosition, direction, maxCount: 1 })).rejects.toMatchObject({
        code: UNKNOWN,
        message: expect.stringContaining('Unexpected ReadAllResult: Error'),
      });
    },
  );

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

  test('a filtered subscription delivers new events of matching streams', async () => {
    const prefix = aStream();
    await client.appendToStream(`${prefix}-a`, events(1), ALONE);
    const filter = streamNameFilter({ prefixes: [`${prefix}-`] });
    const subscription = client.subscribeToAll({ fromPosition: END, filter });
    const delivered: string[] = [];
    subscription.on('error', () => {});
    subscription.on('data', ({ event }) => void delivered.push(event!.streamId));
    await within(once(subscription, 'confirmation'), 'the subscription');
    await client.appendToStream(aStream(), events(100), ALONE);
    for (const stream of ['b', 'c']) await client.appendToStream(`${prefix}-${stream}`, events(1), ALONE);
    await waitFor(() => delivered.length === 2);
    expect(delivered).toEqual([`${prefix}-b`, `${prefix}-c`]);
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
