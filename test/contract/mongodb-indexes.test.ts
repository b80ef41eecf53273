import { MongoClient, MongoNetworkTimeoutError, MongoServerError } from 'mongodb';
import { MongoViewStore, type MongoViewStoreOptions } from '../../shared/adapters/mongodb/view-store';
import type { IndexProgress } from '../../shared/ports/view-store';
import { describeOn, ownDatabase } from '../support/real-servers';
import { waitFor } from '../support/wait-for';
import { aPublication, aWrite, put } from './some-documents';

/** After this time without an answer, a socket ends, unless it has no limit. */
const SOCKET_MS = 4_000;

interface DriverConnection {
  readonly socketTimeoutMS: number;
}
type Command = (
  this: DriverConnection,
  namespace: unknown,
  command: Record<string, unknown>,
  ...rest: unknown[]
) => Promise<unknown>;

const { Connection } = require('mongodb/lib/cmap/connection') as {
  Connection: { prototype: { command: Command } };
};

/** Calls `before` before the server gets a command that creates indexes of publications. */
function beforeIndexing(before: (connection: DriverConnection) => Promise<void>): void {
  const { command } = Connection.prototype;
  jest.spyOn(Connection.prototype, 'command').mockImplementation(async function (
    this: DriverConnection,
    ...parameters
  ) {
    const { createIndexes } = parameters[1];
    if (String(createIndexes).startsWith('publications_v')) await before(this);
    return command.apply(this, parameters);
  });
}

describeOn('MONGODB_URL', 'an index that a full collection lacks', (server) => {
  const opened: MongoViewStore[] = [];
  let url: URL;
  let client: MongoClient;

  const open = async (options: Partial<MongoViewStoreOptions> = {}): Promise<MongoViewStore> => {
    const store = await MongoViewStore.open({ url: url.href, realm: 'live', ...options });
    opened.push(store);
    return store;
  };
  const publications = () => client.db(`${url.pathname.slice(1)}_live`).collection('publications_v1');
  const indexNames = async (): Promise<string[]> => (await publications().indexes()).map(({ name }) => name!);
  let all_names: string[];

  beforeEach(async () => {
    url = ownDatabase(server);
    client = new MongoClient(server);
    const store = await open();
    const view = await store.open((await store.createVersion(1)).version);
    await put(view, aWrite('publications', 'p', 1n, aPublication()));
    all_names = await indexNames();
    const lost = all_names.filter((name) => name.includes('price_up')).slice(0, 2);
    expect(lost).toHaveLength(2);
    for (const name of lost) await publications().dropIndex(name);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const store of opened.splice(0)) await store.close();
    await client.close();
  });

  test('is created, however long that takes, and the log says so', async () => {
    beforeIndexing(async ({ socketTimeoutMS }) => {
      const limit_ms = socketTimeoutMS || Number.POSITIVE_INFINITY;
      await waitFor(() => reported.length > 0, { what: 'a report' });
      if (limit_ms <= SOCKET_MS) throw new MongoNetworkTimeoutError('timed out');
    });
    const reported: IndexProgress[] = [];
    const failures: unknown[] = [];
    await open({
      onIndexing: (_version, progress) => reported.push(progress),
      onCleanUpFailure: (error) => failures.push(error),
    });
    await waitFor(async () => (await indexNames()).length === all_names.length, { what: 'the indexes' });
    expect(reported[0]).toMatchObject({ name: 'publications_v1' });
    expect(failures).toEqual([]);
    expect((await indexNames()).sort()).toEqual(all_names.sort());
  });

  test('is created later if the server refuses it at first, and the reason is reported', async () => {
    let attempts = 0;
    beforeIndexing(async () => {
      if (++attempts === 1) throw new MongoServerError({ ok: 0, code: 13, errmsg: 'not authorized' });
    });
    const failures: Error[] = [];
    await open({ onCleanUpFailure: (error) => failures.push(error as Error) });
    await waitFor(async () => (await indexNames()).length === all_names.length, { what: 'the indexes' });
    expect(failures).toMatchObject([{ condition: 'unavailable', cause: { message: 'not authorized' } }]);
  });

  test('and those of a new version are created without a limit, because a slow disk needs seconds for its files', async () => {
    const store = await open();
    await waitFor(async () => (await indexNames()).length === all_names.length, { what: 'the indexes' });
    const limits_ms: number[] = [];
    beforeIndexing(async ({ socketTimeoutMS }) => void limits_ms.push(socketTimeoutMS));
    await store.createVersion(1);
    expect(limits_ms).toEqual([0]);
  });
});
