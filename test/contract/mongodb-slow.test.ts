import { setTimeout as sleep } from 'node:timers/promises';
import { MongoNetworkTimeoutError } from 'mongodb';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { ALL_PARTS, type ViewVersion } from '../../shared/ports/view-store';
import { aName, describeOn } from '../support/real-servers';
import { SlowNetwork } from '../support/slow-network';
import { aPublication, aWrite } from './some-documents';

const DOCUMENTS = 240;
const DOCUMENT_LENGTH = 10_000;
/** Each attempt with the same batch fails. */
const ATTEMPTS_MAX = 5;
const ids = Array.from({ length: DOCUMENTS }, (_, n) => `p${n}`);
const document = aPublication({}, { description: 'x'.repeat(DOCUMENT_LENGTH) });

type Command = (
  namespace: unknown,
  command: {
    readonly insert?: string;
    readonly documents?: readonly { readonly writes?: readonly unknown[] }[];
    readonly update?: string;
    readonly updates?: readonly unknown[];
  },
  ...rest: unknown[]
) => Promise<unknown>;

const { Connection } = require('mongodb/lib/cmap/connection') as {
  Connection: { prototype: { command: Command } };
};

/**
 * Makes each document of a journal or a batch take `ms`. Like a socket, the call fails after 4 s without an answer, and
 * nothing is stored.
 */
function slowDownWrites(ms: number): void {
  const { command } = Connection.prototype;
  jest.spyOn(Connection.prototype, 'command').mockImplementation(async function (
    this: unknown,
    ...parameters
  ) {
    const [, { documents = [], updates = [] }] = parameters;
    const needed_ms = ms * (documents.flatMap(({ writes = [] }) => writes).length + updates.length);
    await sleep(Math.min(needed_ms, 4_000));
    if (needed_ms > 4_000) throw new MongoNetworkTimeoutError('timed out');
    return command.apply(this, parameters);
  });
}

describeOn('MONGODB_URL', 'a server that takes more time for a batch than a call may take', (server) => {
  let network: SlowNetwork;
  let store: MongoViewStore;
  let view: ViewVersion;

  beforeEach(async () => {
    network = new SlowNetwork(server);
    const url = `mongodb://127.0.0.1:${await network.listen()}/${aName()}?directConnection=true`;
    store = await MongoViewStore.open({ url, realm: 'live' });
    view = await store.open((await store.createVersion(1)).version);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await store.close();
    await network.close();
  });

  /** Calls `attempt` until it succeeds. Only an outage may be the reason for a failure. */
  async function repeat<Result>(attempt: () => Promise<Result>): Promise<Result> {
    for (let attempts = 1; ; attempts++)
      try {
        return await attempt();
      } catch (error) {
        expect(error).toMatchObject({ condition: 'unavailable' });
        expect(attempts).toBeLessThan(ATTEMPTS_MAX);
      }
  }

  test('gets smaller parts of the batch', async () => {
    slowDownWrites(20);
    const writes = ids.map((id) => aWrite('publications', id, 1n, document));
    // An attempt may end after the batch was decided. `partition` then completes it.
    await repeat(async () => {
      const { revision } = await view.partition(0);
      if (revision === 0) await view.apply({ partition: 0, revision, checkpoint: 1n, writes });
    });
    expect(await view.checkpoint(0)).toBe(1n);
    expect(await view.getMany('publications', ids)).toHaveLength(DOCUMENTS);
  });

  test('is read in smaller batches, each within the deadline', async () => {
    const writes = ids.map((id) => aWrite('publications', id, 1n, document));
    expect(await view.apply({ partition: 0, revision: 0, checkpoint: 1n, writes })).toBe('applied');
    network.bytes_per_s = (DOCUMENTS * DOCUMENT_LENGTH) / 8;
    const found = await repeat(() => view.getMany('publications', ids, ALL_PARTS));
    expect(found).toHaveLength(DOCUMENTS);
  });
});
