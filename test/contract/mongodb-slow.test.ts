import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { START } from '../../shared/catalog/events/envelope';
import { ALL_PARTS, type DocumentWrite, type ViewVersion } from '../../shared/ports/view-store';
import { aName, describeOn } from '../support/real-servers';
import { SlowNetwork } from '../support/slow-network';
import { aPublication, aWrite } from './some-documents';

const DOCUMENTS = 240;
const DOCUMENT_LENGTH = 10_000;
/** All documents together take 8 s, which is longer than the deadline of a call. */
const BYTES_PER_S = (DOCUMENTS * DOCUMENT_LENGTH) / 8;
/** A single attempt with a fixed size would fail each time. */
const ATTEMPTS_MAX = 5;

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
    await store.close();
    await network.close();
  });

  const ids = Array.from({ length: DOCUMENTS }, (_, n) => `p${n}`);
  const document = aPublication({}, { description: 'x'.repeat(DOCUMENT_LENGTH) });
  /** Writes the documents that are not stored yet, as a projection that begins again from fresh reads. */
  const attempt = async (): Promise<boolean> => {
    const stored = new Set((await view.getMany('publications', ids)).map(({ id }) => id));
    const missing = ids.filter((id) => !stored.has(id));
    const phase: DocumentWrite[] = missing.map((id) => aWrite('publications', id, 1n, document));
    network.bytes_per_s = BYTES_PER_S;
    try {
      return (await view.apply({ partition: 0, from: START, to: 1n, phases: [phase] })) === 'applied';
    } catch (error) {
      expect(error).toMatchObject({ condition: 'unavailable' });
      return false;
    } finally {
      network.bytes_per_s = Number.POSITIVE_INFINITY;
    }
  };

  test('gets smaller batches, and keeps what the earlier ones have stored', async () => {
    let attempts = 1;
    while (!(await attempt())) expect(++attempts).toBeLessThanOrEqual(ATTEMPTS_MAX);
    expect(await view.checkpoint(0)).toBe(1n);
    expect(await view.getMany('publications', ids)).toHaveLength(DOCUMENTS);
  });

  test('is read in smaller batches, each within the deadline', async () => {
    const phase = ids.map((id) => aWrite('publications', id, 1n, document));
    expect(await view.apply({ partition: 0, from: START, to: 1n, phases: [phase] })).toBe('applied');
    network.bytes_per_s = BYTES_PER_S;
    for (let attempts = 1; ; attempts++) {
      expect(attempts).toBeLessThanOrEqual(ATTEMPTS_MAX);
      const found = await view.getMany('publications', ids, ALL_PARTS).catch((error) => {
        expect(error).toMatchObject({ condition: 'unavailable' });
      });
      if (!found) continue;
      expect(found).toHaveLength(DOCUMENTS);
      return;
    }
  });
});
