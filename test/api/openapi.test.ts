import { openApiDocument } from '../../shared/api/openapi';
import { type Harness, type Reply, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';
import { waitFor } from '../support/wait-for';
import { type StockedShop, stockShop } from './reads-shop';

interface Operation {
  readonly operationId: string;
  readonly security: readonly Record<string, unknown>[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: unknown }>> };
}

const paths = openApiDocument().paths as unknown as Record<string, Record<string, Operation>>;
const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [operation.operationId, method, path] as const),
);

let harness: Harness;
let shop: StockedShop;
let picture: Blob;
let media: { id: string; url: string };

beforeAll(async () => {
  harness = await startHarness();
  shop = await stockShop(harness);
  const bytes = await flatPicture('png', { width: 30, height: 20 });
  picture = new Blob([new Uint8Array(bytes)], { type: 'image/png' });
  media = await readyMedia();
});
afterAll(() => harness.close());

/** Uploads a picture and waits until it is processed. */
async function readyMedia(): Promise<{ id: string; url: string }> {
  const { token } = shop.secret;
  const { body } = await harness.request('POST', '/api/media', { token, body: picture });
  return waitFor(
    async () => {
      const { data } = (await harness.request('GET', `/api/media/${body.data.id}`, { token })).body;
      return data.status === 'ready' ? data : undefined;
    },
    { what: 'the pictures of an upload' },
  );
}

describe('GET /openapi.json', () => {
  test('returns the OpenAPI document, which anyone may cache for five minutes', async () => {
    const reply = await harness.request('GET', '/openapi.json');
    expect([reply.status, reply.body]).toEqual([200, JSON.parse(JSON.stringify(openApiDocument()))]);
    expect(reply.headers.get('cache-control')).toBe('public, max-age=300');
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    const again = { headers: { 'if-none-match': reply.headers.get('etag')! } };
    expect((await harness.request('GET', '/openapi.json', again)).status).toBe(304);
  });

  test('supports only GET, HEAD and OPTIONS', async () => {
    const head = await harness.request('HEAD', '/openapi.json');
    expect([head.status, head.text]).toEqual([200, '']);
    const options = await harness.request('OPTIONS', '/openapi.json');
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect((await harness.request('POST', '/openapi.json')).status).toBe(405);
  });
});

/** Sends each operation with the examples of the document and the ids of one store. */
describe('a request made from the OpenAPI document', () => {
  const request = (method: string, path: string): Promise<Reply> => {
    const { security, parameters, requestBody } = paths[path]![method]!;
    const id = idFor(path);
    const query = parameters
      .filter((parameter) => parameter.in === 'query' && parameter.required)
      .map(({ name }) => `${name}=shirt`);
    const example = requestBody?.content['image/*']
      ? picture
      : requestBody?.content['application/json']?.example;
    const token = security.some((scheme) => 'bearer' in scheme) ? { token: shop.secret.token } : {};
    const headers: Record<string, string> = security.some((scheme) => 'api_key' in scheme)
      ? { 'x-api-key': shop.secret.key }
      : {};
    const query_text = query.length === 0 ? '' : `?${query.join('&')}`;
    const body = example === undefined ? {} : { body: example };
    return harness.request(
      method.toUpperCase(),
      `${path === '/media/{environment}/{file}' ? media.url : path.replace('{id}', id)}${query_text}`,
      {
        ...token,
        ...body,
        headers,
      },
    );
  };

  const idFor = (path: string): string => {
    if (path.includes('/media/')) return media.id;
    return path.includes('/listing/') ? shop.listings.Shirts : shop.publications['Plain shirt']!;
  };

  // Deletions come last, because other operations need the resources.
  const ordered = [...OPERATIONS].sort((a, b) => Number(a[1] === 'delete') - Number(b[1] === 'delete'));

  test.each(ordered)('%s succeeds with its example', async (_id, method, path) => {
    const reply = await request(method, path);
    expect([200, 201]).toContain(reply.status);
  });
});
