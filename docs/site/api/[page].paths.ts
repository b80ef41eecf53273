import { openApiDocument } from '../../../shared/api/openapi';

/** The pages of the API reference, made from the OpenAPI document: one for each tag, the schemas, and an index. */

interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  description?: string;
  [limit: string]: unknown;
}
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}
type Content = Record<string, { schema?: Schema; example?: unknown }>;
interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: object[];
  parameters: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}
interface Api {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
}

const api = openApiDocument() as unknown as Api;
const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    address: `${method.toUpperCase()} ${path}`,
  })),
);
type Addressed = (typeof operations)[number];

// --- Texts ---

const nameOf = (ref: string): string => ref.split('/').pop()!;
const code = (text: string): string => `\`${text}\``;
const marked = (name: string, required = false): string => `${code(name)}${required ? '&nbsp;*' : ''}`;
/** Escapes what Markdown or Vue would read as markup, outside of code. */
const escaped = (text = ''): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part) =>
      part.startsWith('`') ? part : part.replace(/[<{*]/g, (sign) => `&#${sign.codePointAt(0)};`),
    )
    .join('');
const row = (...cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
const table = (heads: string[], rows: string[]): string =>
  rows.length === 0 ? '' : [row(...heads), row(...heads.map(() => '---')), ...rows].join('\n');
const linkTo = (name: string): string => `[${name}](schemas.md#${name.toLowerCase()})`;

function typeOf(schema: Schema): string {
  const { $ref, type, format, items, anyOf, allOf, additionalProperties } = schema;
  if ($ref !== undefined) return linkTo(nameOf($ref));
  if (allOf !== undefined) return allOf.map(typeOf).join(' and ');
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (type === 'array') return `list of ${typeOf(items ?? {})}`;
  if (typeof additionalProperties === 'object') return `object of ${typeOf(additionalProperties)}`;
  return [type ?? 'any', ...(format === undefined ? [] : [`(${format})`])].join(' ');
}

const LIMITS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'default'];

function limitsOf(schema: Schema): string {
  const limits = LIMITS.filter((name) => schema[name] !== undefined && JSON.stringify(schema[name]) !== '[]');
  return limits.map((name) => `${name} ${code(JSON.stringify(schema[name]))}`).join(', ');
}

const meaningOf = (schema: Schema, description = schema.description): string =>
  [escaped(description), limitsOf(schema)].filter((text) => text !== '').join('<br>');

/** Returns a row for each field, those of nested objects included: `contact.email`. */
function fieldsOf({ properties = {}, required = [] }: Schema, prefix = ''): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const nested = schema.type === 'array' ? schema.items! : schema;
    const suffix = schema.type === 'array' ? '[].' : '.';
    const type = nested.properties === undefined ? typeOf(schema) : (schema.type ?? 'object');
    return [
      row(marked(path, required.includes(name)), type, meaningOf(schema)),
      ...fieldsOf(nested, `${path}${suffix}`),
    ];
  });
}

// --- Pages ---

const example = (title: string, value: unknown): string =>
  value === undefined
    ? ''
    : `::: details ${title}\n\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n:::`;

function contentsOf(content: Content = {}): string {
  const contents = Object.entries(content).map(([type, { schema }]) => {
    const media_type = type === 'application/json' ? '' : code(type);
    return [media_type, schema === undefined ? '' : typeOf(schema)].filter((text) => text !== '').join(' ');
  });
  return contents.join(', ');
}

function operationSection(operation: Addressed): string {
  const { operationId, summary, address, description, parameters, requestBody, responses } = operation;
  const known = parameters.map(({ $ref, ...own }) => ($ref ? api.components.parameters[nameOf($ref)]! : own));
  const headers = known.filter((each) => each.in === 'header').map(({ name }) => name);
  const rows = known
    .filter((each) => each.in !== 'header')
    .map(({ name, in: place, required, schema, description: text }) =>
      row(marked(name, required), place, typeOf(schema), meaningOf(schema, text)),
    );
  const answers = Object.entries(responses);
  const of_errors = answers.filter(([status]) => status >= '400');
  const errors = of_errors.map(([status, { description: text }]) => {
    const codes = [...new Set([...text.matchAll(/\b([A-Z][A-Z_]+): /g)].map(([, name]) => code(name!)))];
    return row(status, codes.length === 0 ? escaped(text) : codes.join(', '));
  });
  const successes = answers.filter(([status]) => status < '400');
  const [, success] = successes[0]!;
  return [
    `## ${summary} {#${operationId}}`,
    `\`\`\`http\n${address}\n\`\`\``,
    escaped(description),
    table(['parameter', 'in', 'type', 'meaning'], rows),
    `Headers: ${headers.map((name) => `[${name}](index.md#${name.toLowerCase()})`).join(', ')}.`,
    requestBody === undefined ? '' : `**Body:** ${contentsOf(requestBody.content)}`,
    example('Example of the body', requestBody?.content['application/json']?.example),
    table(
      ['answer', 'meaning', 'content'],
      successes.map(([status, answer]) =>
        row(status, escaped(answer.description), contentsOf(answer.content)),
      ),
    ),
    example('Example of the answer', success.content?.['application/json']?.example),
    `::: details Errors\n${table(['status', 'codes'], errors)}\n:::`,
  ].join('\n\n');
}

function tagPage({ name, description }: Api['tags'][number]): string {
  const own = operations.filter(({ tags }) => tags.includes(name));
  return [`# ${name}`, escaped(description), '\\* required', ...own.map(operationSection)].join('\n\n');
}

function schemasPage(): string {
  const sections = Object.entries(api.components.schemas).map(([name, schema]) =>
    [
      `## ${name} {#${name.toLowerCase()}}`,
      escaped(schema.description),
      schema.properties === undefined
        ? typeOf(schema)
        : table(['field', 'type', 'meaning'], fieldsOf(schema)),
    ].join('\n\n'),
  );
  return ['# Schemas', '\\* always present, or required in a request', ...sections].join('\n\n');
}

function indexPage(): string {
  const groups = api.tags.map(({ name, description }) => {
    const rows = operations
      .filter(({ tags }) => tags.includes(name))
      .map(({ address, summary, operationId }) =>
        row(code(address), `[${summary}](${name.toLowerCase()}.md#${operationId})`),
      );
    return `## ${name}\n\n${escaped(description)}\n\n${table(['request', 'effect'], rows)}`;
  });
  const headers = Object.values(api.components.parameters).map(
    ({ name, description, schema }) =>
      `### ${name} {#${name.toLowerCase()}}\n\n${meaningOf(schema, description)}`,
  );
  const intro = escaped(api.info.description);
  return ['# API reference', intro, ...groups, '## Request headers', ...headers].join('\n\n');
}

const pages = [
  { page: 'index', title: 'API reference', content: indexPage() },
  ...api.tags.map((tag) => ({ page: tag.name.toLowerCase(), title: tag.name, content: tagPage(tag) })),
  { page: 'schemas', title: 'Schemas', content: schemasPage() },
];

/** The entries of the sidebar. */
export const API_PAGES = pages
  .filter(({ page }) => page !== 'index')
  .map(({ page, title }) => ({ text: title, link: `/api/${page}` }));

export default {
  paths: () => pages.map(({ page, content }) => ({ params: { page }, content })),
};
