import { streamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { breakNextAppend } from '../support/idempotent';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const HOUR_MS = 3_600_000;

describe('a write with an Idempotency-Key', () => {
  let harness: Harness;
  let shop: Shop;
  let ahead_ms = 0;
  let keys = 0;

  beforeAll(async () => {
    const now = (): number => Date.now() + ahead_ms;
    harness = await startHarness({ system: { ...realSystem, now } });
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const newKey = (): string => `key-${++keys}`;
  const log = () => harness.service.runtime.events.live;
  const send = (method: string, path: string, key: string, options: RequestOptions = {}): Promise<Reply> => {
    const headers = { ...options.headers, 'idempotency-key': key };
    return harness.request(method, path, { token: shop.secret.token, ...options, headers });
  };
  const post = (key: string, body: unknown = TEA): Promise<Reply> =>
    send('POST', '/api/publication', key, { body });
  const made = async (): Promise<string> => (await post(newKey())).body.data.id;
  const eventsOf = async (id: string): Promise<string[]> =>
    (await log().readStream(streamName('live', 'publication', id))).map(({ type }) => type);
  const titled = async (title: string): Promise<unknown[]> => {
    await harness.settled();
    const reply = await harness.request('GET', '/api/publications?limit=50', { token: shop.secret.token });
    return reply.body.data.filter((publication: { title: string }) => publication.title === title);
  };

  const isReplayOf = (first: Reply, again: Reply): void => {
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    for (const name of ['location', 'etag', 'x-catalog-position', 'content-type'])
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(again.headers.get('x-ratelimit-limit')).toBeTruthy();
  };
  const refused = (reply: Reply, status: number, code: string): void =>
    expect([reply.status, reply.body.error?.code]).toEqual([status, code]);

  test('when it is sent again, then it gets the first answer again and writes nothing', async () => {
    const key = newKey();
    const first = await post(key, { ...TEA, title: 'Repeated' });
    expect(first.status).toBe(201);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    // The same body, spelt otherwise.
    const spelt = `{ "price_amount":1250, "title":"Repeated",\n "price_currency":"USD" }`;
    isReplayOf(first, await send('POST', '/api/publication', key, { body: spelt }));
    expect(await titled('Repeated')).toHaveLength(1);
  });

  test('the first answer stays what it was, whatever has become of the resource since', async () => {
    const [create, change, drop] = [newKey(), newKey(), newKey()];
    const created = await post(create);
    const path = `/api/publication/${created.body.data.id}`;
    const changed = await send('PATCH', path, change, { body: { title: 'Changed' } });
    await send('PATCH', path, newKey(), { body: { title: 'Changed again' } });
    isReplayOf(changed, await send('PATCH', path, change, { body: { title: 'Changed' } }));
    const dropped = await send('DELETE', path, drop);
    expect(dropped.body.data.deleted).toBe(true);
    isReplayOf(dropped, await send('DELETE', path, drop));
    isReplayOf(created, await post(create));
    expect(await eventsOf(created.body.data.id)).toEqual([
      'PublicationCreated',
      'PublicationDescribed',
      'PublicationDescribed',
      'PublicationDeleted',
    ]);
  });

  test('another body, path, query or method with the same key is 409 DUPLICATE_OPERATION', async () => {
    const key = newKey();
    const id = (await post(key)).body.data.id;
    const others = await Promise.all([
      post(key, { ...TEA, title: 'Other' }),
      send('POST', '/api/listing', key, { body: TEA }),
      send('POST', `/api/publication?store_id=${shop.store_id}`, key, { body: TEA }),
      send('PATCH', `/api/publication/${id}`, key, { body: TEA }),
      send('DELETE', `/api/publication/${id}`, key),
    ]);
    for (const reply of others) refused(reply, 409, 'DUPLICATE_OPERATION');
    expect(await eventsOf(id)).toEqual(['PublicationCreated']);
  });

  test('the same key from another API key is another operation', async () => {
    const other = await harness.newKey('secret', [shop.store_id]);
    const key = newKey();
    const mine = await post(key);
    const theirs = await send('POST', '/api/publication', key, { body: TEA, token: other.token });
    expect(theirs.status).toBe(201);
    expect(theirs.body.data.id).not.toBe(mine.body.data.id);
  });

  test('twenty at once make one resource; who is too early is told so', async () => {
    const key = newKey();
    const body = { ...TEA, title: 'Twenty' };
    const replies = await Promise.all(Array.from({ length: 20 }, () => post(key, body)));
    const firsts = replies.filter(
      (reply) => reply.status === 201 && reply.headers.get('idempotent-replayed') === null,
    );
    expect(firsts).toHaveLength(1);
    for (const reply of replies) {
      if (reply === firsts[0]) continue;
      if (reply.status === 201) isReplayOf(firsts[0]!, reply);
      else {
        refused(reply, 409, 'RESOURCE_LOCKED');
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      }
    }
    isReplayOf(firsts[0]!, await post(key, body));
    expect(await titled('Twenty')).toHaveLength(1);
  });

  test('a refusal of the write itself is kept: 404 of the resource, and 412', async () => {
    const id = await made();
    const stale = { body: { title: 'New' }, headers: { 'if-match': '"9-x"' } };
    const [missing, clash] = [newKey(), newKey()];
    const first404 = await send('DELETE', `/api/publication/${UNKNOWN}`, missing);
    refused(first404, 404, 'PUBLICATION_NOT_FOUND');
    isReplayOf(first404, await send('DELETE', `/api/publication/${UNKNOWN}`, missing));
    const first412 = await send('PATCH', `/api/publication/${id}`, clash, stale);
    refused(first412, 412, 'CONFLICT');
    isReplayOf(first412, await send('PATCH', `/api/publication/${id}`, clash, stale));
  });

  test('a fault of the input is not kept: the corrected request goes through with the same key', async () => {
    const key = newKey();
    refused(await post(key, { title: 'No price' }), 400, 'FIELD_REQUIRED');
    refused(await post(key, { ...TEA, listing_id: UNKNOWN }), 400, 'FIELD_INVALID');
    refused(await send('POST', '/api/publication', key, { body: '{' }), 400, 'INVALID_REQUEST');
    const { status, headers } = await post(key);
    expect([status, headers.get('idempotent-replayed')]).toEqual([201, null]);
  });

  test('a key without or with too many characters is 400; 255 are allowed', async () => {
    refused(await post(''), 400, 'INVALID_REQUEST');
    refused(await post('k'.repeat(256)), 400, 'INVALID_REQUEST');
    expect((await post('é'.repeat(255))).status).toBe(201);
  });

  test('a read takes no notice of it', async () => {
    const key = newKey();
    for (const path of ['/api/store', '/api/publications']) {
      const { status, headers } = await send('GET', path, key);
      expect([status, headers.get('idempotent-replayed')]).toEqual([200, null]);
    }
  });

  test('after 24 hours the key is new', async () => {
    const key = newKey();
    const first = await post(key);
    const renewed = async (hours: number): Promise<Reply> => {
      ahead_ms = hours * HOUR_MS;
      const token = await harness.token(shop.secret.key);
      return send('POST', '/api/publication', key, { body: TEA, token });
    };
    try {
      isReplayOf(first, await renewed(23.9));
      const next = await renewed(24.1);
      expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null]);
      expect(next.body.data.id).not.toBe(first.body.data.id);
    } finally {
      ahead_ms = 0;
    }
  });

  describe('whose append ended without an answer', () => {
    const timeout = new CatalogError('database_timeout');

    test.each(['before', 'after'] as const)(
      '%s it was stored, is written once by its repetition',
      async (fault) => {
        const key = newKey();
        const body = { ...TEA, title: `Broken ${fault}` };
        breakNextAppend(log(), fault, timeout);
        refused(await post(key, body), 500, 'DATABASE_TIMEOUT');
        // What may be written is nobody else's: not even a corrected request gets the key.
        refused(await post(key, TEA), 409, 'DUPLICATE_OPERATION');
        const again = await post(key, body);
        expect(again.status).toBe(201);
        expect(again.headers.get('idempotent-replayed')).toBe(fault === 'after' ? 'true' : null);
        isReplayOf(again, await post(key, body));
        expect(await titled(body.title)).toHaveLength(1);
        expect(await eventsOf(again.body.data.id)).toEqual(['PublicationCreated']);
      },
    );

    test('is answered from the state as it was then: POST, though the resource was changed and deleted since', async () => {
      const key = newKey();
      breakNextAppend(log(), 'after', timeout);
      await post(key);
      const [event] = (await eventsSince()).slice(-1);
      const id = event!.stream.replace('live.publication-', '');
      await send('PATCH', `/api/publication/${id}`, newKey(), { body: { title: 'Changed since' } });
      await send('DELETE', `/api/publication/${id}`, newKey());
      const again = await post(key);
      expect([again.status, again.body.data.id, again.body.data.title]).toEqual([201, id, 'Tea']);
      expect(again.headers.get('x-catalog-position')).toBe(String(event!.position));
      expect(await eventsOf(id)).toEqual([
        'PublicationCreated',
        'PublicationDescribed',
        'PublicationDeleted',
      ]);
    });

    test('is answered from the state as it was then: PATCH, though its If-Match is stale by its own doing', async () => {
      const created = await post(newKey());
      const path = `/api/publication/${created.body.data.id}`;
      const key = newKey();
      const patch = {
        body: { title: 'Once', price_amount: 5 },
        headers: { 'if-match': created.headers.get('etag')! },
      };
      breakNextAppend(log(), 'after', timeout);
      refused(await send('PATCH', path, key, patch), 500, 'DATABASE_TIMEOUT');
      await send('PATCH', path, newKey(), { body: { title: 'Somebody else' } });
      const again = await send('PATCH', path, key, patch);
      expect([again.status, again.body.data.title, again.body.data.price_amount]).toEqual([200, 'Once', 5]);
      expect(again.headers.get('etag')).toMatch(/^"3-/);
      expect(await eventsOf(created.body.data.id)).toHaveLength(4);
    });

    test('is answered from the state as it was then: DELETE', async () => {
      const id = await made();
      const key = newKey();
      breakNextAppend(log(), 'after', timeout);
      refused(await send('DELETE', `/api/publication/${id}`, key), 500, 'DATABASE_TIMEOUT');
      const again = await send('DELETE', `/api/publication/${id}`, key);
      expect([again.status, again.body.data]).toEqual([200, { id, object: 'publication', deleted: true }]);
      expect(await eventsOf(id)).toEqual(['PublicationCreated', 'PublicationDeleted']);
    });

    const eventsSince = async () => {
      const stop = new AbortController();
      const head = await log().head();
      for await (const batch of log().subscribe({ after: head - 1n, signal: stop.signal })) {
        stop.abort();
        return batch.events;
      }
      return [];
    };
  });

  test('is not carried out where the store of keys cannot be asked', async () => {
    const { idempotency } = harness.service.runtime;
    const { claim } = idempotency;
    idempotency.claim = async () => {
      throw new CatalogError('unavailable');
    };
    const reply = await post(newKey(), { ...TEA, title: 'Not promised' });
    idempotency.claim = claim;
    refused(reply, 503, 'SERVICE_UNAVAILABLE');
    expect(await titled('Not promised')).toEqual([]);
  });
});
