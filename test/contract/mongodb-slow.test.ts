import { setTimeout as sleep } from 'node:timers/promises';
import { MongoNetworkTimeoutError } from 'mongodb';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { START } from '../../shared/catalog/events/envelope';
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
  command: Record<string, { readonly documents: readonly unknown[] } | undefined>,
  ...rest: unknown[]
) => Promise<unknown>;

const { Connection } = require('mongodb/lib/cmap/connection') as {
  Connection: { prototype: { command: Command } };
};

/**
 * Makes each inserted document take `ms`. Like a socket, the call fails after 4 s without an answer, and nothing is
 * stored.
 */
function slowDownInserts(ms: number): void {
  const { command } = Connection.prototype;
  jest.spyOn(Connection.prototype, 'command').mockImplementation(async function (
    this: unknown,
    ...parameters
  ) {
    const [, { insert, documents }] = parameters;
    const needed_ms = insert === undefined ? 0 : documents!.documents.length * ms;
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

  test('gets smaller batches, and keeps what the earlier ones have stored', async () => {
    slowDownInserts(20);
    const outcome = await repeat(async () => {
      const stored = new Set((await view.getMany('publications', ids)).map(({ id }) => id));
      const missing = ids.filter((id) => !stored.has(id));
      const phases = [missing.map((id) => aWrite('publications', id, 1n, document))];
      return view.apply({ partition: 0, from: START, to: 1n, phases });
    });
    expect(outcome).toBe('applied');
    expect(await view.getMany('publications', ids)).toHaveLength(DOCUMENTS);
  });

  test('is read in smaller batches, each within the deadline', async () => {
    const phases = [ids.map((id) => aWrite('publications', id, 1n, document))];
    expect(await view.apply({ partition: 0, from: START, to: 1n, phases })).toBe('applied');
    network.bytes_per_s = (DOCUMENTS * DOCUMENT_LENGTH) / 8;
    const found = await repeat(() => view.getMany('publications', ids, ALL_PARTS));
    expect(found).toHaveLength(DOCUMENTS);
  });
});
