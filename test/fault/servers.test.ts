import { pino } from 'pino';
import { rebuild } from '../../projections/maintenance/rebuild';
import { verify } from '../../projections/maintenance/verify';
import { startAllInOne } from '../../services/boot/all-in-one';
import { REALMS } from '../../shared/catalog/realm';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import {
  Client,
  type GatedHarness,
  gatedServers,
  startGatedHarness,
  type Timed,
} from '../support/gated-harness';
import { SERVER_SETTINGS } from '../support/own-servers';
import { describeOnAll } from '../support/real-servers';
import { makeTempDir } from '../support/temp-dir';
import { FAILS_WITHIN_MS, RECOVERS_WITHIN_MS, waitFor } from '../support/wait-for';

const log = pino({ level: 'silent' });

/** On a busy machine a write may reach its own deadline before that of its call to the store (`DATABASE_TIMEOUT`). */
function expectUnavailable(reply: Timed): void {
  expect(['503 SERVICE_UNAVAILABLE', '500 DATABASE_TIMEOUT']).toContain(
    `${reply.status} ${reply.body.error?.code}`,
  );
  expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(reply.ms).toBeLessThan(FAILS_WITHIN_MS);
}

describeOnAll(SERVER_SETTINGS, 'the service on EventStoreDB, MongoDB and Redis', () => {
  let gated: GatedHarness;
  let client: Client;
  /** Id of a publication that was written before any fault. */
  let existing_id: string;

  beforeAll(async () => {
    gated = await startGatedHarness();
    client = new Client(gated.harness, await gated.harness.newShop());
    existing_id = (await client.write('existing')).body.data.id;
    await gated.harness.settled();
  });
  afterAll(() => gated?.close());
  afterEach(async () => {
    for (const gate of Object.values(gated.gates)) {
      gate.speak();
      await gate.open();
    }
    await gated.harness.settled();
    await waitFor(async () => (await client.ready()).status === 200, {
      what: 'the servers to be known as ready',
    });
  });

  const projected = (id: string) =>
    waitFor(async () => (await client.read(id)).status === 200, { what: 'the projection' });
  /** A busy machine may be late to answer for the other servers, too. */
  const untilOnlyMissing = (server: string) =>
    waitFor(
      async () => {
        const ready = await client.ready();
        return ready.status === 503 && ready.body.error.details.waiting_for.join() === server && ready;
      },
      { what: `the service to wait for ${server} only` },
    );

  async function expectClean(): Promise<void> {
    const { events, viewStores } = gated.harness.service.runtime;
    for (const realm of REALMS) {
      const parts = { realm, events: events[realm], views: viewStores[realm], system: realSystem, log };
      const { clean, differences } = await verify(parts);
      expect({ realm, clean, differences }).toEqual({ realm, clean: true, differences: [] });
    }
  }

  test('a publication is written, read, listed, counted, changed and deleted', async () => {
    const listing = (await client.answered('POST', '/api/listing', { name: 'Cups' })).body.data;
    const fields = { title: 'Cup', price_currency: 'USD', price_amount: 100, listing_id: listing.id };
    const created = await client.answered('POST', '/api/publication', fields);
    expect(created.status).toBe(201);
    expect(created.headers.get('x-catalog-position')).toMatch(/^\d+$/);
    const { id } = created.body.data;
    await projected(id);
    expect(
      (await client.answered('GET', `/api/listing/${listing.id}`)).body.data.stats.publication_count,
    ).toBe(1);
    expect((await client.answered('PATCH', `/api/publication/${id}`, { price_amount: 200 })).status).toBe(
      200,
    );
    await gated.harness.settled();
    const list = await client.answered('GET', `/api/listing/${listing.id}/publications`);
    expect(list.body.data.others).toEqual(
      expect.arrayContaining([expect.objectContaining({ id, price_amount: 200 })]),
    );
    expect((await client.answered('DELETE', `/api/publication/${id}`)).status).toBeLessThan(300);
    await gated.harness.settled();
    expect((await client.read(id)).status).toBe(404);
  });

  test('while the event store is unavailable, reads work, and writes fail in time, also many to one resource', async () => {
    await gated.gates.event_store.shut();
    const same = Array.from({ length: 10 }, (_, n) =>
      client.send('PATCH', `/api/publication/${existing_id}`, { price_amount: n }),
    );
    for (const reply of await Promise.all([client.write(), ...same])) expectUnavailable(reply);
    expect((await client.answered('GET', `/api/publication/${existing_id}`)).status).toBe(200);
    expect((await client.answered('GET', '/api/publications')).status).toBe(200);
    const ready = await untilOnlyMissing('event_store');
    expect(Number(ready.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    await gated.gates.event_store.open();
    const reply = await waitFor(async () => {
      const reply = await client.write();
      return reply.status === 201 && reply;
    });
    await projected(reply.body.data.id);
    await waitFor(async () => (await client.ready()).status === 200);
  });

  test('while the event store does not answer, a write fails in time', async () => {
    gated.gates.event_store.hush();
    expectUnavailable(await client.write());
    expect((await client.answered('GET', `/api/publication/${existing_id}`)).status).toBe(200);
  });

  test('while Redis is unavailable, reads and writes work, and the writes are projected after the outage', async () => {
    await gated.gates.redis.shut();
    const written = await client.write();
    expect(written.status).toBe(201);
    expect(written.ms).toBeLessThan(FAILS_WITHIN_MS);
    expect(written.headers.get('x-ratelimit-limit')).toBe('1000000');
    expect((await client.answered('GET', `/api/publication/${existing_id}`)).status).toBe(200);
    const ready = await client.answered('GET', '/health/ready');
    expect([ready.status, ready.body.data.live.job_queue]).toEqual([200, 'unavailable']);
    await gated.gates.redis.open();
    await projected(written.body.data.id);
  });

  test('every write is projected once if Redis is emptied meanwhile', async () => {
    const before = await client.total();
    const writers = Array.from({ length: 4 }, async () => {
      for (let n = 0; n < 10; n++) expect((await client.write()).status).toBe(201);
    });
    for (let n = 0; n < 3; n++) await gated.flushRedis();
    await Promise.all(writers);
    await gated.flushRedis();
    await gated.harness.settled();
    expect(await client.total()).toBe(before + 40);
  });

  test('an accepted write completes if MongoDB stops, later requests return 503, and all work soon after its return', async () => {
    await client.write();
    const last = client.write('last');
    await gated.gates.mongo.shut();
    const settled = await last;
    if (settled.status !== 201) expectUnavailable(settled);
    expectUnavailable(await client.read(existing_id));
    expectUnavailable(await client.write());
    await untilOnlyMissing('view_store');
    await gated.gates.mongo.open();
    await waitFor(async () => (await client.read(existing_id)).status === 200, {
      timeout_ms: RECOVERS_WITHIN_MS,
    });
    expect((await client.write()).status).toBe(201);
  });

  test('requests succeed during a rebuild, and the documents equal a fold of the log', async () => {
    const { events, viewStores } = gated.harness.service.runtime;
    const total = await client.total();
    const writing = client.write();
    const parts = { realm: 'live', events: events.live, views: viewStores.live } as const;
    const { outcome } = await rebuild({ ...parts, system: realSystem, log });
    expect(outcome).toBe('activated');
    expect((await writing).status).toBe(201);
    await gated.harness.settled();
    expect(await client.total()).toBe(total + 1);
    await expectClean();
  });
});

describeOnAll(SERVER_SETTINGS, 'a service that starts before its servers', () => {
  test('listens at once, reports what it waits for, and serves when the servers are up', async () => {
    const folder = makeTempDir();
    const { gates, settings, dispose } = await gatedServers();
    for (const gate of Object.values(gates)) await gate.shut();
    const config = parseConfig({
      ...settings,
      DATA_DIR: folder.path,
      PORT: '0',
      DEMO: 'off',
      START_TIMEOUT_S: '1',
    });
    const started_ms = performance.now();
    const service = await startAllInOne(config, log);
    expect(performance.now() - started_ms).toBeLessThan(FAILS_WITHIN_MS);
    const readiness = async (): Promise<{ waiting_for: string[]; live?: { job_queue: string } }> => {
      const reply = await fetch(`${service.url}/health/ready`);
      const { error } = (await reply.json()) as {
        error?: { details: Awaited<ReturnType<typeof readiness>> };
      };
      expect(reply.headers.has('retry-after')).toBe(reply.status === 503);
      return error?.details ?? { waiting_for: [] };
    };
    const waitingFor = async (): Promise<string[]> => (await readiness()).waiting_for;
    try {
      expect(await readiness()).toMatchObject({
        waiting_for: ['event_store', 'view_store'],
        // The number of partitions comes from the view store, so the job queue was not used yet.
        live: { job_queue: 'unknown' },
      });
      const headers = { 'x-api-key': `sk_live_${'a'.repeat(43)}` };
      const refused = await fetch(`${service.url}/auth/token`, { method: 'POST', headers });
      expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
      await gates.redis.open();
      await gates.mongo.open();
      await waitFor(async () => (await waitingFor()).join() === 'event_store');
      await gates.event_store.open();
      await waitFor(async () => (await waitingFor()).length === 0);
      expect(await service.pipelines.caughtUp(60_000)).toBe(true);
      const unknown = await fetch(`${service.url}/auth/token`, { method: 'POST', headers });
      expect(unknown.status).toBe(401);
    } finally {
      await service.close();
      for (const gate of Object.values(gates)) await gate.shut();
      await dispose();
      folder.remove();
    }
  });
});
