import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { type Harness, type Reply, startHarness } from '../support/harness';
import { ownNames } from '../support/own-servers';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { within } from '../support/wait-for';

/** The whole service on an EventStoreDB that behaves as a real one does in trouble. Always uses the stand-in. */
describe('the service on one node', () => {
  let folder: TempDir;
  let server: EventStoreStandIn;
  let harness: Harness;

  beforeAll(async () => {
    folder = makeTempDir();
    server = await EventStoreStandIn.start({ folder: folder.path });
    harness = await startHarness({ servers: ownNames({ EVENTSTORE_URL: server.url }) });
  });
  afterAll(async () => {
    await harness?.close();
    await server?.stop();
    folder?.remove();
  });
  afterEach(() => server.faults.clear());

  test('64 readiness checks and scrapes at once do not stall the server', async () => {
    // Without one shared read, each check would take longer than its time limit, and answer 503.
    server.faults.set({ concurrent_head_read_ms: 4_000 });
    const { concurrent } = server.headReads;
    const asking = Array.from({ length: 64 }, (_, n) =>
      harness.request('GET', n % 2 === 0 ? '/health/ready' : '/metrics'),
    );
    const replies: Reply[] = await within(Promise.all(asking), 'the checks');
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(server.headReads.concurrent).toBe(concurrent);
  });
});
