import { MongoServerError } from 'mongodb';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { UnstorableDocumentError } from '../../shared/kernel/errors';
import type { ViewVersion } from '../../shared/ports/view-store';
import { publicationCreated, publicationId, storeCreated } from '../support/history';
import { describeOn, ownDatabase } from '../support/real-servers';
import { openRealm, type TestRealm } from '../support/realm';
import { waitFor } from '../support/wait-for';
import { aBatch, aPublication, aWrite } from './some-documents';

/** More than the maximum size of a document. */
const TOO_LARGE_LENGTH = 17_000_000;
/** More failed writes in a row than a document that the server refuses would cause. */
const FAILURES = 12;

type Command = (namespace: unknown, command: Record<string, unknown>, ...rest: unknown[]) => Promise<unknown>;

const { Connection } = require('mongodb/lib/cmap/connection') as {
  Connection: { prototype: { command: Command } };
};

/** Answers writes of publications with this error code, until `count` writes have failed. */
function failWrites(code: number, count: number): { readonly failed: () => number } {
  const { command } = Connection.prototype;
  let failed = 0;
  jest.spyOn(Connection.prototype, 'command').mockImplementation(function (
    this: unknown,
    namespace,
    ...rest
  ) {
    const [{ insert, update }] = rest;
    const collection = String(insert ?? update);
    if (failed < count && collection.startsWith('publications_v')) {
      failed++;
      return Promise.reject(new MongoServerError({ ok: 0, code, errmsg: `error ${code}` }));
    }
    return command.call(this, namespace, ...rest);
  });
  return { failed: () => failed };
}

describeOn('MONGODB_URL', 'a write that MongoDB refuses', (server) => {
  let store: MongoViewStore;
  let realm: TestRealm;

  beforeEach(async () => {
    const url = ownDatabase(server);
    store = await MongoViewStore.open({ url: url.href, realm: 'live' });
    realm = await openRealm();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await realm.close();
    await store.close();
  });

  const active = async (): Promise<ViewVersion> => {
    const info = (await store.versions()).find(({ status }) => status === 'active');
    return store.open(info!.version);
  };

  test.each([
    [11_601, 'Interrupted'],
    [365, 'TemporarilyUnavailable'],
    [43, 'CursorNotFound'],
    [13, 'Unauthorized'],
    [18, 'AuthenticationFailed'],
    [99_999, 'a code that nobody knows'],
  ])(
    'with code %i (%s) is repeated for as long as that lasts, and no stream becomes a dead letter',
    async (code) => {
      const fault = failWrites(code, FAILURES);
      await realm.append(storeCreated(0), publicationCreated(0), publicationCreated(1));
      await realm.pipeline({ views: store, queue: new InProcessJobQueue({ backoffMs: () => 5 }) });

      await waitFor(() => fault.failed() === FAILURES, { what: 'the failed writes' });
      const view = await active();
      const documents = await waitFor(async () => {
        const found = await view.getMany('publications', [publicationId(0), publicationId(1)]);
        return found.length === 2 && found;
      });
      expect(documents.every(({ document }) => document !== null)).toBe(true);
      expect(await view.deadLetters()).toEqual([]);
    },
  );

  test('because its document is too large is refused, and its neighbours can be written without it', async () => {
    const view = await store.open((await store.createVersion(1)).version);
    const large = aPublication({}, { description: 'x'.repeat(TOO_LARGE_LENGTH) });
    const neighbour = aWrite('publications', 'q', 1n, aPublication());
    const writes = [aWrite('publications', 'p', 1n, large), neighbour];
    await expect(view.apply(aBatch({ writes }))).rejects.toThrow(UnstorableDocumentError);
    expect(await view.apply(aBatch({ writes: [neighbour] }))).toBe('applied');
  });
});
