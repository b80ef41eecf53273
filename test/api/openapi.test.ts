import { docsRoutes } from '../../services/docs/routes';
import { openApiDocument } from '../../shared/api/openapi';
import { ids } from '../../shared/api/responses/examples';
import type { CatalogProposedError } from '../../shared/client';
import { type Harness, type Reply, type Shop, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';
import { waitFor } from '../support/wait-for';
import { type StockedShop, stockShop } from './reads-shop';

const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const PATHS = docsRoutes()
  .map(({ path }) => path)
  .filter((path) => path.startsWith('/docs'));
const OWN = ['/docs', '/docs/page.css', '/docs/page.mjs'];

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
let review_id: string;
let webhook_id: string;
let key_id: string;
// biome-ignore lint/suspicious/noExplicitAny: the tests read the document as a client without types
let document: any;

beforeAll(async () => {
  harness = await startHarness();
  document = (await harness.request('GET', '/openapi.json')).body;
  shop = await stockShop(harness);
  const bytes = await flatPicture('jpeg', { width: 40, height: 30 });
  picture = new Blob([new Uint8Array(bytes)], { type: 'image/jpeg' });
  media = await readyMedia();
  webhook_id = (await harness.client(shop.secret).webhooks.create({ url: 'https://erp.example' })).id;
  key_id = (await harness.newKey('public', [shop.store_id])).id;
  review_id = (await harness.client(shop.secret).reviews.list().all())[0]!.id;
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

/** Replaces what differs between two resources of the same kind. */
function masked(value: object): unknown {
  const text = JSON.stringify(value)
    .replace(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/[\da-f]{64}/g, '<hash>');
  return JSON.parse(text);
}

describe('GET /openapi.json', () => {
  test('returns the OpenAPI document, which anyone may cache for five minutes', async () => {
    const reply = await harness.request('GET', '/openapi.json');
    expect([reply.status, reply.body]).toEqual([200, JSON.parse(JSON.stringify(openApiDocument()))]);
    expect(reply.headers.get('cache-control')).toBe('public, max-age=300');
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    const again = { headers: { 'if-none-match': reply.headers.get('etag')! } };
    expect((await harness.request('GET', '/openapi.json', again)).status).toBe(304);
    const options = await harness.request('OPTIONS', '/openapi.json');
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect((await harness.request('POST', '/openapi.json')).status).toBe(405);
  });
});

/** The run to undo. */
const RUN = 'moderation';

/** Sends each operation with the examples of the document and the ids of one store. */
describe('a request made from the OpenAPI document', () => {
  let variant_id: string;
  let import_id: string;
  let proposal_ids: string[];
  let strangers: Shop[];
  beforeAll(async () => {
    strangers = [await harness.newShop(), await harness.newShop('test')];
    const { publications, store } = harness.client(shop.secret);
    await store.update({ price_lists: { wholesale: 'PEN' } });
    const cup = {
      title: 'Cup',
      price_currency: 'USD',
      price_amount: 900,
      variants: [{ quantity_available: 5 }],
    };
    const { id } = await publications.create(cup);
    variant_id = (await publications.variants(id).page()).data[0]!.id;
    await publications.create({ title: 'Pot', price_currency: 'USD', price_amount: 900 }, { run: RUN });
    proposal_ids = await proposed();
    import_id = (await harness.client(shop.secret).imports.create(importedFile())).id;
    await importsEnded();
  });

  /** Proposes two writes with a key that needs confirmation. */
  const proposed = async (): Promise<string[]> => {
    const key = { name: 'Assistant', type: 'secret', needs_confirmation: true } as const;
    const { id, secret = '' } = await harness.client(shop.secret).keys.create(key);
    const robot = harness.client({ id, key: secret, token: '' });
    const propose = (name: string) =>
      robot.listings.create({ name }).catch((error: CatalogProposedError) => error.proposal.id);
    return (await Promise.all([propose('Pots'), propose('Pans')])) as string[];
  };

  const importedFile = (): File => new File(['Handle,Title,Precio\ntea,Tea,5\n'], 'tea.csv');
  /** Waits until no import of the shop runs, because one step runs at a time. */
  const importsEnded = () =>
    waitFor(async () => {
      const all = await harness.client(shop.secret).imports.list().all();
      return all.every(({ status }) => status !== 'running');
    });

  interface Sender {
    readonly token?: string;
    readonly idempotency_key?: string;
    /** Default: the id of a resource of the shop. */
    readonly id?: string;
  }
  const request = (method: string, path: string, sender: Sender = {}): Promise<Reply> => {
    const { security, parameters, requestBody } = paths[path]![method]!;
    const { token = shop.secret.token, idempotency_key, id = idFor(path) } = sender;
    const query = parameters
      .filter((parameter) => parameter.in === 'query' && parameter.required)
      .map(({ name }) => `${name}=shirt`);
    const body = bodyOf(requestBody?.content ?? {});
    const has_key = security.some((scheme) => 'api_key' in scheme);
    const headers: Record<string, string> = has_key ? { 'x-api-key': shop.secret.key } : {};
    if (idempotency_key !== undefined) headers['idempotency-key'] = idempotency_key;
    const address = path
      .replace('/media/{environment}/{file}', media.url)
      .replace('{id}', id)
      .replace('{revision}', '1')
      .replace('{handle}', handleFor(path))
      .replace('{run}', RUN)
      .replace('{channel}', 'google');
    return harness.request(method.toUpperCase(), `${address}?${query.join('&')}`, {
      ...(security.some((scheme) => 'bearer' in scheme) && { token }),
      ...(body === undefined ? {} : { body }),
      headers,
    });
  };

  const bodyOf = (content: Readonly<Record<string, { readonly example?: unknown }>>): unknown => {
    if (content['image/*']) return picture;
    if (!content['multipart/form-data']) return withStoredIds(content['application/json']?.example);
    const form = new FormData();
    form.set('file', importedFile());
    return form;
  };

  const withStoredIds = (example: unknown): unknown =>
    example &&
    JSON.parse(JSON.stringify(example).replaceAll(ids.publication, shop.publications['Plain shirt']!));

  const idFor = (path: string): string => {
    if (path.includes('/media/')) return media.id;
    if (path.includes('/review/')) return review_id;
    if (path.includes('/webhook/')) return webhook_id;
    if (path.includes('/variant/')) return variant_id;
    if (path.includes('/import/')) return import_id;
    if (path.includes('/key/')) return key_id;
    if (path.includes('/proposal/')) return proposal_ids[path.endsWith('/confirm') ? 0 : 1]!;
    return path.includes('/listing/') ? shop.listings.Shirts : shop.publications['Plain shirt']!;
  };

  const handleFor = (path: string): string => (path.includes('/listing/') ? 'shirts' : 'plain-shirt');

  // Deletions come last, because other operations need the resources.
  // A feed is that of a shop, whose key a service has from its start (`feeds.test.ts`).
  const ordered = OPERATIONS.filter(([id]) => id !== 'getFeed').sort(
    (a, b) => Number(a[1] === 'delete') - Number(b[1] === 'delete'),
  );

  test.each(ordered.filter(([, , path]) => path.startsWith('/api/') && /\{(id|handle)\}/.test(path)))(
    '%s does not find the resource with a key of another store or environment, and no unknown one',
    async (_id, method, path) => {
      const not_found = [404, expect.stringMatching(/^[A-Z]+_NOT_FOUND$/)];
      for (const { secret } of strangers) {
        const { status, body } = await request(method, path, { token: secret.token });
        expect([status, body.error.code]).toEqual(not_found);
      }
      if (!path.includes('{id}')) return;
      const unknown = await request(method, path, { id: UNKNOWN });
      expect([unknown.status, unknown.body.error.code]).toEqual(not_found);
      expect((await request(method, path, { id: 'x' })).body.error.code).toBe('INVALID_UUID');
    },
  );

  test.each(ordered)('%s succeeds with its example, and a write only once', async (id, method, path) => {
    const is_write = method !== 'get' && path.startsWith('/api/');
    const sender = is_write ? { idempotency_key: id } : {};
    const reply = await request(method, path, sender);
    expect([200, 201, 202]).toContain(reply.status);
    if (path.includes('/import')) await importsEnded();
    if (!is_write) return;
    const again = await request(method, path, sender);
    // No record has an API key.
    const stored = reply.text.replace(/,"secret":"[ps]k_[^"]+"/, '');
    expect([again.status, again.text]).toEqual([reply.status, stored]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('the examples', () => {
  const operationAt = (method: string, path: string) => document.paths[path][method];
  const exampleAt = (method: string, path: string, status: number) =>
    operationAt(method, path).responses[status].content['application/json'].example.data;
  const schemaExample = (name: string) => document.components.schemas[name].examples[0];
  const send = (method: string, path: string, body?: object): Promise<Reply> =>
    harness.request(method, path, { token: shop.secret.token, body });

  test.each(['listing', 'publication'])('of a new %s are what the service answers', async (name) => {
    const path = `/api/${name}`;
    const body = operationAt('post', path).requestBody.content['application/json'].example;
    // In a store of its own, in which the handle is free.
    const { secret } = await harness.newShop();
    const { data } = (await harness.request('POST', path, { token: secret.token, body })).body;
    expect(masked(exampleAt('post', path, 201))).toEqual(masked(data));
    const answer = schemaExample(name === 'listing' ? 'NewListingAnswer' : 'NewPublicationAnswer');
    expect(masked(answer.data)).toEqual(masked(data));
    expect(data.created_at).toBe(data.updated_at);
    const example = exampleAt('post', path, 201);
    expect(example.created_at).toBe(example.updated_at);
    const patch = operationAt('patch', `${path}/{id}`).requestBody.content['application/json'].example;
    expect(exampleAt('patch', `${path}/{id}`, 200)).toMatchObject(patch);
  });

  test('of media and of expanded collections have the addresses that the service sends', async () => {
    const merchant = harness.client(shop.secret);
    const { id: listing_id } = await merchant.listings.create({ name: 'Coffee' });
    const { id } = await merchant.publications.create({
      ...{ title: 'Coffee', price_currency: 'PEN', price_amount: 1, listing_id },
    });
    const jpeg = new Blob([new Uint8Array(await flatPicture('jpeg', { width: 1_600, height: 1_200 }))]);
    const { id: media_id } = await merchant.media.upload(jpeg, { publication_id: id });
    await merchant.media.processed(media_id);
    await harness.settled();
    const read = async (path: string) => (await send('GET', path)).body.data;
    const media = await read(`/api/media/${media_id}`);
    const pictures = ({ url, variants }: { url: string; variants: object[] }) => masked({ url, variants });
    expect(pictures(schemaExample('Media'))).toEqual(pictures(media));
    expect(schemaExample('NewMediaAnswer').data).toMatchObject({ status: 'processing', variants: [] });
    const publication = await read(`/api/publication/${id}?expand=media`);
    const listing = await read(`/api/listing/${listing_id}?expand=publication`);
    const store = await read('/api/store?expand=listing');
    for (const [name, { url }] of [
      ['MediaCollection', publication.media],
      ['PublicationCollection', listing.publications],
      ['ListingCollection', store.listings],
    ] as const)
      expect([name, masked({ url: schemaExample(name).url })]).toEqual([name, masked({ url })]);
  });

  test('of the errors of /auth have the texts that each endpoint sends', async () => {
    const { key, token } = shop.public;
    const requests = {
      token: [[{}], [{ 'x-api-key': 'pk_x' }], [{ 'x-api-key': key }, { ttl_minutes: 61 }]],
      refresh: [
        [{}],
        [{ authorization: 'Bearer x' }],
        [{ authorization: `Bearer ${token}` }, { ttl_minutes: 5 }],
      ],
      validate: [
        [{}],
        [{ authorization: 'Bearer x' }],
        [{ authorization: `Bearer ${token}` }, { ttl_minutes: 5 }],
      ],
    } as const;
    for (const [name, sent] of Object.entries(requests)) {
      const { responses } = operationAt('post', `/auth/${name}`);
      for (const [headers, body] of sent) {
        const reply = await harness.request('POST', `/auth/${name}`, { headers, ...(body && { body }) });
        const { description, content } = responses[reply.status];
        expect(description).toContain(reply.body.message);
        const names = Object.values<{ $ref: string }>(content['application/json'].examples).map(({ $ref }) =>
          $ref.split('/').pop(),
        );
        const examples = names.map((example) => document.components.examples[example!].value);
        expect(examples).toContainEqual(reply.body);
        const texts = examples.map(({ message }) => message);
        if (reply.status === 401) expect([...new Set(texts)].join('; ')).toBe(description.slice(0, -1));
      }
    }
  });
});

describe('the bounds in the OpenAPI document are those of the service:', () => {
  interface Parameter {
    readonly name?: string;
    readonly schema: { readonly maximum?: number; readonly pattern?: string };
  }
  const read = (path: string, headers = {}) =>
    harness.request('GET', path, { token: shop.public.token, headers });
  const parameter = (path: string, name: string): Parameter =>
    document.paths[path].get.parameters.find((one: Parameter) => one.name === name);
  const bodyField = (name: string) => document.components.schemas.NewPublication.properties[name];
  const create = (fields: object) => {
    const body = { title: 'Tea', price_currency: 'USD', price_amount: 100, ...fields };
    return harness.request('POST', '/api/publication', { token: shop.secret.token, body });
  };

  test.each([
    ['/api/publications', 'page'],
    ['/api/publications', 'limit'],
    ['/api/publications', 'min_price'],
    ['/api/store/search', 'max_price'],
  ])('%s?%s has a maximum', async (path, name) => {
    const { maximum } = parameter(path, name).schema;
    const at = async (value: bigint) => (await read(`${path}?q=tea&${name}=${value}`)).status;
    expect(await at(BigInt(maximum!))).toBe(200);
    expect(await at(BigInt(maximum!) + 1n)).toBe(400);
  });

  test('a search text of white space does not match the pattern and is refused', async () => {
    const pattern = new RegExp(parameter('/api/store/search', 'q').schema.pattern!, 'u');
    for (const [text, accepted] of [
      ['tea', true],
      [' tea', true],
      ['  ', false],
    ] as const) {
      const { status } = await read(`/api/store/search?q=${encodeURIComponent(text)}`);
      expect([text, pattern.test(text), status]).toEqual([text, accepted, accepted ? 200 : 400]);
    }
  });

  test.each([
    ['title', 'Tea', true],
    ['title', ' Tea\n', true],
    ['title', 'Tea\tblack', false],
    ['title', 'Tea\u0000', false],
    ['title', 'Tea\u0085 black', false],
    ['title', ' \u00a0 ', false],
    ['title', 'Té', true],
    ['description', 'one\n\ttwo\r\n', true],
    ['description', 'one\u000btwo', false],
    ['description', 'one\u007f', false],
  ])('%s %j matches its pattern if it is accepted', async (field, text, accepted) => {
    const schema = bodyField(field);
    const { pattern } = schema.anyOf ? schema.anyOf[0] : schema;
    expect([new RegExp(pattern, 'u').test(text), (await create({ [field]: text })).status]).toEqual([
      accepted,
      accepted ? 201 : 400,
    ]);
  });

  test('an integer above the maximum of its field is refused', async () => {
    const [schema] = bodyField('quantity_available').anyOf;
    expect(schema.maximum).toBe(Number.MAX_SAFE_INTEGER);
    expect((await create({ quantity_available: schema.maximum })).status).toBe(201);
    expect((await create({ quantity_available: schema.maximum + 1 })).status).toBe(400);
  });

  test('a minimum position of any length is a position', async () => {
    const pattern = new RegExp(document.components.parameters['X-Catalog-Min-Position'].schema.pattern, 'u');
    expect(pattern.test('9'.repeat(25))).toBe(true);
    for (const position of ['1e3', '-1']) {
      const reply = await read('/api/store', { 'x-catalog-min-position': position });
      expect([reply.status, pattern.test(position)]).toEqual([400, false]);
    }
  });
});

describe('/', () => {
  const get = (accept: string) => harness.request('GET', '/', { headers: { accept } });

  test('is a page for browsers whose links work, also below a path of a gateway', async () => {
    const page = await get('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('vary')).toMatch(/\bAccept\b(?!-)/);
    const links = [...page.text.matchAll(/<a href="([^"]+)"/g)].map(([, link]) => link!);
    expect(links).toEqual(['docs', 'openapi.json']);
    for (const link of links) expect((await harness.request('GET', `/${link}`)).status).toBe(200);
    expect(page.text).not.toMatch(/<script|<style|\son\w+=/i);
  });

  test.each(['*/*', 'application/json', 'image/png'])('is JSON for Accept: %s', async (accept) => {
    const reply = await get(accept);
    expect(reply.body).toMatchObject({ status: 'OK', data: { docs: '/docs', openapi: '/openapi.json' } });
    const [, path, header] = /-X POST \$CATALOG(\S+) -H '([^:]+): /.exec(reply.body.data.first_request)!;
    const token = await harness.request('POST', path!, { headers: { [header!]: 'pk_x' } });
    expect(token.body).toMatchObject({ code: 401, message: 'Invalid API key' });
    expect((await harness.request('POST', '/')).status).toBe(405);
  });
});

describe('/docs', () => {
  let files: ReadonlyMap<string, Reply>;

  beforeAll(async () => {
    const replies = PATHS.map(async (path) => [path, await harness.request('GET', path)] as const);
    files = new Map(await Promise.all(replies));
  });

  test('is a page that loads nothing from other sites and runs no inline script', () => {
    const page = files.get('/docs')!;
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy')!.split('; ');
    const own = ['script-src', 'style-src', 'connect-src'].map((what) => `${what} 'self'`);
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", ...own, "base-uri 'none'"]));
    expect(policy.join()).not.toMatch(/unsafe|\*|http/);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/i);
  });

  test('serves every file that the page refers to, with its type and an ETag', async () => {
    const addresses = files.get('/docs')!.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g);
    const named = [...addresses].map(([, address]) => `/${address}`);
    expect(new Set(['/docs', ...named])).toEqual(new Set(PATHS));
    for (const [path, reply] of files) {
      const type = /\.m?js$/.test(path)
        ? 'text/javascript'
        : path.endsWith('.css')
          ? 'text/css'
          : 'text/html';
      expect([path, reply.status, reply.headers.get('content-type')]).toEqual([
        path,
        200,
        `${type}; charset=utf-8`,
      ]);
      const again = { headers: { 'if-none-match': reply.headers.get('etag')! } };
      expect((await harness.request('GET', path, again)).status).toBe(304);
    }
  });

  test('the files of Swagger UI have its version in their path and are cached forever', () => {
    for (const [path, { headers, text }] of files) {
      const cache_control = OWN.includes(path)
        ? 'public, max-age=300'
        : 'public, max-age=31536000, immutable';
      expect([path, headers.get('cache-control')]).toEqual([path, cache_control]);
      expect(OWN.includes(path) || /^\/docs\/swagger-ui-\d+\.\d+\.\d+\//.test(path)).toBe(true);
      expect(text).not.toContain('sourceMappingURL');
    }
  });

  test('our files contain no other site, store nothing, and build no HTML', () => {
    for (const path of OWN) {
      const { text } = files.get(path)!;
      expect([path, text.match(/https?:\/\/|["'`]\/\/[a-z]+\./i)]).toEqual([path, null]);
      expect(text).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
      );
      expect(text).not.toMatch(/localStorage|sessionStorage|indexedDB|document\.cookie/);
    }
  });

  test('passes the credentials under the names of the security schemes in openapi.json', async () => {
    const { components, paths } = (await harness.request('GET', '/openapi.json')).body;
    const used = [...files.get('/docs/page.mjs')!.text.matchAll(/preauthorizeApiKey\('(\w+)'/g)];
    expect(used.map(([, scheme]) => scheme).sort()).toEqual(Object.keys(components.securitySchemes).sort());
    expect(paths['/auth/token'].post.security).toEqual([{ api_key: [] }]);
  });
});
