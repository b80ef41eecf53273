import { readFileSync } from 'node:fs';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { withProposals } from '../../../services/command/proposals';
import { commandRoutes } from '../../../services/command/routes';
import { feedIssuesRoute } from '../../../services/feeds/routes';
import { importRoutes } from '../../../services/import/routes';
import { queryRoutes } from '../../../services/query/routes';
import { errorCatalogue } from '../../../shared/api/error-catalogue';
import { openApiDocument } from '../../../shared/api/openapi';
import { methodsOfPaths, operations } from '../../../shared/api/operations';
import { errorCodeSchema } from '../../../shared/api/responses/errors';
import { isCurrency } from '../../../shared/catalog/input-rules';
import { parseConfig } from '../../../shared/kernel/config';

type Tree = { readonly [key: string]: Tree };

const document = openApiDocument();
const tree = document as unknown as Tree;
const ROOT = 'https://catalog.test/openapi.json';

const documentOperations = Object.values(tree.paths!).flatMap((path) => Object.values(path));

/** Yields every nested object with the keys that lead to it. */
function* objectsIn(
  value: unknown,
  path: readonly string[] = [],
): Generator<readonly [readonly string[], Tree]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [path, value as Tree];
  for (const [key, item] of Object.entries(value)) yield* objectsIn(item, [...path, key]);
}

const pointerOf = (keys: readonly string[]): string =>
  keys.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

describe('the OpenAPI document', () => {
  test('is valid by the meta-schema of OpenAPI 3.1', () => {
    const meta = require.resolve('@seriousme/openapi-schema-validator/schemas/v3.1/schema.json');
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    const validate = ajv.compile(JSON.parse(readFileSync(meta, 'utf8')));
    expect([validate(document), validate.errors]).toEqual([true, null]);
    expect(validate({ ...document, info: {} })).toBe(false);
  });

  test('has schemas that are valid in the strict mode of JSON Schema 2020-12', () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    addFormats(ajv);
    const text = JSON.stringify(tree.components!.schemas);
    // Each schema gets an id, so that the others can refer to it.
    const schemas = JSON.parse(text.replaceAll('"#/components/schemas/', `"${ROOT}/`)) as Tree;
    for (const [name, schema] of Object.entries(schemas))
      ajv.addSchema({ ...schema, $id: `${ROOT}/${name}` });
    for (const name of Object.keys(schemas)) expect(ajv.getSchema(`${ROOT}/${name}`)).toBeDefined();
  });

  test('describes the permissions that an operation and its fields require', () => {
    const descriptionOf = (path: string): string =>
      (tree.paths![path]!.post as unknown as { description: string }).description;
    expect(descriptionOf('/api/media')).toMatch(
      /Requires a secret key with the permission `write:media`\. `publication_id` also requires `write:publications`\. `listing_id` also requires `write:listings`\.$/,
    );
    expect(descriptionOf('/api/listing')).toBe('Requires a secret key with the permission `write:listings`.');
  });

  test('has no dangling references', () => {
    const dangling = [...objectsIn(document)]
      .map(([, { $ref }]) => $ref as unknown)
      .filter((ref): ref is string => typeof ref === 'string')
      .filter((ref) => {
        const keys = ref.slice('#/'.length).split('/');
        return keys.reduce<Tree | undefined>((node, key) => node?.[key], tree) === undefined;
      });
    expect(dangling).toEqual([]);
  });

  test('has an operation with a unique id for every path and method', () => {
    expect(documentOperations).toHaveLength(Object.values(methodsOfPaths).flat().length);
    const names = documentOperations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z]+$/);
  });

  test('has exactly the operations of /api that the services serve', () => {
    // Routes use their dependencies only when a request arrives.
    const deps = { views: {}, events: {}, system: {}, log: {} } as never;
    const imports = importRoutes(deps, {} as never);
    const writes = withProposals(deps, [...commandRoutes(deps), ...imports.writes], imports.proposedImport);
    const routes = [...queryRoutes(deps), feedIssuesRoute(deps), ...imports.reads, ...writes];
    const named = (list: readonly { method: string; path: string }[]): string[] =>
      list.map(({ method, path }) => `${method} ${path}`).sort();
    const api = operations.filter(({ path }) => path.startsWith('/api/'));
    expect(named(routes)).toEqual(named(api));
  });

  test('lists exactly the error codes of the catalogue', () => {
    const sent = new Set(Object.values(errorCatalogue).map(({ code }) => code));
    expect([...sent].sort()).toEqual([...errorCodeSchema.options].sort());
  });

  test('allows exactly the currencies that the service accepts', () => {
    const { pattern } = tree.components!.schemas!.NewPublication!.properties!.price_currency!;
    const codes = ['PEN', 'XAU', 'ABC', 'pen', 'PENS'];
    const allowed = codes.filter((code) => new RegExp(String(pattern)).test(code));
    expect(allowed).toEqual(['PEN', 'XAU']);
    expect(codes.filter(isCurrency)).toEqual(allowed);
  });

  test('links a new resource to the operations with its id', () => {
    const linksOf = (path: string): string[] =>
      Object.keys(tree.paths![path]!.post!.responses!['201']!.links ?? {}).sort();
    expect(linksOf('/api/listing')).toEqual(['deleteListing', 'getListing', 'updateListing']);
    expect(linksOf('/api/publication')).toEqual(['deletePublication', 'getPublication', 'updatePublication']);
    expect(linksOf('/api/media')).toEqual(['deleteMedia', 'getMedia', 'updateMedia']);
  });

  test('allows no additional properties in responses, except in health checks', () => {
    const schemas = Object.entries(tree.components!.schemas!);
    const open = [...objectsIn(Object.fromEntries(schemas))]
      .filter(([, { type, properties }]) => (type as unknown) === 'object' && properties !== undefined)
      .filter(([, { additionalProperties }]) => (additionalProperties as unknown) !== false)
      .map(([keys]) => keys.join('.'));
    expect(open).toEqual(['ReadyAnswer.properties.data']);
  });

  test('documents both error bodies and the headers of every response', () => {
    for (const [path, methods] of Object.entries(tree.paths!))
      for (const operation of Object.values(methods))
        for (const [status, response] of Object.entries(operation.responses!)) {
          const names = Object.keys(response.headers!);
          expect(names).toContain('X-Request-Id');
          if (/^\/(api|auth)/.test(path)) expect(names).toContain('X-RateLimit-Remaining');
          if (status === '429') expect(names).toContain('Retry-After');
          const shape = path.startsWith('/auth') ? 'AuthError' : 'Error';
          if (Number(status) >= 400 && path !== '/health/ready')
            expect(JSON.stringify(response.content)).toContain(`#/components/schemas/${shape}"`);
        }
  });
});

