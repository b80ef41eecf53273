import type { Reply } from '../support/harness';
import { flatPicture } from '../support/pictures';
import { MediaShop, type Query } from './media-shop';

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8059';

describe('an upload that is put on something', () => {
  let media: MediaShop;

  beforeAll(async () => {
    media = await MediaShop.open();
  });
  afterAll(() => media.harness.close());

  const shown = async (path: string): Promise<string[]> => {
    const { data } = (await media.get(`${path}?expand=media&visibility=all`)).body;
    return data.media.data.map(({ id }: { id: string }) => id);
  };

  test('comes last among the media of the publication and the listing', async () => {
    const first = await media.record();
    const publication_id = await media.publication({ media_ids: [first], visibility: 'private' });
    const listing_id = await media.listing();
    const reply = await media.sendForm({ publication_id, listing_id, file: media.png });
    expect(reply.status).toBe(201);
    const { id } = reply.body.data;
    expect(await shown(`/api/publication/${publication_id}`)).toEqual([first, id]);
    expect(await shown(`/api/listing/${listing_id}`)).toEqual([id]);
  });

  test('takes the place of what was deleted', async () => {
    const gone = await media.record();
    const publication_id = await media.publication({ media_ids: [gone] });
    await media.harness.request('DELETE', `/api/media/${gone}`, { token: media.token });
    const id = await media.upload({ publication_id });
    expect(await shown(`/api/publication/${publication_id}`)).toEqual([id]);
  });

  test('is put on it once, however often it is sent', async () => {
    const publication_id = await media.publication();
    const headers = { 'idempotency-key': 'attach-once' };
    const send = () => media.send(media.png, { query: { publication_id }, headers });
    const [first, again] = [await send(), await send()];
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await shown(`/api/publication/${publication_id}`)).toEqual([first.body.data.id]);
  });

  describe('by a key that may upload and no more', () => {
    const FIELDS = ['publication_id', 'listing_id'] as const;
    const keyWithout = async (field: (typeof FIELDS)[number]): Promise<string> => {
      const missing = { publication_id: 'write:publications', listing_id: 'write:listings' } as const;
      const others = (['write:publications', 'write:listings'] as const).filter(
        (one) => one !== missing[field],
      );
      const permissions = ['read:media', 'write:media', ...others] as const;
      return (await media.harness.newKey('secret', [media.shop.store_id], permissions)).token;
    };
    const target = (field: (typeof FIELDS)[number]) =>
      field === 'publication_id' ? media.publication() : media.listing();
    const kept = async (): Promise<number> => {
      let files = 0;
      for await (const _ of media.harness.service.runtime.blobs.live.originals.list()) files++;
      return files;
    };
    const refusal = ({ status, body }: Reply) => [status, body.error?.code];

    test.each(FIELDS)('is refused before its file is read: %s in the query', async (field) => {
      const token = await keyWithout(field);
      const query = { [field]: await target(field) };
      const before = [await count(), await kept()];
      // What is no picture would be 415, and no file at all 400, were any of it looked at.
      for (const file of [media.png, Buffer.from('no picture'), Buffer.alloc(0)])
        expect(refusal(await media.send(file, { query, token }))).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
      expect([await count(), await kept()]).toEqual(before);
      expect((await media.send(media.png, { token })).status).toBe(201);
    });

    test.each(FIELDS)('is refused as soon as the form says so: %s', async (field) => {
      const token = await keyWithout(field);
      const id = await target(field);
      const file = await flatPicture('png', { width: 40, height: field.length });
      const before = [await count(), await kept()];
      const refused = [403, 'INSUFFICIENT_PERMISSIONS'];
      expect(refusal(await media.sendForm({ [field]: id, file }, {}, token))).toEqual(refused);
      expect([await count(), await kept()]).toEqual(before);
      expect(refusal(await media.sendForm({ file, [field]: id }, {}, token))).toEqual(refused);
      expect(await count()).toBe(before[0]);
      const path = field === 'publication_id' ? `/api/publication/${id}` : `/api/listing/${id}`;
      expect(await shown(path)).toEqual([]);
      expect((await media.sendForm({ [field]: '', file }, {}, token)).status).toBe(201);
    });

    test.each(FIELDS)('and is done by one that may change %s', async (field) => {
      const other = FIELDS.find((one) => one !== field)!;
      const token = await keyWithout(other);
      const query = { [field]: await target(field) };
      expect((await media.send(media.png, { query, token })).status).toBe(201);
      expect((await media.sendForm({ ...query, file: media.png }, {}, token)).status).toBe(201);
    });
  });

  test('is refused where that is unknown, deleted or of another store, and nothing is uploaded', async () => {
    const other = await media.harness.newShop();
    const strange = await media.harness.request('POST', '/api/listing', {
      token: other.secret.token,
      body: { name: 'Strange' },
    });
    const gone = await media.publication();
    await media.harness.request('DELETE', `/api/publication/${gone}`, { token: media.token });
    const before = await count();
    const cases: [Query, string][] = [
      [{ publication_id: UNKNOWN }, 'publication_id'],
      [{ publication_id: gone }, 'publication_id'],
      [{ listing_id: UNKNOWN }, 'listing_id'],
      [{ listing_id: strange.body.data.id }, 'listing_id'],
      [{ publication_id: await media.publication(), listing_id: UNKNOWN }, 'listing_id'],
    ];
    for (const [query, field] of cases) {
      const reply = await media.send(media.png, { query });
      expect([reply.status, reply.body.error.code, reply.body.error.details.field]).toEqual([
        ...[400, 'FIELD_INVALID', field],
      ]);
      expect((await media.sendForm({ ...query, file: media.png })).body.error.details.field).toBe(field);
    }
    expect(await count()).toBe(before);
  });

  test('is refused where that has as many media as it may have', async () => {
    const media_ids: string[] = [];
    for (let n = 0; n < 50; n++) media_ids.push(await media.record());
    const publication_id = await media.publication({ media_ids });
    const listing_id = await media.listing({ media_ids: media_ids.slice(0, 20) });
    for (const query of [{ publication_id }, { listing_id }]) {
      const reply = await media.send(media.png, { query });
      expect([reply.status, reply.body.error.details.field]).toEqual([400, Object.keys(query)[0]]);
    }
    await media.harness.request('DELETE', `/api/media/${media_ids[3]}`, { token: media.token });
    expect((await media.send(media.png, { query: { publication_id, listing_id } })).status).toBe(201);
  });

  async function count(): Promise<number> {
    return (await media.get('/api/store?expand=media')).body.data.media.total_count;
  }
});

