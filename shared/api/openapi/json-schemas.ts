import { z } from 'zod';
import type { JsonObject } from '../../catalog/events/envelope';

/** JSON Schema 2020-12, which OpenAPI 3.1 takes as it is, from the zod schemas that check and type everything. */

/** Where a named schema stands in the document. */
const placeOf = (name: string): string => `#/components/schemas/${name}`;

/** Schemas by name, each referring to the others by their place; `input`: as it is sent, `output`: as it is answered. */
export function namedSchemas(
  named: Readonly<Record<string, z.ZodType>>,
  io: 'input' | 'output',
): Record<string, JsonObject> {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(named)) registry.add(schema, { id: name });
  const { schemas } = z.toJSONSchema(registry, { ...options, io, uri: placeOf });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]));
}

/** One schema by itself, as a client sends it. */
export const inputSchema = (schema: z.ZodType): JsonObject =>
  plain(z.toJSONSchema(schema, { ...options, io: 'input' }));

/** A reference to a schema that has a name; throws for one that has none, for it would be nameless in clients. */
export function referTo(names: ReadonlyMap<z.ZodType, string>, schema: z.ZodType): JsonObject {
  const name = names.get(schema);
  if (name === undefined) throw new Error('a schema of an operation has no name in components.ts');
  return { $ref: placeOf(name) };
}

const options: z.core.ToJSONSchemaParams = { target: 'draft-2020-12', override: tidy };

/** A `format` says it to people and tools; the pattern behind it, of hundreds of characters, says it to nobody. */
function tidy({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

/** Without what only a schema in a file of its own needs, and without what is undefined. */
function plain(schema: object): JsonObject {
  const { $schema, $id, ...rest } = JSON.parse(JSON.stringify(schema)) as JsonObject;
  return rest;
}