describe('the texts of the OpenAPI document', () => {
  /** Returns every object in the document whose JSON pointer matches. */
  const partsAt = (pattern: RegExp): (readonly [pointer: string, part: Tree])[] =>
    [...objectsIn(document)]
      .map(([keys, part]) => [keys.map((key) => `/${key.replaceAll('/', '~1')}`).join(''), part] as const)
      .filter(([pointer]) => pattern.test(pointer));

  test.each([
    // Properties in named schemas. The error schemas of operations only narrow the properties of `Error`.
    ['property', /^\/components\/schemas\/.*\/properties\/[^/]+$/, 200],
    ['schema, request header and response header', /^\/components\/(schemas|parameters|headers)\/[^/]+$/, 70],
    ['response', /^\/paths\/[^/]+\/[^/]+\/responses\/\d+$/, 250],
    ['operation', /^\/paths\/[^/]+\/[^/]+$/, 25],
    ['parameter', /^\/paths\/[^/]+\/[^/]+\/parameters\/\d+$/, 80],
    ['tag', /^\/tags\/\d+$/, 5],
  ])('describe every %s in a sentence', (_what, pattern, at_least) => {
    const parts = partsAt(pattern).filter(
      ([pointer, { $ref }]) => !pointer.includes('/parameters/') || !$ref,
    );
    expect(parts.length).toBeGreaterThan(at_least);
    const without = parts.filter(([, { description = '' }]) => !/\S.*[.?!`…)]$/s.test(String(description)));
    expect(without.map(([pointer]) => pointer)).toEqual([]);
  });

  test('name prefixes of keys, rates, bursts, limits of search and refusals of any request', () => {
    const { description } = document.info as { description: string };
    const { RATE_LIMIT_PUBLIC, RATE_LIMIT_SECRET, RATE_LIMIT_AUTH } = parseConfig({});
    const numbers = [RATE_LIMIT_PUBLIC, RATE_LIMIT_SECRET, RATE_LIMIT_AUTH].flatMap(Object.values);
    for (const number of numbers) expect(description).toContain(number.toLocaleString('en'));
    for (const prefix of ['pk_live_', 'sk_live_', 'pk_test_', 'sk_test_'])
      expect(description).toContain(prefix);
    for (const status of [405, 408, 414, 417, 431]) expect(description).toContain(String(status));
    const search = String(tree.paths!['/api/store/search']!.get!.description);
    for (const limit of ['5,000', '32 words', 'eight words']) expect(search).toContain(limit);
  });
});

describe('the examples of the OpenAPI document', () => {
  // A fast compilation counts more than a fast check, because most schemas check one example.
  const fast = { validateSchema: false, inlineRefs: false, code: { optimize: false } };
  const ajv = new Ajv2020({ strict: false, allErrors: true, ...fast });
  addFormats(ajv);
  ajv.addSchema({ ...document, $id: ROOT });
  const compiled = new Map<string, ValidateFunction>();
  /** Returns the errors of an example of the schema at a path. */
  const faultsOf = (path: readonly string[], schema: Tree, example: unknown): unknown[] => {
    const pointer = schema.$ref ? String(schema.$ref).slice(1) : pointerOf(path);
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `${ROOT}#${pointer}` });
    compiled.set(pointer, validate);
    return validate(example) ? [] : [pointer, validate.errors];
  };

  test('are valid by the schemas of their bodies and parameters', () => {
    const with_example = [...objectsIn(document)].filter(
      ([, { schema, example }]) => schema && example !== undefined,
    );
    expect(with_example.length).toBeGreaterThan(30);
    for (const [path, { schema, example }] of with_example)
      expect(faultsOf([...path, 'schema'], schema!, example)).toEqual([]);
  });

  test('of errors have the codes of their responses', () => {
    const examples = tree.components!.examples!;
    let checked = 0;
    for (const [path, { schema, examples: references }] of objectsIn(document))
      if (schema && references)
        for (const { $ref } of Object.values(references)) {
          const { value } = examples[String($ref).split('/').pop()!]!;
          expect(faultsOf([...path, 'schema'], schema, value)).toEqual([]);
          checked++;
        }
    expect(checked).toBeGreaterThan(300);
  });

  test('are given for every schema, property, parameter and header, and valid', () => {
    const parts = [...objectsIn(document)].filter(([keys]) =>
      /^(components schemas (\S+|.* properties \S+)|components (parameters|headers) \S+ schema|paths \S+ \S+ parameters \d+ schema)$/.test(
        keys.join(' '),
      ),
    );
    expect(parts.length).toBeGreaterThan(300);
    for (const [path, part] of parts) {
      const examples = Object.values(part.examples ?? {});
      expect([path.join(' '), examples.length]).not.toEqual([path.join(' '), 0]);
      for (const example of examples) expect(faultsOf(path, part, example)).toEqual([]);
    }
  });

  test('are given for every JSON body', () => {
    const bodies = [...objectsIn(document)].filter(([keys]) => keys.at(-1) === 'application/json');
    expect(bodies.length).toBeGreaterThan(200);
    const without = bodies.filter(([, body]) => body.example === undefined && body.examples === undefined);
    // The document itself has no schema.
    expect(without.map(([keys]) => keys.join(' '))).toEqual([
      'paths /openapi.json get responses 200 content application/json',
    ]);
  });
});

test('docs/interface/README.md lists every endpoint', () => {
  const rows = readFileSync('docs/interface/README.md', 'utf8').matchAll(
    /^\| `([A-Z]+ \/(?:api|auth)\/\S+)` /gm,
  );
  const documented = [...rows].map(([, endpoint]) => endpoint);
  const actual = operations.map(({ method, path }) => `${method} ${path}`);
  expect(documented.sort()).toEqual(actual.filter((each) => / \/(api|auth)\//.test(each)).sort());
});
