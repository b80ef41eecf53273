import type { Reply } from '../support/harness';
import { flatPicture } from '../support/pictures';
import { MediaShop, type Query } from './media-shop';

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8059';

describe('an upload with publication_id or listing_id', () => {
  let media: MediaShop;

  beforeAll(async () => {
    media = await MediaShop.open();
  });
  afterAll(() => media.harness.close());

  const shown = async (path: string): Promise<string[]> => {
    const { data } = (await media.get(`${path}?expand=media&visibility=all`)).body;
    return data.media.data.map(({ id }: { id: string }) => id);
  };

  test('is added as the last media of the publication and the listing', async () => {
    const first = await media.record();
    const publication_id = await media.publication({ media_ids: [first], visibility: 'private' });
    const listing_id = await media.listing();
    const reply = await media.sendForm({ publication_id, listing_id, file: media.png });
    expect(reply.status).toBe(201);
    const { id } = reply.body.data;
    expect(await shown(`/api/publication/${publication_id}`)).toEqual([first, id]);
    expect(await shown(`/api/listing/${listing_id}`)).toEqual([id]);
  });

  test('does not count deleted media', async () => {
    const deleted_id = await media.record();
    const publication_id = await media.publication({ media_ids: [deleted_id] });
    await media.harness.request('DELETE', `/api/media/${deleted_id}`, { token: media.token });
    const id = await media.upload({ publication_id });
    expect(await shown(`/api/publication/${publication_id}`)).toEqual([id]);
  });

  describe('with a key that only has write:media', () => {
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
    const countStoredFiles = async (): Promise<number> => {
      let files = 0;
      for await (const _ of media.harness.service.runtime.blobs.live.originals.list()) files++;
      return files;
    };
    const errorOf = ({ status, body }: Reply) => [status, body.error?.code];

    test.each(FIELDS)('is rejected before the file is read if %s is in the query', async (field) => {
      const token = await keyWithout(field);
      const query = { [field]: await target(field) };
      const before = [await countMedia(), await countStoredFiles()];
      // If the service read the body, a file that is not a picture would return 415 and an empty file 400.
      for (const file of [media.png, Buffer.from('no picture'), Buffer.alloc(0)])
        expect(errorOf(await media.send(file, { query, token }))).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
      expect([await countMedia(), await countStoredFiles()]).toEqual(before);
      expect((await media.send(media.png, { token })).status).toBe(201);
    });

    test.each(FIELDS)('is rejected as soon as the form contains %s', async (field) => {
      const token = await keyWithout(field);
      const id = await target(field);
      const file = await flatPicture('png', { width: 40, height: field.length });
      const before = [await countMedia(), await countStoredFiles()];
      const forbidden = [403, 'INSUFFICIENT_PERMISSIONS'];
      expect(errorOf(await media.sendForm({ [field]: id, file }, {}, token))).toEqual(forbidden);
      expect([await countMedia(), await countStoredFiles()]).toEqual(before);
      expect(errorOf(await media.sendForm({ file, [field]: id }, {}, token))).toEqual(forbidden);
      expect(await countMedia()).toBe(before[0]);
      const path = field === 'publication_id' ? `/api/publication/${id}` : `/api/listing/${id}`;
      expect(await shown(path)).toEqual([]);
      expect((await media.sendForm({ [field]: '', file }, {}, token)).status).toBe(201);
    });

    test.each(FIELDS)('is accepted with the permission to write %s', async (field) => {
      const other = FIELDS.find((one) => one !== field)!;
      const token = await keyWithout(other);
      const query = { [field]: await target(field) };
      expect((await media.send(media.png, { query, token })).status).toBe(201);
      expect((await media.sendForm({ ...query, file: media.png }, {}, token)).status).toBe(201);
    });
  });

  test('is rejected, and not stored, if that resource is unknown, deleted or of another store', async () => {
    const other = await media.harness.newShop();
    const foreign_listing = await media.harness.request('POST', '/api/listing', {
      token: other.secret.token,
      body: { name: 'Strange' },
    });
    const deleted_id = await media.publication();
    await media.harness.request('DELETE', `/api/publication/${deleted_id}`, { token: media.token });
    const before = await countMedia();
    const cases: [Query, string][] = [
      [{ publication_id: UNKNOWN }, 'publication_id'],
      [{ publication_id: deleted_id }, 'publication_id'],
      [{ listing_id: UNKNOWN }, 'listing_id'],
      [{ listing_id: foreign_listing.body.data.id }, 'listing_id'],
      [{ publication_id: await media.publication(), listing_id: UNKNOWN }, 'listing_id'],
    ];
    for (const [query, field] of cases) {
      const reply = await media.send(media.png, { query });
      expect([reply.status, reply.body.error.code, reply.body.error.details.field]).toEqual([
        ...[400, 'FIELD_INVALID', field],
      ]);
      expect((await media.sendForm({ ...query, file: media.png })).body.error.details.field).toBe(field);
    }
    expect(await countMedia()).toBe(before);
  });

  test('is rejected if that resource has the maximum number of media', async () => {
    const media_ids = await media.recordMany(50);
    const publication_id = await media.publication({ media_ids });
    const listing_id = await media.listing({ media_ids: media_ids.slice(0, 20) });
    for (const query of [{ publication_id }, { listing_id }]) {
      const reply = await media.send(media.png, { query });
      expect([reply.status, reply.body.error.details.field]).toEqual([400, Object.keys(query)[0]]);
    }
    await media.harness.request('DELETE', `/api/media/${media_ids[3]}`, { token: media.token });
    expect((await media.send(media.png, { query: { publication_id, listing_id } })).status).toBe(201);
  });

  async function countMedia(): Promise<number> {
    return (await media.get('/api/store?expand=media&visibility=all')).body.data.media.total_count;
  }
});

describe('DELETE /api/media/:id', () => {
  let media: MediaShop;
  const remove = (id: string, headers: Query = {}, token = media.token) =>
    media.harness.request('DELETE', `/api/media/${id}`, { token, headers });

  beforeAll(async () => {
    media = await MediaShop.open();
  });
  afterAll(() => media.harness.close());

  test('deletes a media, and returns 404 the second time', async () => {
    const id = await media.record();
    const reply = await remove(id);
    expect([reply.status, reply.body.data]).toEqual([200, { id, object: 'media', deleted: true }]);
    expect(reply.headers.get('x-catalog-position')).toMatch(/^\d+$/);
    expect([(await remove(id)).body.error.code, (await remove(UNKNOWN)).body.error.code]).toEqual([
      ...['MEDIA_NOT_FOUND', 'MEDIA_NOT_FOUND'],
    ]);
  });

  test('requires the version in If-Match', async () => {
    const id = await media.record();
    const { headers } = await media.get(`/api/media/${id}`);
    await media.makeReady(id, Buffer.from('pixels'));
    const stale = await remove(id, { 'if-match': headers.get('etag')! });
    expect([stale.status, stale.body.error.code]).toEqual([412, 'CONFLICT']);
    const fresh = await media.get(`/api/media/${id}`);
    expect((await remove(id, { 'if-match': fresh.headers.get('etag')! })).status).toBe(200);
  });

  test('requires a secret key of the store', async () => {
    const id = await media.record();
    expect((await remove(id, {}, media.shop.public.token)).body.error.code).toBe('INSUFFICIENT_PERMISSIONS');
    const other = await media.harness.newShop();
    expect((await remove(id, {}, other.secret.token)).body.error.code).toBe('MEDIA_NOT_FOUND');
    expect((await media.get(`/api/media/${id}`)).status).toBe(200);
  });
});
