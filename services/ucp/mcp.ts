import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { z } from 'zod';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { OPERATIONS } from './catalog';
import { invalid, SPECIFICATION, VERSION } from './protocol';

/** The profile of a platform is in the arguments of each call. */
const meta = z.looseObject({ 'ucp-agent': z.looseObject({ profile: z.string() }) });

const TOOLS = OPERATIONS.map(({ name, description, capability, request }) => ({
  name,
  description,
  inputSchema: z.toJSONSchema(z.object({ meta, catalog: request })) as { type: 'object' },
  // Clients check answers against it, and cannot look up the schema that it names.
  outputSchema: {
    type: 'object' as const,
    description: `${SPECIFICATION}/schemas/shopping/catalog_${capability}.json`,
    properties: { ucp: { type: 'object' }, products: { type: 'array' }, product: { type: 'object' } },
    required: ['ucp'],
  },
  annotations: { readOnlyHint: true },
}));

/** Only forms have schemas that the server checks, and there are none. To make a validator takes a millisecond. */
const validator = new AjvJsonSchemaValidator();

/** A call of a tool, as the body of a request has it. */
const callSchema = z.looseObject({
  method: z.literal('tools/call'),
  params: z.looseObject({
    name: z.string(),
    arguments: z.looseObject({ meta: meta.optional(), catalog: z.unknown().optional() }).optional(),
  }),
});

/**
 * Returns what a request asks for if it calls one of the tools: the operation, the address of the platform's profile and the
 * request of the operation.
 */
export function callIn(body: JsonObject) {
  const { success, data } = callSchema.safeParse(body);
  const operation = success && OPERATIONS.find(({ name }) => name === data.params.name);
  if (!operation) return undefined;
  const { meta: sent, catalog } = data.params.arguments ?? {};
  return { operation, profile: sent?.['ucp-agent'].profile, catalog: catalog ?? {} };
}

/**
 * Answers a request by Streamable HTTP without sessions. `result` is the answer of the operation if the request calls a tool.
 */
export async function answerMcp(
  headers: [name: string, value: string][],
  url: string,
  body: JsonObject,
  result: object | undefined,
): Promise<Response> {
  const options = { capabilities: { tools: {} }, jsonSchemaValidator: validator };
  const server = new Server({ name: 'catalog-service', version: VERSION }, options);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    if (result === undefined) throw invalidParams(`There is no tool ${params.name}.`);
    const content = [{ type: 'text' as const, text: JSON.stringify(result) }];
    return { structuredContent: { ...result }, content };
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(new Request(url, { method: 'POST', headers }), { parsedBody: body });
  } finally {
    await server.close();
  }
}

function invalidParams(content: string): McpError {
  const { code, message, data } = invalid(content).rpcError('');
  return new McpError(code, message, data);
}
