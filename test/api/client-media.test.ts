import type { CatalogClient } from '../../shared/client';
import { type Harness, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';

let harness: Harness;
let client: CatalogClient;
/** The methods of the requests that were sent to `/api`. */
let sent: string[] = [];
/** What is done with the answers that come in. */
let lose: (method: string) => boolean = () => false;

beforeAll(async () => {
  harness = await startHarness();
  const fetch_: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).includes('/api/')) return response;
    sent.push(init?.method ?? 'GET');
    if (lose(init?.method ?? 'GET')) throw new TypeError('the connection was cut');
    return response;
  };
  client = harness.client((await harness.newShop()).secret, { fetch: fetch_ });
});
afterAll(() => harness.close());
beforeEach(() => {
  sent = [];
  lose = () => false;
});

async function photo(): Promise<Blob> {
  return new Blob([new Uint8Array(await flatPicture('jpeg', { width: 640, height: 480 }))]);
}

test('a picture is uploaded to a product, made, shown to anybody, and deleted', async () => {
  const tea = await client.publications.create({ title: 'Tea', price_currency: 'USD', price_amount: 1 });
  const uploaded = await client.media.upload(await photo(), { alt: 'A cup', publication_id: tea.id });
  expect(uploaded).toMatchObject({ status: 'processing', mime_type: 'image/jpeg', width: 640, alt: 'A cup' });
  const made = await client.media.processed(uploaded.id);
  expect(made).toMatchObject({
    id: uploaded.id,
    status: 'ready',
    variants: [{ name: 'thumb', width: 200 }, {}, {}, {}],
  });
  const shown = await fetch(new URL(made.url!, harness.url));
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
  const { media } = await client.publications.get(tea.id, { expand: ['media'] });
  expect(media.data).toEqual([made]);
  expect(await client.media.delete(made.id)).toEqual({ id: made.id, object: 'media', deleted: true });
  await expect(client.media.get(made.id)).rejects.toMatchObject({ status: 404, code: 'MEDIA_NOT_FOUND' });
});

test('an upload whose answer is lost is one upload', async () => {
  lose = (method) => method === 'POST' && sent.length === 1;
  const uploaded = await client.media.upload(await photo(), { alt: 'Once' });
  expect(sent).toEqual(['POST', 'POST']);
  expect(client.answerOf(uploaded)?.replayed).toBe(true);
});

test('what is no picture is refused', async () => {
  const text = client.media.upload(new Blob(['<html></html>'], { type: 'image/png' }));
  await expect(text).rejects.toMatchObject({ status: 415, code: 'INVALID_FORMAT' });
});
