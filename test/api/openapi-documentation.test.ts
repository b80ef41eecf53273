import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { parseConfig } from '../../shared/kernel/config';
import { type Harness, type Reply, type Shop, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';

interface Schema {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** A part of the document, by its JSON pointer. */
type Parts = readonly (readonly [pointer: string, part: Schema])[];

const ROOT = 'https://catalog.test/openapi.json';

let harness: Harness;
// biome-ignore lint/suspicious/noExplicitAny: the tests read the document as a client without types
let document: any;

beforeAll(async () => {
  harness = await startHarness();
  document = (await harness.request('GET', '/openapi.json')).body;
});
afterAll(() => harness.close());

/** Returns every object in the document whose pointer matches. */
function partsAt(pattern: RegExp): Parts {
  const found: [string, Schema][] = [];
  const visit = (value: unknown, pointer: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (pattern.test(pointer)) found.push([pointer, value as Schema]);
    for (const [key, item] of Object.entries(value))
      visit(item, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  };
  visit(document, '');
  return found;
}

const withoutText = (parts: Parts): string[] =>
  parts.filter(([, { description = '' }]) => !/\S.*[.?!`…)]$/s.test(description)).map(([pointer]) => pointer);

/** Replaces what differs between two resources of the same kind. */
function masked(value: object): unknown {
  const text = JSON.stringify(value)
    .replace(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/[\da-f]{64}/g, '<hash>');
  return JSON.parse(text);
}

describe('the examples', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await harness.newShop();
  });

  const operationAt = (method: string, path: string) => document.paths[path][method];
  const exampleAt = (method: string, path: string, status: number) =>
    operationAt(method, path).responses[status].content['application/json'].example.data;
  const schemaExample = (name: string) => document.components.schemas[name].examples[0];
  const send = (method: string, path: string, body?: object): Promise<Reply> =>
    harness.request(method, path, { token: shop.secret.token, body });

  test.each(['listing', 'publication'])('of a new %s are what the service answers', async (name) => {
    const path = `/api/${name}`;
    const body = operationAt('post', path).requestBody.content['application/json'].example;
    const { data } = (await send('POST', path, body)).body;
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

test('the OpenAPI document names prefixes of keys, rates, bursts, limits of search and refusals of any request', () => {
  const { description } = document.info;
  const { RATE_LIMIT_PUBLIC, RATE_LIMIT_SECRET, RATE_LIMIT_AUTH } = parseConfig({});
  const numbers = [RATE_LIMIT_PUBLIC, RATE_LIMIT_SECRET, RATE_LIMIT_AUTH].flatMap(Object.values);
  for (const number of numbers) expect(description).toContain(number.toLocaleString('en'));
  for (const prefix of ['pk_live_', 'sk_live_', 'pk_test_', 'sk_test_'])
    expect(description).toContain(prefix);
  for (const status of [405, 408, 414, 417, 431]) expect(description).toContain(String(status));
  const search = document.paths['/api/store/search'].get.description;
  for (const limit of ['5,000', '32 words', 'eight words']) expect(search).toContain(limit);
});

describe('the OpenAPI document that the service serves', () => {
  /** Properties in named schemas. The error schemas of operations only narrow the properties of `Error`. */
  const PROPERTY = /^\/components\/schemas\/.*\/properties\/[^/]+$/;
  const NAMED = /^\/components\/(schemas|parameters|headers)\/[^/]+$/;
  const PARAMETER = /^\/paths\/[^/]+\/[^/]+\/parameters\/\d+$/;
  const RESPONSE = /^\/paths\/[^/]+\/[^/]+\/responses\/\d+$/;
  const OPERATION = /^\/paths\/[^/]+\/[^/]+$/;

  test.each([
    ['property', PROPERTY, 200],
    ['schema, request header and response header', NAMED, 70],
    ['response', RESPONSE, 250],
    ['operation', OPERATION, 25],
    ['tag', /^\/tags\/\d+$/, 5],
  ])('describes every %s in a sentence', (_what, pattern, at_least) => {
    const parts = partsAt(pattern);
    expect(parts.length).toBeGreaterThan(at_least);
    expect(withoutText(parts)).toEqual([]);
  });

  test('describes every parameter in a sentence', () => {
    const parts = partsAt(PARAMETER).filter(([, { $ref }]) => $ref === undefined);
    expect(parts.length).toBeGreaterThan(80);
    expect(withoutText(parts)).toEqual([]);
  });

  test('has an example for every schema, property, parameter and header, valid by its schema', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats(ajv);
    ajv.addSchema({ ...document, $id: ROOT });
    const parts = [
      ...partsAt(PROPERTY),
      ...partsAt(/^\/components\/schemas\/[^/]+$/),
      ...partsAt(/^\/components\/(parameters|headers)\/[^/]+\/schema$/),
      ...partsAt(/^\/paths\/[^/]+\/[^/]+\/parameters\/\d+\/schema$/),
    ];
    expect(parts.length).toBeGreaterThan(300);
    expect(parts.filter(([, { examples = [] }]) => examples.length === 0).map(([at]) => at)).toEqual([]);
    const invalid = parts.flatMap(([pointer, { examples = [] }]) => {
      const validate = ajv.compile({
        $ref: `${ROOT}#${pointer.split('/').map(encodeURIComponent).join('/')}`,
      });
      return examples.filter((example) => !validate(example)).map((example) => [pointer, example]);
    });
    expect(invalid).toEqual([]);
  });

  test('has an example for every JSON body', () => {
    const bodies = partsAt(/\/content\/application~1json$/) as readonly [string, Record<string, unknown>][];
    expect(bodies.length).toBeGreaterThan(200);
    const without = bodies.filter(([, body]) => body.example === undefined && body.examples === undefined);
    // The document itself has no schema.
    expect(without.map(([pointer]) => pointer)).toEqual([
      '/paths/~1openapi.json/get/responses/200/content/application~1json',
    ]);
  });
});
