import { createApiKey } from '../../services/command/api-key';
import { streamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { breakNextAppend, delayNextAppend } from '../support/idempotent';
import { within } from '../support/wait-for';
import { MediaShop } from './media-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
/** A publication whose answer has about 90 KB, close to the largest that the interface accepts. */
const LONG_TEA = {
  ...TEA,
  description: 'ж'.repeat(10_000),
  description_html: `<p>${'щ'.repeat(35_000)}</p>`,
};
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const HOUR_MS = 3_600_000;

describe('a write with an Idempotency-Key', () => {
  let harness: Harness;
  let shop: Shop;
  /** How far the service's clock is ahead. */
  let ahead_ms = 0;
  let key_count = 0;

  beforeAll(async () => {
    const now = (): number => Date.now() + ahead_ms;
    harness = await startHarness({ system: { ...realSystem, now } });
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const newKey = (): string => `key-${++key_count}`;
  const log = () => harness.service.runtime.events.live;
  const send = (method: string, path: string, key: string, options: RequestOptions = {}): Promise<Reply> => {
    const headers = { ...options.headers, 'idempotency-key': key };
    return harness.request(method, path, { token: shop.secret.token, ...options, headers });
  };
  const post = (key: string, body: unknown = TEA): Promise<Reply> =>
    send('POST', '/api/publication', key, { body });
  const newPublication = async (): Promise<string> => (await post(newKey())).body.data.id;
  const eventsOf = async (id: string): Promise<string[]> =>
    (await log().readStream(streamName('live', 'publication', id))).map(({ type }) => type);
  const publicationsTitled = async (title: string): Promise<unknown[]> => {
    await harness.settled();
    const reply = await harness.request('GET', '/api/publications?limit=50', { token: shop.secret.token });
    return reply.body.data.filter((publication: { title: string }) => publication.title === title);
  };

  const expectReplay = (first: Reply, again: Reply): void => {
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    for (const name of ['location', 'etag', 'x-catalog-position', 'preference-applied', 'content-type'])
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(again.headers.get('x-ratelimit-limit')).toBeTruthy();
  };

  test('returns the first response when it is repeated, and writes nothing', async () => {
    const key = newKey();
    const first = await post(key, { ...TEA, title: 'Repeated' });
    expect(first.status).toBe(201);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    // The same body with other white space and another order of fields.
    const reordered = `{ "price_amount":1250, "title":"Repeated",\n "price_currency":"USD" }`;
    expectReplay(first, await send('POST', '/api/publication', key, { body: reordered }));
    expect(await publicationsTitled('Repeated')).toHaveLength(1);
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
    for (const reply of others) expectError(reply, 409, 'DUPLICATE_OPERATION');
    expect(await eventsOf(id)).toEqual(['PublicationCreated']);
  });

  test('an id in upper case is the same id: in the path, the query and the body', async () => {
    const listing = await harness.request('POST', '/api/listing', {
      token: shop.secret.token,
      body: { name: 'Teas' },
    });
    const listing_id: string = listing.body.data.id;
    const { store_id } = shop;
    const key = newKey();
    const created = await send('POST', `/api/publication?store_id=${store_id}`, key, {
      body: { ...TEA, listing_id },
    });
    const again = await send('POST', `/api/publication?store_id=${store_id.toUpperCase()}`, key, {
      body: { ...TEA, listing_id: listing_id.toUpperCase() },
    });
    expectReplay(created, again);
    const { id } = created.body.data;
    const patch_key = newKey();
    const patched = await send('PATCH', `/api/publication/${id}`, patch_key, { body: { title: 'New' } });
    const path = `/api/publication/${id.toUpperCase()}`;
    expectReplay(patched, await send('PATCH', path, patch_key, { body: { title: 'New' } }));
    // A text that is not an id stays as it is.
    expectError(await send('PATCH', path, patch_key, { body: { title: 'NEW' } }), 409, 'DUPLICATE_OPERATION');
  });

  test('the same idempotency key of another API key is another operation', async () => {
    const other_key = await harness.newKey('secret', [shop.store_id]);
    const key = newKey();
    const first = await post(key);
    const other = await send('POST', '/api/publication', key, { body: TEA, token: other_key.token });
    expect(other.status).toBe(201);
    expect(other.body.data.id).not.toBe(first.body.data.id);
  });

  test('twenty concurrent requests create one resource; the others are replays or 409 RESOURCE_LOCKED', async () => {
    const key = newKey();
    const body = { ...TEA, title: 'Twenty' };
    const replies = await Promise.all(Array.from({ length: 20 }, () => post(key, body)));
    const firsts = replies.filter(
      (reply) => reply.status === 201 && reply.headers.get('idempotent-replayed') === null,
    );
    expect(firsts).toHaveLength(1);
    for (const reply of replies) {
      if (reply === firsts[0]) continue;
      if (reply.status === 201) expectReplay(firsts[0]!, reply);
      else {
        expectError(reply, 409, 'RESOURCE_LOCKED');
        expect(reply.headers.get('retry-after')).toBe('1');
      }
    }
    expectReplay(firsts[0]!, await post(key, body));
    expect(await publicationsTitled('Twenty')).toHaveLength(1);
  });

  test('404 of the resource and 412 are stored and replayed', async () => {
    const id = await newPublication();
    const outdated = { body: { title: 'New' }, headers: { 'if-match': '"9-x"' } };
    const [missing, conflict] = [newKey(), newKey()];
    const first404 = await send('DELETE', `/api/publication/${UNKNOWN}`, missing);
    expectError(first404, 404, 'PUBLICATION_NOT_FOUND');
    expectReplay(first404, await send('DELETE', `/api/publication/${UNKNOWN}`, missing));
    const first412 = await send('PATCH', `/api/publication/${id}`, conflict, outdated);
    expectError(first412, 412, 'CONFLICT');
    expectReplay(first412, await send('PATCH', `/api/publication/${id}`, conflict, outdated));
  });

  test('a validation error is not stored: the corrected request succeeds with the same key', async () => {
    const key = newKey();
    expectError(await post(key, { title: 'No price' }), 400, 'FIELD_REQUIRED', 'price_currency');
    expectError(await post(key, { ...TEA, listing_id: UNKNOWN }), 400, 'FIELD_INVALID', 'listing_id');
    expectError(await send('POST', '/api/publication', key, { body: '{' }), 400, 'INVALID_REQUEST');
    const { status, headers } = await post(key);
    expect([status, headers.get('idempotent-replayed')]).toEqual([201, null]);
  });

  test('a key that is empty or longer than 255 characters is 400', async () => {
    expectError(await post(''), 400, 'INVALID_REQUEST');
    expectError(await post('k'.repeat(256)), 400, 'INVALID_REQUEST');
    expect((await post('é'.repeat(255))).status).toBe(201);
  });

  test('a read ignores the key', async () => {
    const key = newKey();
    for (const path of ['/api/store', '/api/publications']) {
      const { status, headers } = await send('GET', path, key);
      expect([status, headers.get('idempotent-replayed')]).toEqual([200, null]);
    }
  });

  test('a key can be used again after 24 hours', async () => {
    const key = newKey();
    const first = await post(key);
    const postAfter = async (hours: number): Promise<Reply> => {
      ahead_ms = hours * HOUR_MS;
      const token = await harness.token(shop.secret.key);
      return send('POST', '/api/publication', key, { body: TEA, token });
    };
    try {
      expectReplay(first, await postAfter(23.9));
      const next = await postAfter(24.1);
      expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null]);
      expect(next.body.data.id).not.toBe(first.body.data.id);
    } finally {
      ahead_ms = 0;
    }
  });

  describe('is answered with the first response to the byte', () => {
    interface Write {
      readonly method: string;
      readonly path: string;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
    const sent: { readonly key: string; readonly write: Write; readonly first: Reply }[] = [];

    const write = async (write: Write): Promise<Reply> => {
      const key = newKey();
      const { method, path, ...options } = write;
      const first = await send(method, path, key, options);
      expect([first.status < 300, first.headers.get('idempotent-replayed')]).toEqual([true, null]);
      sent.push({ key, write, first });
      return first;
    };
    const idOf = (reply: Reply): string => reply.body.data.id;

    /** Repeats all writes so far. */
    const expectReplays = async (): Promise<void> => {
      for (const { key, write, first } of sent) {
        const { method, path, ...options } = write;
        expectReplay(first, await send(method, path, key, options));
      }
    };

    const view = async (path: string): Promise<void> => {
      await harness.request('GET', path, { token: shop.public.token });
      await harness.service.page_views.flush();
      await harness.settled();
    };

    test('after everything that it shows was changed, rendered, viewed and deleted', async () => {
      const media = await MediaShop.of(harness, shop);
      const picture = idOf(
        await write({
          method: 'POST',
          path: '/api/media?alt=A%20cup',
          body: new Blob([new Uint8Array(media.png)]),
          headers: { 'content-type': 'image/png' },
        }),
      );
      const listing = idOf(await write({ method: 'POST', path: '/api/listing', body: { name: 'Teas' } }));
      const created = await write({
        method: 'POST',
        path: '/api/publication',
        body: { ...LONG_TEA, listing_id: listing, media_ids: [picture], visibility: 'private' },
      });
      const path = `/api/publication/${idOf(created)}`;
      expect(created.body.data.stats).toEqual({ media_count: 1, view_count: 0 });
      await write({ method: 'PATCH', path, body: { visibility: 'public', title: 'Viewed' } });
      await view(path);
      const viewed = await write({ method: 'PATCH', path, body: {} });
      expect(viewed.body.data.stats).toEqual({ media_count: 1, view_count: 1 });
      await write({ method: 'PATCH', path, body: { price_amount: 1 }, headers: { prefer: 'respond-async' } });
      await harness.settled();
      const counted = await write({
        method: 'PATCH',
        path: `/api/listing/${listing}`,
        body: { media_ids: [picture] },
      });
      expect(counted.body.data.stats).toEqual({ media_count: 1, publication_count: 1 });
      await expectReplays();

      await media.ready(picture);
      await write({ method: 'DELETE', path: `/api/media/${picture}` });
      await view(path);
      const without_media = await write({ method: 'PATCH', path, body: { description_html: null } });
      expect(without_media.body.data.stats).toEqual({ media_count: 0, view_count: 2 });
      await expectReplays();

      await write({ method: 'DELETE', path });
      await write({ method: 'DELETE', path: `/api/listing/${listing}` });
      await expectReplays();
    });
  });

  describe('whose append failed with an unknown outcome', () => {
    const timeout = new CatalogError('database_timeout');

    test.each(['before', 'after'] as const)(
      'takes effect once if it is repeated after a failure %s the event was stored',
      async (fault) => {
        const key = newKey();
        const body = { ...TEA, title: `Failed ${fault}` };
        breakNextAppend(log(), fault, timeout);
        expectError(await post(key, body), 500, 'DATABASE_TIMEOUT');
        // The event may be stored, so the key is reserved for the same request.
        expectError(await post(key, TEA), 409, 'DUPLICATE_OPERATION');
        const again = await post(key, body);
        expect(again.status).toBe(201);
        expect(again.headers.get('idempotent-replayed')).toBe(fault === 'after' ? 'true' : null);
        expectReplay(again, await post(key, body));
        expect(await publicationsTitled(body.title)).toHaveLength(1);
        expect(await eventsOf(again.body.data.id)).toEqual(['PublicationCreated']);
      },
    );

    test('is 500 again if the log does not answer the repetition, because the write may be done', async () => {
      const [key, body] = [newKey(), { ...TEA, title: 'Twice without an answer' }];
      breakNextAppend(log(), 'after', timeout);
      expectError(await post(key, body), 500, 'DATABASE_TIMEOUT');
      const read = jest.spyOn(log(), 'readStream').mockRejectedValue(timeout);
      const again = await post(key, body);
      read.mockRestore();
      expectError(again, 500, 'DATABASE_TIMEOUT');
      expect((await post(key, body)).status).toBe(201);
    });

    test('a repeated PATCH returns the state at that time, although the first attempt made its If-Match outdated', async () => {
      const created = await post(newKey());
      const path = `/api/publication/${created.body.data.id}`;
      const key = newKey();
      const patch = {
        body: { title: 'Once', price_amount: 5 },
        headers: { 'if-match': created.headers.get('etag')! },
      };
      breakNextAppend(log(), 'after', timeout);
      expectError(await send('PATCH', path, key, patch), 500, 'DATABASE_TIMEOUT');
      await send('PATCH', path, newKey(), { body: { title: 'Another change' } });
      const again = await send('PATCH', path, key, patch);
      expect([again.status, again.body.data.title, again.body.data.price_amount]).toEqual([200, 'Once', 5]);
      expect(again.headers.get('etag')).toMatch(/^"3-/);
      expect(await eventsOf(created.body.data.id)).toHaveLength(4);
    });

    test('a repeated POST or PATCH returns what is in the log, although the first append was stored during it', async () => {
      const [create, change] = [newKey(), newKey()];
      const repeated = async (write: () => Promise<Reply>): Promise<Reply> => {
        delayNextAppend(log(), timeout);
        expectError(await write(), 500, 'DATABASE_TIMEOUT');
        ahead_ms += 2_000;
        return write();
      };
      const created = await repeated(() => post(create));
      const path = `/api/publication/${created.body.data.id}`;
      await expectAsRead(created, path);
      await expectAsRead(
        await repeated(() => send('PATCH', path, change, { body: { title: 'Late' } })),
        path,
      );
      expect(await eventsOf(created.body.data.id)).toEqual(['PublicationCreated', 'PublicationDescribed']);
    });

    /** Expects that a read returns the resource as the response to the write shows it. */
    const expectAsRead = async (written: Reply, path: string): Promise<void> => {
      await harness.settled();
      const read = await harness.request('GET', path, { token: shop.secret.token });
      const { view_count: _, ...data } = read.body.data;
      expect(written.body.data).toEqual(data);
      expect(written.headers.get('etag')).toBe(read.headers.get('etag'));
      expect(written.headers.get('idempotent-replayed')).toBe('true');
    };
  });

  test('is answered in time if the idempotency store answers too late', async () => {
    const { idempotency } = harness.service.runtime;
    const { claim, release, storeAnswer } = idempotency;
    const { now } = performance;
    // Most of the time that a request has.
    const LATE_MS = 4_800;
    let late_ms = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + late_ms);
    /** Never answers, and lets most of the request's time pass. */
    const never = () => {
      late_ms += LATE_MS;
      return new Promise<never>(() => {});
    };
    let claimLate = async (): Promise<unknown> => undefined;
    idempotency.claim = (...args) => {
      late_ms += LATE_MS;
      return new Promise((resolve) => {
        claimLate = async () => resolve(await claim.apply(idempotency, args));
      });
    };
    const late_key = newKey();
    const refused = await within(post(late_key, { ...TEA, title: 'Not claimed' }), 'a refusal');
    idempotency.claim = claim;
    expectError(refused, 503, 'SERVICE_UNAVAILABLE');
    expect(await publicationsTitled('Not claimed')).toEqual([]);
    const released = new Promise((resolve) => {
      idempotency.release = async (...args) => {
        const is_released = await release.apply(idempotency, args);
        resolve(is_released);
        return is_released;
      };
    });
    await claimLate();
    expect(await within(released, 'the release of a claim that came too late')).toBe(true);
    idempotency.release = release;
    expect((await post(late_key, { ...TEA, title: 'Not claimed' })).status).toBe(201);
    idempotency.storeAnswer = never;
    const first = await within(post(newKey(), { ...TEA, title: 'Not recorded' }), 'an answer');
    idempotency.storeAnswer = storeAnswer;
    clock.mockRestore();
    expect(first.status).toBe(201);
    expect(await publicationsTitled('Not recorded')).toHaveLength(1);
  });

  test('is not carried out if the idempotency store is unavailable', async () => {
    const { idempotency } = harness.service.runtime;
    const { claim } = idempotency;
    idempotency.claim = async () => {
      throw new CatalogError('unavailable');
    };
    const reply = await post(newKey(), { ...TEA, title: 'Not written' });
    idempotency.claim = claim;
    expectError(reply, 503, 'SERVICE_UNAVAILABLE');
    expect(await publicationsTitled('Not written')).toEqual([]);
  });
});

describe('with IDEMPOTENCY_RECORDS_MAX', () => {
  const DAY_S = 86_400;
  let limited: Harness;
  let token: string;
  let ahead_ms = 0;

  beforeAll(async () => {
    const now = (): number => Date.now() + ahead_ms;
    limited = await startHarness({
      environment: { IDEMPOTENCY_RECORDS_MAX: '3' },
      system: { ...realSystem, now },
    });
  });
  afterAll(() => limited.close());

  const post = (key?: string): Promise<Reply> =>
    limited.request('POST', '/api/publication', {
      token,
      body: TEA,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });

  test('a further key of the same API key is 429 for 24 hours, and nothing is written', async () => {
    const { secret, store_id } = await limited.newShop();
    token = secret.token;
    const first = await post('one');
    expect([first.status, (await post('two')).status, (await post('three')).status]).toEqual([201, 201, 201]);
    const refused = await post('four');
    expectError(refused, 429, 'LIMIT_EXCEEDED');
    expect(refused.body.error).toMatchObject({
      message: expect.stringContaining('Idempotency-Key') as string,
      tier: 'secret_key',
    });
    const retry_after_s = Number(refused.headers.get('retry-after'));
    expect(retry_after_s).toBeGreaterThan(DAY_S - 60);
    expect(retry_after_s).toBeLessThanOrEqual(DAY_S);
    const { headers, text } = await post('one');
    expect([text, headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    const list = await limited.request('GET', '/api/publications', { token });
    expect(list.body.meta.item_count).toBe(3);
    // Writes without a key, and other API keys, are not limited.
    expect((await post()).status).toBe(201);
    const other = await limited.newKey('secret', [store_id]);
    token = other.token;
    expect((await post('four')).status).toBe(201);
    ahead_ms = DAY_S * 1_000;
    try {
      token = await limited.token(secret.key);
      expect((await post('four')).status).toBe(201);
    } finally {
      ahead_ms = 0;
    }
    const metrics = await limited.request('GET', '/metrics');
    expect(metrics.text).toContain('catalog_idempotent_requests_total{outcome="quota_reached"} 1\n');
  });

  test('a key with limits of its own is not refused within them', async () => {
    const { deps, account_id } = limited;
    const own = {
      account_id,
      name: 'own',
      type: 'secret',
      limits: { per_minute: 5, per_day: 5, burst: 5 },
    } as const;
    const input = { ...own, stores: [await limited.newStore()] };
    const { key } = await createApiKey(deps, { source: 'cli', request_id: 'own' }, input);
    await limited.settled();
    token = await limited.token(key);
    for (let n = 0; n < 5; n++) expect((await post(`own-${n}`)).status).toBe(201);
  });
});
