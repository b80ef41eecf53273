import { CatalogClient, type FetchOptions } from '../../../shared/client';
import { mergeFetchOptions } from '../../../shared/client/options';

test('options of a call come before those of the client, and headers are merged by name', () => {
  const of_client: FetchOptions = {
    credentials: 'omit',
    redirect: 'error',
    headers: { 'X-Shop': 'tea', A: '1' },
  };
  const of_call: FetchOptions = { redirect: 'follow', headers: [['x-shop', 'coffee']] };
  expect(mergeFetchOptions('GET', of_client, of_call)).toEqual({
    credentials: 'omit',
    redirect: 'follow',
    headers: { 'x-shop': 'coffee', a: '1' },
  });
});

test('a call that sets `cache` or `next` replaces both of the client', () => {
  const of_client: FetchOptions = { next: { revalidate: 60 } };
  expect(mergeFetchOptions('GET', of_client, {})).toEqual({ next: { revalidate: 60 }, headers: {} });
  expect(mergeFetchOptions('GET', of_client, { cache: 'no-store' })).toEqual({
    cache: 'no-store',
    headers: {},
  });
});

test('writes are never cached', () => {
  const options: FetchOptions = { cache: 'force-cache', next: { tags: ['tea'] }, keepalive: true };
  expect(mergeFetchOptions('POST', options, options)).toEqual({ keepalive: true, headers: {} });
});

test('a client passes the options to `fetch`, with its own headers, but no cache to the request for a token', async () => {
  const inits: (RequestInit & { next?: unknown })[] = [];
  const answers = [{ token: 'T', token_type: 'Bearer', expires_in: 900 }, { id: 'store' }];
  const fetch_: typeof fetch = async (_input, init = {}) => {
    inits.push(init);
    return Response.json({ code: 200, status: 'OK', data: answers.shift() });
  };
  const client = new CatalogClient({
    ...{ baseUrl: 'https://catalog.test', apiKey: 'pk_test_x', fetch: fetch_ },
    fetchOptions: { next: { revalidate: 60 }, headers: { 'x-shop': 'tea', authorization: 'Basic eA==' } },
  });
  await client.store.get({}, { fetchOptions: { credentials: 'omit' } });
  expect(inits).toEqual([
    {
      ...{ method: 'POST', body: '{}', signal: expect.any(AbortSignal) },
      headers: {
        'x-shop': 'tea',
        authorization: 'Basic eA==',
        'x-api-key': 'pk_test_x',
        'content-type': 'application/json',
      },
    },
    {
      ...{ method: 'GET', credentials: 'omit', next: { revalidate: 60 }, signal: expect.any(AbortSignal) },
      headers: { 'x-shop': 'tea', authorization: 'Bearer T' },
    },
  ]);
});
