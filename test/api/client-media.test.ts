import type { CatalogClient } from '../../shared/client';
import { fetch } from '../support/fetch';
import { type Harness, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';

let harness: Harness;
let client: CatalogClient;
/** The methods of the requests that were sent to `/api`. */
let sent: string[] = [];
/** Whether the client loses the response to a request with this method. */
let losesResponse: (method: string) => boolean = () => false;

beforeAll(async () => {
  harness = await startHarness();
  const fetch_: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).includes('/api/')) return response;
    sent.push(init?.method ?? 'GET');
    if (losesResponse(init?.method ?? 'GET')) throw new TypeError('the connection was closed');
    return response;
  };
  client = harness.client((await harness.newShop()).secret, { fetch: fetch_ });
});
afterAll(() => harness.close());
beforeEach(() => {
  sent = [];
  losesResponse = () => false;
});

async function photo(): Promise<Blob> {
  return new Blob([new Uint8Array(await flatPicture('jpeg', { width: 640, height: 480 }))]);
}

test('a picture of a publication is uploaded, processed, served without a token, and deleted', async () => {
  const tea = await client.publications.create({ title: 'Tea', price_currency: 'USD', price_amount: 1 });
  const uploaded = await client.media.upload(await photo(), { alt: 'A cup', publication_id: tea.id });
  expect(uploaded).toMatchObject({ status: 'processing', mime_type: 'image/jpeg', width: 640, alt: 'A cup' });
  const processed = await client.media.processed(uploaded.id);
  expect(processed).toMatchObject({
    id: uploaded.id,
    status: 'ready',
    variants: [{ name: 'thumb', width: 200 }, {}, {}, {}],
  });
  expect([processed, ...processed.variants].map(({ url }) => new URL(url!).origin)).toEqual(
    Array(5).fill(harness.url),
  );
  const shown = await fetch(processed.url!);
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
  const { media } = await client.publications.get(tea.id, { expand: ['media'] });
  expect(media.data).toEqual([processed]);
  expect(await client.media.list({ publication_id: tea.id }).all()).toEqual([processed]);
  expect(await client.media.list().all()).toEqual([processed]);
  expect(await client.media.delete(processed.id)).toEqual({
    id: processed.id,
    object: 'media',
    deleted: true,
  });
  await expect(client.media.get(processed.id)).rejects.toMatchObject({
    status: 404,
    code: 'MEDIA_NOT_FOUND',
  });
});

test('an upload that is retried after a lost response is stored once', async () => {
  losesResponse = (method) => method === 'POST' && sent.length === 1;
  const uploaded = await client.media.upload(await photo(), { alt: 'Once' });
  expect(sent).toEqual(['POST', 'POST']);
  expect(client.answerOf(uploaded)?.replayed).toBe(true);
});

test('a file that is not an image is refused', async () => {
  const text = client.media.upload(new Blob(['<html></html>'], { type: 'image/png' }));
  await expect(text).rejects.toMatchObject({ status: 415, code: 'INVALID_FORMAT' });
});
