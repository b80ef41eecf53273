import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { commandRoutes } from '../../../services/command/routes';
import { queryRoutes } from '../../../services/query/routes';
import { errorCatalogue } from '../../../shared/api/error-catalogue';
import { openApiDocument } from '../../../shared/api/openapi';
import { methodsOfPaths, operations } from '../../../shared/api/operations';
import { errorCodeSchema } from '../../../shared/api/responses/errors';

type Tree = { readonly [key: string]: Tree };

const document = openApiDocument();
const tree = document as unknown as Tree;
const ROOT = 'https://catalog.test/openapi.json';

const documentOperations = Object.values(tree.paths!).flatMap((path) => Object.values(path));

/** Every object below, with the keys that lead to it. */
function* within(value: unknown, at: readonly string[] = []): Generator<readonly [readonly string[], Tree]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Tree];
  for (const [key, item] of Object.entries(value)) yield* within(item, [...at, key]);
}

const pointerOf = (keys: readonly string[]): string =>
  keys.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

describe('the OpenAPI document', () => {
  test('is one, by the meta-schema of OpenAPI 3.1', () => {
    const meta = require.resolve('@seriousme/openapi-schema-validator/schemas/v3.1/schema.json');
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    const validate = ajv.compile(JSON.parse(readFileSync(meta, 'utf8')));
    expect([validate(document), validate.errors]).toEqual([true, null]);
    expect(validate({ ...document, info: {} })).toBe(false);
  });

  test('has schemas that JSON Schema 2020-12 takes in strict mode', () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    addFormats(ajv);
    const text = JSON.stringify(tree.components!.schemas);
    // Each by itself, at an address that the others refer to.
    const schemas = JSON.parse(text.replaceAll('"#/components/schemas/', `"${ROOT}/`)) as Tree;
    for (const [name, schema] of Object.entries(schemas))
      ajv.addSchema({ ...schema, $id: `${ROOT}/${name}` });
    for (const name of Object.keys(schemas)) expect(ajv.getSchema(`${ROOT}/${name}`)).toBeDefined();
  });

  test('tells which permissions an operation needs, and which a field of it needs besides', () => {
    const described = (path: string): string =>
      (tree.paths![path]!.post as unknown as { description: string }).description;
    expect(described('/api/media')).toMatch(
      /Needs a secret key with `write:media`, with `publication_id` also `write:publications`, with `listing_id` also `write:listings`\.$/,
    );
    expect(described('/api/listing')).toBe('Needs a secret key with `write:listings`.');
  });

  test('refers to nothing that is not there', () => {
    const dangling = [...within(document)]
      .map(([, { $ref }]) => $ref as unknown)
      .filter((ref): ref is string => typeof ref === 'string')
      .filter((ref) => {
        const keys = ref.slice('#/'.length).split('/');
        return keys.reduce<Tree | undefined>((at, key) => at?.[key], tree) === undefined;
      });
    expect(dangling).toEqual([]);
  });

  test('has an operation for every path and method, each named once', () => {
    expect(documentOperations).toHaveLength(Object.values(methodsOfPaths).flat().length);
    const names = documentOperations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z]+$/);
  });

  test('has every route that is served, and every operation of /api is served', () => {
    // Nothing is asked of what they stand on until a request comes.
    const deps = { views: {}, events: {}, system: {}, log: {} } as never;
    const routes = [...queryRoutes(deps), ...commandRoutes(deps)];
    const named = (list: readonly { method: string; path: string }[]): string[] =>
      list.map(({ method, path }) => `${method} ${path}`).sort();
    const api = operations.filter(({ path }) => path.startsWith('/api/'));
    expect(named(routes)).toEqual(named(api));
  });

  test('knows every error code that is sent, and no other', () => {
    const sent = new Set(Object.values(errorCatalogue).map(({ code }) => code));
    expect([...sent].sort()).toEqual([...errorCodeSchema.options].sort());
  });

  test('closes every object that answers hold, but what health checks tell', () => {
    const answers = Object.entries(tree.components!.schemas!);
    const open = [...within(Object.fromEntries(answers))]
      .filter(([, { type, properties }]) => (type as unknown) === 'object' && properties !== undefined)
      .filter(([, { additionalProperties }]) => (additionalProperties as unknown) !== false)
      .map(([keys]) => keys.join('.'));
    expect(open).toEqual(['ReadyAnswer.properties.data']);
  });

  test('documents both error shapes and the headers that every answer has', () => {
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

describe('its examples', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema({ ...document, $id: ROOT });
  const check = (at: readonly string[], example: unknown): void => {
    const validate = ajv.compile({ $ref: `${ROOT}#${pointerOf(at)}/schema` });
    const valid = validate(example);
    expect([at.join(' '), valid, validate.errors]).toEqual([at.join(' '), true, null]);
  };

  test('are what their schemas say', () => {
    const with_example = [...within(document)].filter(
      ([, { schema, example }]) => schema && example !== undefined,
    );
    expect(with_example.length).toBeGreaterThan(30);
    for (const [at, { example }] of with_example) check(at, example);
  });

  test('of errors are what each response says of its codes', () => {
    const examples = tree.components!.examples!;
    let checked = 0;
    for (const [at, media] of within(document)) {
      if (!media.schema || !media.examples) continue;
      for (const { $ref } of Object.values(media.examples)) {
        check(at, examples[String($ref).split('/').pop()!]!.value);
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(300);
  });
});