describe('a media is deleted', () => {
  let media: MediaShop;
  const remove = (id: string, headers: Query = {}, token = media.token) =>
    media.harness.request('DELETE', `/api/media/${id}`, { token, headers });

  beforeAll(async () => {
    media = await MediaShop.open();
  });
  afterAll(() => media.harness.close());

  test('once, and is not found then', async () => {
    const id = await media.record();
    const reply = await remove(id);
    expect([reply.status, reply.body.data]).toEqual([200, { id, object: 'media', deleted: true }]);
    expect(reply.headers.get('x-catalog-position')).toMatch(/^\d+$/);
    expect([(await remove(id)).body.error.code, (await remove(UNKNOWN)).body.error.code]).toEqual([
      ...['MEDIA_NOT_FOUND', 'MEDIA_NOT_FOUND'],
    ]);
  });

  test('only in the version that If-Match names', async () => {
    const id = await media.record();
    const { headers } = await media.get(`/api/media/${id}`);
    await media.makeReady(id, Buffer.from('pixels'));
    const stale = await remove(id, { 'if-match': headers.get('etag')! });
    expect([stale.status, stale.body.error.code]).toEqual([412, 'CONFLICT']);
    const fresh = await media.get(`/api/media/${id}`);
    expect((await remove(id, { 'if-match': fresh.headers.get('etag')! })).status).toBe(200);
  });

  test('once per Idempotency-Key, with the same answer', async () => {
    const id = await media.record();
    const headers = { 'idempotency-key': 'delete-1' };
    const [first, again] = [await remove(id, headers), await remove(id, headers)];
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('without waiting, where that is preferred', async () => {
    const reply = await remove(await media.record(), { prefer: 'respond-async' });
    expect(reply.headers.get('preference-applied')).toBe('respond-async');
  });

  test("by nobody who may not, nor another store's", async () => {
    const id = await media.record();
    expect((await remove(id, {}, media.shop.public.token)).body.error.code).toBe('INSUFFICIENT_PERMISSIONS');
    const other = await media.harness.newShop();
    expect((await remove(id, {}, other.secret.token)).body.error.code).toBe('MEDIA_NOT_FOUND');
    expect((await media.get(`/api/media/${id}`)).status).toBe(200);
  });
});
