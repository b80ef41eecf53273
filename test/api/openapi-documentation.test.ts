import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { type Harness, startHarness } from '../support/harness';

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
let document: { readonly [key: string]: unknown; readonly paths: object; readonly components: object };

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
