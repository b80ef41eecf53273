import { randomUUID } from 'node:crypto';
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
import { EventStoreServer, eventStoreUrl } from '../support/eventstore-standin/server-under-test';
import { waitFor } from '../support/wait-for';

/**
 * What the adapter and its tests rely on the server for, asked with the bare client: with EVENTSTORE_URL of a real
 * server, so that the stand-in can be told from it where it differs.
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

const aStream = (): string => `standin-${randomUUID()}`;
const events = (count: number): JSONEventData[] =>
  Array.from({ length: count }, (_, n) => jsonEvent({ type: 'happened', data: { n }, metadata: { n } }));

/** Credentials make the client send one call per append; without, it sends batches. */
const WAYS = [
  ['one call', { credentials: { username: 'admin', password: 'changeit' } }],
  ['a batch', {}],
] as const;

async function read(stream: string, options: Parameters<EventStoreDBClient['readStream']>[1] = {}) {
  const found = [];
  for await (const { event } of client.readStream(stream, options)) if (event) found.push(event);
  return found;
}

async function readAll(options: Parameters<EventStoreDBClient['readAll']>[0]) {
  const found = [];
  for await (const { event } of client.readAll(options)) if (event) found.push(event);
  return found;
}

describe(`${eventStoreUrl === undefined ? 'the stand-in' : 'EventStoreDB'}`, () => {
  describe.each(WAYS)('appends by %s', (_way, way) => {
    test('at the expected revision alone', async () => {
      const stream = aStream();
      await expect(
        client.appendToStream(stream, events(1), { ...way, expectedRevision: 0n }),
      ).rejects.toMatchObject({
        type: 'wrong-expected-version',
        actualVersion: 'no_stream',
      });
      const first = await client.appendToStream(stream, events(2), { ...way, expectedRevision: NO_STREAM });
      expect(first).toMatchObject({ success: true, nextExpectedRevision: 1n });
      for (const expectedRevision of [NO_STREAM, 0n, 2n] as const)
        await expect(
          client.appendToStream(stream, events(1), { ...way, expectedRevision }),
        ).rejects.toMatchObject({
          actualVersion: 1n,
        });
      await client.appendToStream(stream, events(1), { ...way, expectedRevision: 1n });
      await client.appendToStream(stream, events(1), { ...way, expectedRevision: ANY });
      expect((await read(stream)).map(({ revision }) => revision)).toEqual([0n, 1n, 2n, 3n]);
    });

    test('the same events at the same revision once, answered as the first time', async () => {
      const stream = aStream();
      const [one, two, three] = events(3) as [JSONEventData, JSONEventData, JSONEventData];
      const first = await client.appendToStream(stream, [one, two], { ...way, expectedRevision: NO_STREAM });
      await client.appendToStream(stream, [three], { ...way, expectedRevision: 1n });
      expect(
        await client.appendToStream(stream, [one, two], { ...way, expectedRevision: NO_STREAM }),
      ).toEqual(first);
      for (const others of [
        [two, one],
        [one, three],
        [one, two, events(1)[0]!],
      ])
        await expect(
          client.appendToStream(stream, others, { ...way, expectedRevision: NO_STREAM }),
        ).rejects.toBeInstanceOf(WrongExpectedVersionError);
      expect(await read(stream)).toHaveLength(3);
    });

    test('the same events at any revision once', async () => {
      const stream = aStream();
      const same = events(2);
      const first = await client.appendToStream(stream, same, { ...way, expectedRevision: ANY });
      expect(await client.appendToStream(stream, same, { ...way, expectedRevision: ANY })).toEqual(first);
      expect(await client.appendToStream(stream, same, { ...way, expectedRevision: STREAM_EXISTS })).toEqual(
        first,
      );
      expect(await read(stream)).toHaveLength(2);
    });

    test('nothing above the size it takes', async () => {
      const large = jsonEvent({ type: 'happened', data: { text: 'x'.repeat(1_100_000) } });
      await expect(client.appendToStream(aStream(), [large], way)).rejects.toMatchObject({
        type: 'maximum-append-size-exceeded',
      });
    });
  });

  test('a position is the last event’s, and every event has its own', async () => {
    const stream = aStream();
    const { position } = await client.appendToStream(stream, events(3));
    const found = await read(stream);
    expect(found.at(-1)!.position).toEqual(position);
    const places = found.map((event) => event.position!);
    for (const place of places) expect(place.commit).toBe(place.prepare);
    expect(places[0]!.commit).toBeLessThan(places[1]!.commit);
    expect(places[1]!.commit).toBeLessThan(places[2]!.commit);
  });

  test('the log is read from a position on, its event included, and backwards before it', async () => {
    const stream = aStream();
    const { position } = await client.appendToStream(stream, events(1));
    const [at] = await readAll({ fromPosition: position!, direction: FORWARDS, maxCount: 1 });
    expect(at!.streamId).toBe(stream);
    const [before] = await readAll({ fromPosition: position!, direction: BACKWARDS, maxCount: 1 });
    expect(before!.position.commit).toBeLessThan(position!.commit);
    const [newest] = await readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1 });
    expect(newest!.position.commit).toBeGreaterThanOrEqual(position!.commit);
  });

  test('a stream that is deleted is not found and may begin again; one with a tombstone may not', async () => {
    const [deleted, tombstoned] = [aStream(), aStream()];
    for (const stream of [deleted, tombstoned]) await client.appendToStream(stream, events(2));
    await client.deleteStream(deleted);
    await client.tombstoneStream(tombstoned);
    await expect(read(deleted)).rejects.toBeInstanceOf(StreamNotFoundError);
    await expect(read(tombstoned)).rejects.toBeInstanceOf(StreamDeletedError);
    await expect(read(aStream())).rejects.toBeInstanceOf(StreamNotFoundError);
    const again = await client.appendToStream(deleted, events(1), { expectedRevision: NO_STREAM });
    expect(again.nextExpectedRevision).toBe(2n);
    expect((await read(deleted)).map(({ revision }) => revision)).toEqual([2n]);
    await expect(
      client.appendToStream(tombstoned, events(1), { expectedRevision: NO_STREAM }),
    ).rejects.toBeInstanceOf(StreamDeletedError);
  });

  test('a subscription gives what its filter lets through, behind the position, and reports how far it came', async () => {
    const prefix = aStream();
    const first = await client.appendToStream(`${prefix}-a`, events(1));
    await client.appendToStream(`${prefix}-b`, events(2));
    const checkpoints: Position[] = [];
    const filter = streamNameFilter({
      prefixes: [`${prefix}-`],
      checkpointReached: (_, position) => void checkpoints.push(position),
    });
    const subscription = client.subscribeToAll({ fromPosition: first.position!, filter });
    const given: string[] = [];
    let caught_up = false;
    subscription.on('error', () => {});
    subscription.on('caughtUp', () => {
      caught_up = true;
    });
    subscription.on('data', ({ event }) => void given.push(event!.streamId));
    await waitFor(() => caught_up && given.length === 2);
    await client.appendToStream(aStream(), events(100));
    await waitFor(() => checkpoints.length > 0, { what: 'a checkpoint' });
    const last = await client.appendToStream(`${prefix}-c`, events(1));
    await waitFor(() => given.length === 3);
    expect(given).toEqual([`${prefix}-b`, `${prefix}-b`, `${prefix}-c`]);
    for (const { commit } of checkpoints) expect(commit).toBeLessThanOrEqual(last.position!.commit + 1n);
    await subscription.unsubscribe();
  });
});
