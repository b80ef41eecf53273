import { randomBytes } from 'node:crypto';
import { GridFSBucket, MongoClient, type ObjectId } from 'mongodb';
import { GridFsBlobStore } from '../../shared/adapters/mongodb/gridfs-blob-store';
import { expectEqual } from '../support/expect-equal';
import { dieWhilePutting } from '../support/putter';
import { describeOn, ownDatabase } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { untilAnswered, waitFor, within } from '../support/wait-for';
import { blobStoreContract, chunksOf, listed, readAll, START_MS, sha256 } from './blob-store.contract';

const HOUR_MS = 3_600_000;
const WHERE = { environment: 'live', area: 'originals' } as const;

/** Returns the URL of a new database on the server. `pieces` counts its documents of files and chunks. */
function ownFiles(server: string) {
  const url = ownDatabase(server);
  const client = new MongoClient(server);
  const database = client.db(`${url.pathname.slice(1)}_live`);
  const pieces = async (): Promise<number> => {
    const counts = ['files', 'chunks', 'loose'].map((name) =>
      database.collection(`originals.${name}`).countDocuments(),
    );
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };
  const drop = async (): Promise<void> => {
    await database.dropDatabase();
    await client.close();
  };
  return { url: url.href, database, pieces, drop };
}

describeOn('MONGODB_URL', 'on a real server', (server) => {
  blobStoreContract('GridFS', async () => {
    const { url, pieces, drop } = ownFiles(server);
    const opened: GridFsBlobStore[] = [];
    let now_ms = START_MS;
    const openAnother = async (): Promise<GridFsBlobStore> => {
      const store = new GridFsBlobStore({ ...WHERE, url, now: () => now_ms });
      opened.push(store);
      return store;
    };
    const advance = (ms: number): void => {
      now_ms += ms;
    };
    const dispose = async (): Promise<void> => {
      for (const store of opened) await store.close();
      await drop();
    };
    return { store: await openAnother(), openAnother, advance, pieces, dispose };
  });

  test('a process that dies during a put leaves no visible blob, and its left-overs are removed after an hour', async () => {
    const { url, pieces, drop } = ownFiles(server);
    await dieWhilePutting(url);
    const soon = new GridFsBlobStore({ ...WHERE, url });
    await soon.left_overs_removed;
    expect(await listed(soon)).toEqual([]);
    expect(await pieces()).toBeGreaterThan(1);
    const later = new GridFsBlobStore({ ...WHERE, url, now: () => Date.now() + HOUR_MS + 60_000 });
    await later.left_overs_removed;
    expect(await pieces()).toBe(0);
    for (const store of [soon, later]) await store.close();
    await drop();
  });

  test('a put that stalls for an hour fails, because its file was removed', async () => {
    const { url, pieces, drop } = ownFiles(server);
    const slow = new GridFsBlobStore({ ...WHERE, url });
    async function* halting(): AsyncGenerator<Uint8Array> {
      yield randomBytes(600_000);
      const later = new GridFsBlobStore({ ...WHERE, url, now: () => Date.now() + HOUR_MS + 60_000 });
      await later.left_overs_removed;
      await later.close();
      yield randomBytes(600_000);
    }
    await expect(slow.put(halting())).rejects.toMatchObject({ condition: 'unavailable' });
    expect(await listed(slow)).toEqual([]);
    expect(await pieces()).toBe(0);
    await slow.close();
    await drop();
  });

  test('a put whose file was marked as given up fails and publishes no blob', async () => {
    const { url, database, pieces, drop } = ownFiles(server);
    const store = new GridFsBlobStore({ ...WHERE, url });
    async function* givenUp(): AsyncGenerator<Uint8Array> {
      yield randomBytes(600_000);
      await database.collection('originals.loose').updateMany({}, { $set: { given_up: true } });
    }
    await expect(store.put(givenUp())).rejects.toMatchObject({ condition: 'unavailable' });
    expect(await listed(store)).toEqual([]);
    expect(await pieces()).toBe(0);
    await store.close();
    await drop();
  });

  test('after an interrupted delete, a file without a blob is removed, and a file with a blob stays', async () => {
    const { url, database, pieces, drop } = ownFiles(server);
    const store = new GridFsBlobStore({ ...WHERE, url });
    const [lost, kept] = [randomBytes(10), randomBytes(10)];
    for (const bytes of [lost, kept]) await store.put(chunksOf(bytes));
    const blobs = database.collection<{ _id: string; file: ObjectId }>('originals.blobs');
    const loose = database.collection('originals.loose');
    for (const { file } of await blobs.find().toArray())
      await loose.updateOne(
        { _id: file },
        { $set: { since_ms: START_MS, given_up: false } },
        { upsert: true },
      );
    await blobs.deleteOne({ _id: sha256(lost) });
    const later = new GridFsBlobStore({ ...WHERE, url });
    await later.left_overs_removed;
    expectEqual((await readAll(later, sha256(kept)))?.bytes, kept);
    expect(await pieces()).toBe(2);
    for (const one of [store, later]) await one.close();
    await drop();
  });

  test('the GridFS reader of the driver returns the same bytes', async () => {
    const { url, database, drop } = ownFiles(server);
    const store = new GridFsBlobStore({ ...WHERE, url });
    const bytes = randomBytes(700_000);
    const { hash } = await store.put(chunksOf(bytes));
    const bucket = new GridFSBucket(database, { bucketName: 'originals' });
    const chunks: Uint8Array[] = [];
    for await (const chunk of bucket.openDownloadStreamByName(hash)) chunks.push(chunk as Uint8Array);
    expectEqual(Buffer.concat(chunks), bytes);
    await store.close();
    await drop();
  });
});

