import { openApiDocument } from '../../../shared/api/openapi';

/** The pages of the API reference, made from the OpenAPI document: an index, one page for each tag, and the schemas. */

// biome-ignore lint/suspicious/noExplicitAny: the document is plain JSON, which has no type
type Json = any;

const { info, tags, paths, components }: Json = openApiDocument();
const operations = Object.entries<Json>(paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, operation]) => ({
    ...operation,
    address: `${method.toUpperCase()} ${path}`,
  })),
);

// --- Markdown ---

const code = (text: string): string => `\`${text}\``;
const marked = (name: string, required: boolean): string => `${code(name)}${required ? '&nbsp;*' : ''}`;
const nameOf = (ref: string): string => ref.split('/').pop()!;
const anchor = (name: string): string => name.toLowerCase();
const joined = (separator: string, parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join(separator);
const sections = (...parts: string[]): string => joined('\n\n', parts);

/** Escapes what Markdown or Vue would read as markup, outside of code. */
const escaped = (text = ''): string =>
  text.replace(/`[^`]*`|[<{*]/g, (part) => (part.length > 1 ? part : `&#${part.codePointAt(0)};`));
const row = (...cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
const table = (heads: string[], rows: string[]): string =>
  rows.length === 0 ? '' : [row(...heads), row(...heads.map(() => '---')), ...rows].join('\n');
const details = (title: string, content: string): string => `::: details ${title}\n${content}\n:::`;
const example = (title: string, value: Json): string =>
  value === undefined ? '' : details(title, `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``);

// --- Schemas ---

/** Returns the schema of a value that may also be null. */
const withoutNull = (schema: Json): Json =>
  (schema.anyOf?.length === 2 && schema.anyOf.find((each: Json) => each.type !== 'null')) || schema;

function typeOf(schema: Json): string {
  const { $ref, type, format, items, anyOf, additionalProperties } = schema;
  if ($ref) return `[${nameOf($ref)}](schemas.md#${anchor(nameOf($ref))})`;
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if ('const' in schema) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map(code).join(', ');
  if (type === 'array') return `list of ${typeOf(items)}`;
  if (additionalProperties?.type) return `object of ${typeOf(additionalProperties)}`;
  return joined(' ', [type ?? 'any', format ? `(${format})` : '']);
}

const LIMITS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'default'];

function meaningOf(schema: Json, description = schema.description): string {
  const limited = { ...withoutNull(schema), ...schema };
  const limits = LIMITS.filter((name) => ![undefined, '[]'].includes(JSON.stringify(limited[name])));
  const texts = limits.map((name) => `${name} ${code(JSON.stringify(limited[name]))}`);
  return joined('<br>', [escaped(description), texts.join(', ')]);
}

/** Returns a row for each field, those of nested objects included: `contact.email`, `hours[].day`. */
function fieldsOf({ properties = {}, required = [] }: Json, prefix = ''): string[] {
  return Object.entries<Json>(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const value = withoutNull(schema);
    const is_list = value.type === 'array';
    const nested = is_list ? value.items : value;
    const object = joined(' ', [is_list ? 'list of objects' : 'object', value === schema ? '' : 'or null']);
    const type = nested.properties ? object : typeOf(schema);
    return [
      row(marked(path, required.includes(name)), type, meaningOf(schema)),
      ...fieldsOf(nested, `${path}${is_list ? '[]' : ''}.`),
    ];
  });
}

// --- Operations ---

const contentsOf = (content: Json = {}): string =>
  Object.entries<Json>(content)
    .map(([type, { schema }]) =>
      joined(' ', [type === 'application/json' ? '' : code(type), schema ? typeOf(schema) : '']),
    )
    .join(', ');

/** Returns the error codes that a description begins with, or the description if it names none, as under `/auth`. */
function codesOf(description: string): string {
  const codes = new Set(Array.from(description.matchAll(/\b([A-Z][A-Z_]+): /g), ([, name]) => code(name!)));
  return codes.size === 0 ? escaped(description) : [...codes].join(', ');
}

function operationSection({
  operationId,
  summary,
  address,
  description,
  requestBody,
  ...rest
}: Json): string {
  const parameters = rest.parameters.map((each: Json) =>
    each.$ref ? components.parameters[nameOf(each.$ref)] : each,
  );
  const headers = parameters.filter((each: Json) => each.in === 'header');
  const others = parameters.filter((each: Json) => each.in !== 'header');
  const answers = Object.entries<Json>(rest.responses);
  const successes = answers.filter(([status]) => status < '400');
  const errors = answers.filter(([status]) => status >= '400');
  return sections(
    `## ${summary} {#${operationId}}`,
    `\`\`\`http\n${address}\n\`\`\``,
    escaped(description),
    table(
      ['parameter', 'in', 'type', 'meaning'],
      others.map(({ name, in: place, required, schema, description: text }: Json) =>
        row(marked(name, required), place, typeOf(schema), meaningOf(schema, text)),
      ),
    ),
    `Headers: ${headers.map(({ name }: Json) => `[${name}](index.md#${anchor(name)})`).join(', ')}.`,
    requestBody ? `**Body:** ${contentsOf(requestBody.content)}` : '',
    example('Example of the body', requestBody?.content['application/json']?.example),
    table(
      ['answer', 'content', 'meaning'],
      successes.map(([status, answer]) =>
        row(status, contentsOf(answer.content), escaped(answer.description)),
      ),
    ),
    example('Example of the answer', successes[0]![1].content?.['application/json']?.example),
    details(
      'Errors',
      table(
        ['status', 'codes'],
        errors.map(([status, answer]) => row(status, codesOf(answer.description))),
      ),
    ),
  );
}

// --- Pages ---

const operationsOf = (tag: string): Json[] => operations.filter((each) => each.tags.includes(tag));

const INDEX = sections(
  '# API reference',
  escaped(info.description),
  ...tags.map(({ name, description }: Json) => {
    const rows = operationsOf(name).map(({ address, summary, operationId }) =>
      row(code(address), `[${summary}](${anchor(name)}.md#${operationId})`),
    );
    return sections(`## ${name}`, escaped(description), table(['request', 'effect'], rows));
  }),
  '## Request headers',
  ...Object.values<Json>(components.parameters).map(({ name, description, schema }) =>
    sections(`### ${name} {#${anchor(name)}}`, meaningOf(schema, description)),
  ),
);

const SCHEMAS = sections(
  '# Schemas',
  '\\* always present, or required in a request',
  ...Object.entries<Json>(components.schemas).map(([name, schema]) =>
    sections(
      `## ${name} {#${anchor(name)}}`,
      escaped(schema.description),
      schema.properties ? table(['field', 'type', 'meaning'], fieldsOf(schema)) : typeOf(schema),
    ),
  ),
);

const pages = [
  ...tags.map(({ name, description }: Json) => ({
    title: name,
    content: sections(
      `# ${name}`,
      escaped(description),
      '\\* required',
      ...operationsOf(name).map(operationSection),
    ),
  })),
  { title: 'Schemas', content: SCHEMAS },
];

/** The entries of the sidebar. */
export const API_PAGES = pages.map(({ title }) => ({ text: title, link: `/api/${anchor(title)}` }));

export default {
  paths: () => [
    { params: { page: 'index' }, content: INDEX },
    ...pages.map(({ title, content }) => ({ params: { page: anchor(title) }, content })),
  ],
};
