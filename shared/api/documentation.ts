import type { JsonObject, JsonValue } from '../catalog/events/envelope';
import type { NamedSchema } from './components';

// Completes the schemas of the OpenAPI document: every property gets a description and an example.

export type Schemas = Readonly<Record<string, JsonObject>>;

/** Returns the named schemas with their descriptions, and with an example for each of them and for each property. */
export function withDocs(schemas: Schemas, docs: Readonly<Record<string, NamedSchema>>): Schemas {
  const described = mapValues(schemas, (schema, name) => {
    const { description, example } = docs[name]!;
    return { ...schema, description, ...(example === undefined ? {} : { examples: [example as JsonValue] }) };
  });
  return mapValues(described, (schema) => complete(schema, undefined, described));
}

/**
 * Returns an example value. Undefined if neither the schema nor its parts have one. The example of an object leaves
 * out optional properties that are other resources, because resources refer to each other.
 */
export function exampleOfSchema(schema: JsonObject, schemas: Schemas = {}): JsonValue | undefined {
  const { $ref, examples, type, items } = schema;
  const declared = (examples as JsonValue[] | undefined)?.[0] ?? schema.const ?? schema.default;
  if (declared !== undefined) return declared;
  if ($ref !== undefined) return exampleOfSchema(targetOf($ref, schemas), schemas);
  if (schema.enum !== undefined) return (schema.enum as JsonValue[])[0];
  if (type === 'boolean') return true;
  if (type === 'object') return objectExample(schema, schemas);
  const item = type === 'array' ? exampleOfSchema(items as JsonObject, schemas) : undefined;
  return item === undefined ? undefined : [item];
}

function objectExample({ properties = {}, required = [] }: JsonObject, schemas: Schemas): JsonValue {
  const values = Object.entries(properties as Schemas)
    .filter(([name, { $ref }]) => $ref === undefined || (required as string[]).includes(name))
    .map(([name, property]) => [name, exampleOfSchema(property, schemas)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as JsonObject;
}

/**
 * Returns the schema with a description and an example, where it or one of its nested properties has none.
 * `outer_example`: what the example of the containing object has for this property.
 */
function complete(schema: JsonObject, outer_example: JsonValue | undefined, schemas: Schemas): JsonObject {
  const { $ref, properties, items, anyOf, additionalProperties: values } = schema;
  const completed: JsonObject = $ref === undefined ? {} : { ...descriptionOf(targetOf($ref, schemas)) };
  const example = outer_example ?? exampleOfSchema(schema, schemas);
  Object.assign(completed, schema, example === undefined ? {} : { examples: [example] });
  if (properties !== undefined)
    completed.properties = mapValues(properties as Schemas, (property, name) =>
      complete(property, (example as JsonObject | undefined)?.[name], schemas),
    );
  if (items !== undefined && (items as JsonObject).properties !== undefined)
    completed.items = complete(items as JsonObject, (example as JsonValue[] | undefined)?.[0], schemas);
  // An object of values by name.
  if (isWithProperties(values)) {
    const [value] = Object.values((example as JsonObject | undefined) ?? {});
    completed.additionalProperties = complete(values, value, schemas);
  }
  // An object or a list that may be null.
  if (anyOf !== undefined)
    completed.anyOf = (anyOf as JsonObject[]).map((part) =>
      part.items === undefined && !isWithProperties(part) ? part : complete(part, example, schemas),
    );
  return completed;
}

/** Whether it is the schema of an object with properties, or of an object of such objects. */
function isWithProperties(schema: JsonValue | undefined): schema is JsonObject {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return false;
  const { properties, additionalProperties, anyOf } = schema;
  return (
    properties !== undefined ||
    isWithProperties(additionalProperties) ||
    (Array.isArray(anyOf) && anyOf.some(isWithProperties))
  );
}

const descriptionOf = ({ description }: JsonObject): JsonObject =>
  description === undefined ? {} : { description };

const targetOf = (ref: JsonValue, schemas: Schemas): JsonObject => schemas[String(ref).split('/').pop()!]!;

/** Returns an object with the same names and other values. */
export function mapValues<Value, Result>(
  object: Readonly<Record<string, Value>>,
  change: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));
}
