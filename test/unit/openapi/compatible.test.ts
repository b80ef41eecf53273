import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../../../shared/api/openapi';

/*
 * Compares the interface with that of the first release (`released.txt`): nothing is removed, nothing is newly required, no
 * type has changed. Both are lists of facts, one per line:
 *   GET /api/publications 200 application/json PublicationPage
 *   Publication.price_amount integer, Publication.price_amount always     (what an answer has)
 *   POST /api/publication NewPublication.title needed                    (what a request must have)
 */

type Tree = { readonly [key: string]: Tree };

const document = openApiDocument() as unknown as Tree;
const RELEASED = join(__dirname, '../../../..', 'test/unit/openapi/released.txt');

const nameOf = (ref: unknown): string => String(ref).split('/').at(-1)!;

/** Returns the facts about the interface. `requests` collects the names of schemas that bodies of requests have. */
function factsOf({ paths, components }: Tree): Set<string> {
  const facts = new Set<string>();
  const requests = new Set<string>();
  for (const [path, methods] of Object.entries(paths!))
    for (const [method, operation] of Object.entries(methods)) {
      const at = `${method.toUpperCase()} ${path}`;
      for (const given of Object.values(operation.parameters ?? {})) {
        const parameter = given.$ref ? components!.parameters![nameOf(given.$ref)]! : given;
        addSchema(facts, `${at} ${parameter.in}:${parameter.name}`, parameter.schema, 'needed');
        if (parameter.required as unknown) facts.add(`${at} ${parameter.in}:${parameter.name} needed`);
      }
      for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
        addSchema(facts, `${at} ${type}`, schema, 'needed');
        for (const ref of JSON.stringify(schema ?? {}).matchAll(/#\/components\/schemas\/(\w+)/g))
          requests.add(ref[1]!);
      }
      for (const [status, { content = {} }] of Object.entries(operation.responses!)) {
        facts.add(`${at} ${status}`);
        for (const [type, { schema }] of Object.entries(content))
          addSchema(facts, `${at} ${status} ${type}`, schema, 'always');
      }
    }
  for (const [name, schema] of Object.entries(components!.schemas!))
    addSchema(facts, name, schema, requests.has(name) ? 'needed' : 'always');
  return facts;
}

type Required = 'needed' | 'always';

/** Adds the types and values of a schema. `required`: the word for its required properties. */
function addSchema(facts: Set<string>, at: string, schema: Tree | undefined, required: Required): void {
  const { $ref, type, properties = {}, items, anyOf, oneOf, allOf, additionalProperties } = schema ?? {};
  if ($ref) facts.add(`${at} ${nameOf($ref)}`);
  for (const one of [type ?? []].flat()) facts.add(`${at} ${one}`);
  for (const value of (schema?.enum ?? []) as unknown as unknown[])
    facts.add(`${at} = ${JSON.stringify(value)}`);
  for (const name of (schema?.required ?? []) as unknown as string[]) facts.add(`${at}.${name} ${required}`);
  for (const [name, property] of Object.entries(properties))
    addSchema(facts, `${at}.${name}`, property, required);
  for (const parts of [anyOf, oneOf, allOf])
    for (const part of Object.values(parts ?? {})) addSchema(facts, at, part, required);
  if (items) addSchema(facts, `${at}[]`, items, required);
  if (additionalProperties instanceof Object) addSchema(facts, `${at}.*`, additionalProperties, required);
}

const NEEDED = / needed$/;

test('the interface has everything that the first release had, and requires nothing more', () => {
  const released = new Set(readFileSync(RELEASED, 'utf8').trim().split('\n'));
  const facts = factsOf(document);
  expect([...released].filter((fact) => !NEEDED.test(fact) && !facts.has(fact))).toEqual([]);
  // A path or a schema that is new may require what it likes.
  const isOld = (fact: string): boolean => {
    const owner = fact.replace(NEEDED, '').replace(/(\.[^. ]+| \w+:\S+)$/, '');
    return [...released].some((known) => known.startsWith(`${owner} `));
  };
  const newly_needed = [...facts].filter((fact) => NEEDED.test(fact) && !released.has(fact) && isOld(fact));
  expect(newly_needed).toEqual([]);
});