describeOn('MONGODB_URL', 'the blob store while MongoDB stops and restarts', () => {
  let server: OwnServer;
  let store: GridFsBlobStore;

  beforeAll(async () => {
    server = await startOwnServer('mongo');
    // Short, so that the tests of a silent server are quick. A busy server may then be late: see `untilAnswered`.
    store = new GridFsBlobStore({ ...WHERE, url: server.url, deadline_ms: 1_000 });
  });
  afterAll(async () => {
    await store.close();
    await server.dispose();
  });

  const unavailable = { condition: 'unavailable' };

  test('a put fails and stores nothing if the server dies during it; repeating it succeeds', async () => {
    const before = randomBytes(600_000);
    const { hash } = await untilAnswered(() => store.put(chunksOf(before)));
    const bytes = randomBytes(1_000_000);
    async function* interrupted(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 600_000);
      await server.kill();
      yield bytes.subarray(600_000);
    }
    await expect(within(store.put(interrupted()), 'the put to fail')).rejects.toMatchObject(unavailable);
    await expect(store.size(hash)).rejects.toMatchObject(unavailable);
    await expect(listed(store)).rejects.toMatchObject(unavailable);
    await server.start();
    expect(await untilAnswered(() => store.size(hash))).toBe(before.length);
    expect(await untilAnswered(() => store.size(sha256(bytes)))).toBeUndefined();
    expectEqual((await untilAnswered(() => readAll(store, hash)))?.bytes, before);
    await untilAnswered(() => store.put(chunksOf(bytes)));
    expectEqual((await untilAnswered(() => readAll(store, sha256(bytes))))?.bytes, bytes);
  });

  test('a put and a started read fail with unavailable if the server does not answer', async () => {
    const bytes = randomBytes(1_000_000);
    const { hash } = await untilAnswered(() => store.put(chunksOf(bytes)));
    const reading = await untilAnswered(async () => {
      const begun = (await store.read(hash))!.bytes[Symbol.asyncIterator]();
      await begun.next();
      return begun;
    });
    await server.freeze();
    try {
      await expect(within(reading.next(), 'the reading to fail')).rejects.toMatchObject(unavailable);
      await expect(within(store.put(chunksOf(bytes)), 'the put to fail')).rejects.toMatchObject(unavailable);
    } finally {
      await server.thaw();
    }
    await waitFor(async () => (await readAll(store, hash))?.bytes.equals(bytes));
  });
});
