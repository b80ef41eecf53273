import { randomBytes } from 'node:crypto';
import { GridFSBucket, MongoClient, type ObjectId } from 'mongodb';
import { GridFsBlobStore } from '../../shared/adapters/mongodb/gridfs-blob-store';
import { dieWhilePutting } from '../support/putter';
import { aName, describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { waitFor } from '../support/wait-for';
import { blobStoreContract, chunksOf, listed, readAll, START_MS, sha256 } from './blob-store.contract';

const HOUR_MS = 3_600_000;
const WHERE = { environment: 'live', area: 'originals' } as const;

/** An address with a database of a test's own on the server, and how many documents it holds for bytes. */
function ownDatabase(server: string) {
  const url = new URL(server);
  url.pathname = aName();
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
    const { url, pieces, drop } = ownDatabase(server);
    const opened: GridFsBlobStore[] = [];
    let now_ms = START_MS;
    const again = async (): Promise<GridFsBlobStore> => {
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
    return { store: await again(), again, advance, pieces, dispose };
  });

  test('a process that dies while it puts leaves nothing to be seen, and what it left is removed an hour later', async () => {
    const { url, pieces, drop } = ownDatabase(server);
    await dieWhilePutting(url);
    const soon = new GridFsBlobStore({ ...WHERE, url });
    await soon.tidied;
    expect(await listed(soon)).toEqual([]);
    expect(await pieces()).toBeGreaterThan(1);
    const later = new GridFsBlobStore({ ...WHERE, url, now: () => Date.now() + HOUR_MS + 60_000 });
    await later.tidied;
    expect(await pieces()).toBe(0);
    for (const store of [soon, later]) await store.close();
    await drop();
  });

  test('who put for an hour without a word is told so, for what was put is removed by then', async () => {
    const { url, pieces, drop } = ownDatabase(server);
    const slow = new GridFsBlobStore({ ...WHERE, url });
    async function* halting(): AsyncGenerator<Uint8Array> {
      yield randomBytes(600_000);
      const later = new GridFsBlobStore({ ...WHERE, url, now: () => Date.now() + HOUR_MS + 60_000 });
      await later.tidied;
      await later.close();
      yield randomBytes(600_000);
    }
    await expect(slow.put(halting())).rejects.toMatchObject({ condition: 'unavailable' });
    expect(await listed(slow)).toEqual([]);
    expect(await pieces()).toBe(0);
    await slow.close();
    await drop();
  });

  test('what was given up while it was put, and is about to be removed, gets no name any more', async () => {
    const { url, database, pieces, drop } = ownDatabase(server);
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

  test('a file that lost its blob in a delete that broke off is removed, and one that kept it stays', async () => {
    const { url, database, pieces, drop } = ownDatabase(server);
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
    await later.tidied;
    expect((await readAll(later, sha256(kept)))?.bytes).toEqual(kept);
    expect(await pieces()).toBe(2);
    for (const one of [store, later]) await one.close();
    await drop();
  });

  test("the driver's own reader gives the same bytes", async () => {
    const { url, database, drop } = ownDatabase(server);
    const store = new GridFsBlobStore({ ...WHERE, url });
    const bytes = randomBytes(700_000);
    const { hash } = await store.put(chunksOf(bytes));
    const bucket = new GridFSBucket(database, { bucketName: 'originals' });
    const chunks: Uint8Array[] = [];
    for await (const chunk of bucket.openDownloadStreamByName(hash)) chunks.push(chunk as Uint8Array);
    expect(Buffer.concat(chunks)).toEqual(bytes);
    await store.close();
    await drop();
  });
});

describeOn('MONGODB_URL', 'the blob store while MongoDB goes away and comes back', () => {
  let server: OwnServer;
  let store: GridFsBlobStore;

  beforeAll(async () => {
    server = await startOwnServer('mongo');
    store = new GridFsBlobStore({ ...WHERE, url: server.url, deadline_ms: 1_000 });
  });
  afterAll(async () => {
    await store.close();
    await server.dispose();
  });

  const away = { condition: 'unavailable' };

  test('a put whose server dies midway fails and keeps nothing; the same put again succeeds', async () => {
    const before = randomBytes(600_000);
    const { hash } = await store.put(chunksOf(before));
    const bytes = randomBytes(1_000_000);
    async function* interrupted(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 600_000);
      await server.kill();
      yield bytes.subarray(600_000);
    }
    await expect(store.put(interrupted())).rejects.toMatchObject(away);
    await expect(store.size(hash)).rejects.toMatchObject(away);
    await expect(listed(store)).rejects.toMatchObject(away);
    await server.start();
    await waitFor(() => store.size(hash));
    expect(await store.size(sha256(bytes))).toBeUndefined();
    expect((await readAll(store, hash))?.bytes).toEqual(before);
    await store.put(chunksOf(bytes));
    expect((await readAll(store, sha256(bytes)))?.bytes).toEqual(bytes);
  });

  test('a server that stays silent is told of, in a put and between two chunks of a reading', async () => {
    const bytes = randomBytes(1_000_000);
    const { hash } = await store.put(chunksOf(bytes));
    const reading = (await store.read(hash))!.bytes[Symbol.asyncIterator]();
    await reading.next();
    await server.freeze();
    try {
      await expect(reading.next()).rejects.toMatchObject(away);
      await expect(store.put(chunksOf(bytes))).rejects.toMatchObject(away);
    } finally {
      await server.thaw();
    }
    await waitFor(async () => (await readAll(store, hash))?.bytes.equals(bytes));
  });
});
