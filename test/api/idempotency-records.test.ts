import { join } from 'node:path';
import Database from 'libsql';
import { createApiKey } from '../../services/command/api-key';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, type RequestOptions, startHarness } from '../support/harness';
import { ownNames } from '../support/own-servers';
import { MediaShop } from './media-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
/** A publication whose answer has about 90 KB, close to the largest that the interface accepts. */
const LONG_TEA = {
  ...TEA,
  description: 'ж'.repeat(10_000),
  description_html: `<p>${'щ'.repeat(35_000)}</p>`,
};
const RECORD_BYTES_MAX = 1_024;

let media: MediaShop;
let harness: Harness;
let key_count = 0;

beforeAll(async () => {
  // The embedded stores, because the tests read their file.
  media = await MediaShop.open({ servers: ownNames({}) });
  harness = media.harness;
});
afterAll(() => harness.close());

const newKey = (): string => `00000000-0000-4000-8000-${String(++key_count).padStart(12, '0')}`;
const send = (method: string, path: string, key: string, options: RequestOptions = {}): Promise<Reply> => {
  const headers = { ...options.headers, 'idempotency-key': key };
  return harness.request(method, path, { token: media.token, ...options, headers });
};

/** Runs `use` on the file of the records. */
function withRecords<Result>(use: (database: Database.Database) => Result): Result {
  const database = new Database(join(harness.data_dir, 'idempotency.sqlite'));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** Returns the size of the used pages of the records' file. */
function recordBytes(): number {
  return withRecords((database) => {
    const read = (name: string): number => {
      const row = database.prepare(`PRAGMA ${name}`).get() as Record<string, number>;
      return row[name]!;
    };
    return read('page_size') * (read('page_count') - read('freelist_count'));
  });
}

test(`a record of a write takes less than ${RECORD_BYTES_MAX} bytes, however long the answer is`, async () => {
  const created = await send('POST', '/api/publication', newKey(), { body: LONG_TEA });
  const path = `/api/publication/${created.body.data.id}`;
  const bytes_before = recordBytes();
  for (let n = 0; n < 400; n++) {
    const reply = await send('PATCH', path, newKey(), { body: {} });
    expect([reply.status, reply.bytes.length > 80_000]).toEqual([200, true]);
  }
  expect((recordBytes() - bytes_before) / 400).toBeLessThan(RECORD_BYTES_MAX);
});

test('repetitions of a write in the middle of a long stream read its events once', async () => {
  const created = await send('POST', '/api/publication', newKey(), { body: TEA });
  const path = `/api/publication/${created.body.data.id}`;
  const patch = (price_amount: number, key = newKey()): Promise<Reply> =>
    send('PATCH', path, key, { body: { price_amount } });
  // A stream of more than 64 events is cached at its end, so the repeated write must be before it.
  for (let n = 1; n <= 88; n++) await patch(n);
  const key = newKey();
  const first = await patch(89, key);
  for (let n = 90; n <= 100; n++) await patch(n);
  const reading = jest.spyOn(harness.service.runtime.events.live, 'readStream');
  const replays = [patch(89, key), patch(89, key), patch(89, key)];
  for (const { text } of await Promise.all(replays)) expect(text).toBe(first.text);
  for (let n = 0; n < 5; n++) expect((await patch(89, key)).text).toBe(first.text);
  let events = 0;
  for (const { value } of reading.mock.results) events += (await (value as Promise<unknown[]>)).length;
  reading.mockRestore();
  // The creation and 89 changes.
  expect(events).toBe(90);
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
});

describe('with IDEMPOTENCY_RECORDS_MAX below the limits of a key', () => {
  test('a key with limits of its own is not refused within them', async () => {
    const limited = await startHarness({ environment: { IDEMPOTENCY_RECORDS_MAX: '1' } });
    try {
      const { deps, account_id } = limited;
      const input = {
        ...({ account_id, name: 'own', type: 'secret' } as const),
        stores: [await limited.newStore()],
        limits: { per_minute: 3, per_day: 3, burst: 3 },
      };
      const { key } = await createApiKey(deps, { source: 'cli', request_id: 'own' }, input);
      await limited.settled();
      const token = await limited.token(key);
      for (let n = 0; n < 3; n++) {
        const headers = { 'idempotency-key': newKey() };
        const reply = await limited.request('POST', '/api/publication', { token, body: TEA, headers });
        expect(reply.status).toBe(201);
      }
    } finally {
      await limited.close();
    }
  });
});

describe('a repeated answer is the first one to the byte', () => {
  interface Write {
    readonly method: string;
    readonly path: string;
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  }
  const HEADERS = ['location', 'etag', 'x-catalog-position', 'preference-applied', 'content-type'];
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
      const again = await send(method, path, key, options);
      const what = `${method} ${path}`;
      expect([what, again.status, again.text]).toEqual([what, first.status, first.text]);
      for (const name of HEADERS)
        expect([what, name, again.headers.get(name)]).toEqual([what, name, first.headers.get(name)]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
  };

  const view = async (path: string): Promise<void> => {
    await harness.request('GET', path, { token: media.shop.public.token });
    await harness.service.page_views.flush();
    await harness.settled();
  };

  test('after everything that it shows was changed, rendered, viewed and deleted', async () => {
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

  test('although the counts of a listing could not be read at the first answer', async () => {
    const listing = idOf(await write({ method: 'POST', path: '/api/listing', body: { name: 'Cups' } }));
    const views = harness.service.runtime.views.live;
    const { current } = views;
    views.current = () => Promise.reject(new Error('no documents'));
    const patched = await write({ method: 'PATCH', path: `/api/listing/${listing}`, body: { name: 'Mugs' } });
    views.current = current;
    expect(patched.body.data).not.toHaveProperty('stats');
    await expectReplays();
  });

  test('for errors that are stored', async () => {
    const key = newKey();
    const path = '/api/publication/01890000-0000-7000-8000-000000000000';
    const first = await send('PATCH', path, key, { body: {} });
    const again = await send('PATCH', path, key, { body: {} });
    expect([again.status, again.text]).toEqual([404, first.text]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('for a record with a complete body, as the release before stored it', async () => {
    const key = newKey();
    const first = await send('POST', '/api/publication', key, { body: TEA });
    const headers = { Location: '/api/publication/old', ETag: '"1-old"', 'X-Catalog-Position': '7' };
    const answer = { status: 201, headers, body: first.text.replace('"Tea"', '"Old tea"') };
    withRecords((database) =>
      database
        .prepare('UPDATE operations SET answer = ? WHERE idempotency_key = ?')
        .run([JSON.stringify(answer), key]),
    );
    const again = await send('POST', '/api/publication', key, { body: TEA });
    expect([again.status, again.text]).toEqual([201, answer.body]);
    expect([again.headers.get('location'), again.headers.get('etag')]).toEqual([
      headers.Location,
      headers.ETag,
    ]);
  });
});
