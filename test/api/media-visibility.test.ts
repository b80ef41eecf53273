import { MediaShop } from './media-shop';

/*
 * Media have no visibility of their own: what uses a media decides whether a storefront sees it
 * (docs/interface.md#visibility).
 */

const PIXELS = Buffer.from('GIF89a - a picture of next week');

let media: MediaShop;

beforeAll(async () => {
  media = await MediaShop.open();
});
afterAll(() => media.harness.close());

const publicRead = (path: string, headers = {}) => media.get(path, headers, media.shop.public.token);

async function change(method: string, path: string, body?: object): Promise<void> {
  const reply = await media.harness.request(method, path, { token: media.token, ...(body && { body }) });
  expect([method, path, reply.status]).toEqual([method, path, 200]);
}

/** Returns whether the storefront's view of the store has the media. Compares all ways to read it. */
async function isShown(id: string): Promise<boolean> {
  const { data } = (await publicRead('/api/store?expand=media')).body;
  const { data: managed } = (await media.get('/api/store?expand=media')).body;
  expect(managed.media).toEqual(data.media);
  expect(data.media.total_count).toBe(data.media.data.length);
  const is_in_store = data.media.data.some((one: { id: string }) => one.id === id);
  const hidden = (await media.get('/api/store?expand=media&visibility=private')).body.data.media.data;
  expect(hidden.some((one: { id: string }) => one.id === id)).toBe(!is_in_store);
  return is_in_store;
}

const statusOf = async (id: string): Promise<number> => (await publicRead(`/api/media/${id}`)).status;

describe('a media that only private resources use', () => {
  let id: string;

  beforeAll(async () => {
    const upload = { query: { alt: 'The secret of next week' } };
    id = (await media.send(media.png, upload)).body.data.id;
    await media.ready(id);
    await media.publication({ visibility: 'private', media_ids: [id] });
    await media.listing({ visibility: 'private', media_ids: [id] });
  });

  test('is 404 for public keys by id, as record and as picture, whatever they know of it', async () => {
    const path = `/api/media/${id}`;
    const etag = (await media.get(path)).headers.get('etag')!;
    for (const headers of [{}, { accept: 'image/*' }, { 'if-none-match': etag }]) {
      const reply = await publicRead(path, headers);
      expect([reply.status, reply.body.error.code]).toEqual([404, 'MEDIA_NOT_FOUND']);
    }
    const head = await media.harness.request('HEAD', path, { token: media.shop.public.token });
    expect(head.status).toBe(404);
    for (const visibility of ['all', 'private']) {
      const reply = await publicRead(`${path}?visibility=${visibility}`);
      expect(reply.body.error.code).toBe('INSUFFICIENT_PERMISSIONS');
    }
  });

  test('is left out of the expansion and the total of the store, with its text', async () => {
    const before = (await publicRead('/api/store?expand=media')).body.data.media.total_count;
    const reply = await publicRead('/api/store?expand=media');
    expect(reply.text).not.toContain('secret of next week');
    expect(reply.body.data.media.data.map((one: { id: string }) => one.id)).not.toContain(id);
    const all = await media.get('/api/store?expand=media&visibility=all');
    expect(all.body.data.media.total_count).toBe(before + 1);
    expect(all.text).toContain('secret of next week');
  });

  test('can be read by id with a secret key, with every visibility', async () => {
    for (const query of ['', '?visibility=public', '?visibility=private', '?visibility=all'])
      expect((await media.get(`/api/media/${id}${query}`)).body.data).toMatchObject({ id, status: 'ready' });
    const picture = await media.get(`/api/media/${id}`, { accept: 'image/*' });
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
  });
});

describe('a media appears in the storefront and disappears', () => {
  test('with the visibility of the publication that uses it', async () => {
    const id = await media.record();
    const publication = await media.publication({ visibility: 'private', media_ids: [id] });
    expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
    await change('PATCH', `/api/publication/${publication}`, { visibility: 'public' });
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
    await media.makeReady(id, PIXELS, 'image/gif');
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
    await change('PATCH', `/api/publication/${publication}`, { visibility: 'private' });
    expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
  });

  test('with the visibility of the listing that uses it', async () => {
    const id = await media.record();
    const listing = await media.listing({ media_ids: [id] });
    await media.publication({ visibility: 'private', media_ids: [id] });
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
    await change('PATCH', `/api/listing/${listing}`, { visibility: 'private' });
    expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
    await change('PATCH', `/api/listing/${listing}`, { visibility: 'public' });
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
    await change('DELETE', `/api/listing/${listing}`);
    expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
  });

  test('when the last public resource no longer uses it', async () => {
    const id = await media.record();
    await media.publication({ visibility: 'private', media_ids: [id] });
    const first = await media.publication({ media_ids: [id] });
    const second = await media.publication({ media_ids: [id] });
    await change('PATCH', `/api/publication/${first}`, { media_ids: [] });
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
    await change('DELETE', `/api/publication/${second}`);
    expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
    await change('PATCH', `/api/publication/${first}`, { media_ids: [id] });
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
  });

  test('by the own visibility of a publication, also if its listing is private', async () => {
    const listing_id = await media.listing({ visibility: 'private' });
    const id = await media.record();
    const publication = await media.publication({ listing_id, media_ids: [id] });
    expect((await publicRead(`/api/publication/${publication}`)).status).toBe(200);
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
  });

  test('with an upload that is added to a publication', async () => {
    for (const visibility of ['public', 'private']) {
      const publication_id = await media.publication({ visibility });
      const id = await media.upload({ publication_id });
      // Its picture must not become ready between two reads that are compared.
      await media.ready(id);
      expect([visibility, await isShown(id)]).toEqual([visibility, visibility === 'public']);
    }
  });
});

test('a media that nothing uses can be read by its id and is in no expansion of the storefront', async () => {
  const id = await media.record();
  expect([await isShown(id), await statusOf(id)]).toEqual([false, 200]);
  const publication = await media.publication({ media_ids: [id] });
  expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
  await change('DELETE', `/api/publication/${publication}`);
  expect([await isShown(id), await statusOf(id)]).toEqual([false, 200]);
});
