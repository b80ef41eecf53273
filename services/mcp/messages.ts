import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  InitializeRequestSchema,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  PingRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { z } from 'zod';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { type HttpRequest, headerOf, ownAddress } from '../../shared/http/request';
import type { TextAnswer } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';

/** What a server of the Model Context Protocol offers to the client of a request. */
export interface Offer {
  readonly name: string;
  readonly version: string;
  /** For the model: how to use the tools. */
  readonly instructions?: string;
  readonly tools: readonly Tool[];
  /** Runs a call of one of the tools. An error for the model is a result; the others reject. */
  readonly call: (tool: string, sent: JsonObject) => Promise<CallToolResult>;
}

/** The requests that a server with tools answers. */
const REQUESTS: Readonly<Record<string, z.ZodType>> = {
  initialize: InitializeRequestSchema,
  ping: PingRequestSchema,
  'tools/list': ListToolsRequestSchema,
  'tools/call': CallToolRequestSchema,
};

/** Without it, the SDK makes one for each server, which takes a millisecond. Only forms need it, and this server has none. */
const validator = new AjvJsonSchemaValidator();

/** The headers of a request that the transport looks at. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version'];

/** The origins of pages on this machine. */
const LOCAL_ORIGIN = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Throws for a request from a page of another site: it may have made its name an address of this machine
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning). Clients are no pages.
 */
function assertOrigin(req: HttpRequest): void {
  const origin = headerOf(req, 'origin');
  if (origin !== undefined && !LOCAL_ORIGIN.test(origin))
    throw new CatalogError('insufficient_permissions', { message: 'This Origin is not accepted' });
}

/**
 * Answers a message by Streamable HTTP without sessions, streams and batches. An invalid message gets an error of JSON-RPC.
 * Rejects with the errors of `offer.call`, and for pages of other sites.
 */
export async function answerMessage(req: HttpRequest, body: JsonObject, offer: Offer): Promise<TextAnswer> {
  assertOrigin(req);
  const fault = faultOf(body, offer.tools);
  if (fault) return errorAnswer(idOf(body), fault);
  const { name, version, instructions, tools, call } = offer;
  const options = { capabilities: { tools: {} }, jsonSchemaValidator: validator };
  const server = new Server(
    { name, version },
    { ...options, ...(instructions !== undefined && { instructions }) },
  );
  let failed: { readonly error: unknown } | undefined;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    try {
      return await call(params.name, (params.arguments ?? {}) as JsonObject);
    } catch (error) {
      failed = { error };
      throw error;
    }
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const headers = HEADERS.flatMap((header): [string, string][] => {
      const value = headerOf(req, header);
      return value === undefined ? [] : [[header, value]];
    });
    const request = new Request(
      ownAddress((header) => headerOf(req, header)),
      { method: 'POST', headers },
    );
    const response = await transport.handleRequest(request, { parsedBody: withoutTask(body) });
    if (failed) throw failed.error;
    return jsonAnswer(await response.text(), response.status);
  } finally {
    await server.close();
  }
}

/** Returns the message without the wish to run as a task, which a server without tasks must ignore. The SDK refuses it. */
function withoutTask({ params, ...message }: JsonObject): JsonObject {
  if (params === undefined) return message;
  const { task: _, ...others } = params as JsonObject;
  return { ...message, params: others };
}

/** An error of JSON-RPC. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonObject;
}

/** Returns the answer with an error. Only a message that is none of JSON-RPC has an HTTP status of its own. */
export function errorAnswer(id: JsonValue, error: RpcError): TextAnswer {
  const is_message = error.code !== ErrorCode.InvalidRequest && error.code !== ErrorCode.ParseError;
  return jsonAnswer(JSON.stringify({ jsonrpc: '2.0', id, error }), is_message ? 200 : 400);
}

const jsonAnswer = (body: string, status: number): TextAnswer => ({
  status,
  body,
  headers: { 'Cache-Control': 'no-store' },
});

/** Returns the id of a message, null if it has none that an answer can have. */
export const idOf = ({ id }: JsonObject): JsonValue => (isId(id) ? id! : null);

const isId = (id: JsonValue | undefined): boolean => typeof id === 'string' || Number.isInteger(id);

/** Returns why a message is invalid, undefined if it is valid. */
function faultOf(body: JsonObject, tools: Offer['tools']): RpcError | undefined {
  const { id, method, params } = body;
  if (body.jsonrpc !== '2.0') return fault(ErrorCode.InvalidRequest, 'Invalid jsonrpc: expected "2.0".');
  if (id !== undefined && !isId(id))
    return fault(ErrorCode.InvalidRequest, 'Invalid id: expected a string or an integer.');
  const is_answer = body.result !== undefined || body.error !== undefined;
  if (typeof method !== 'string' && !is_answer)
    return fault(ErrorCode.InvalidRequest, 'Invalid method: expected a string.');
  if (params !== undefined && (typeof params !== 'object' || params === null || Array.isArray(params)))
    return fault(ErrorCode.InvalidParams, 'Invalid params: expected an object.');
  if (typeof method === 'string' && id !== undefined) {
    const schema = Object.hasOwn(REQUESTS, method) ? REQUESTS[method] : undefined;
    if (!schema) return fault(ErrorCode.MethodNotFound, `There is no method ${method}.`);
    const [issue] = schema.safeParse(body).error?.issues ?? [];
    if (issue) return fault(ErrorCode.InvalidParams, textOfIssue(issue));
    const tool = method === 'tools/call' ? params!.name : undefined;
    if (tool !== undefined && !tools.some(({ name }) => name === tool))
      return fault(ErrorCode.InvalidParams, `There is no tool ${tool}.`);
  }
  if (JSONRPCMessageSchema.safeParse(body).success) return undefined;
  return fault(ErrorCode.InvalidRequest, 'The body is not a message of JSON-RPC 2.0.');
}

const fault = (code: ErrorCode, message: string): RpcError => ({ code, message });

/** Returns `Invalid params.name: expected string, received undefined.`. */
export function textOfIssue({ path, message }: z.core.$ZodIssue): string {
  const expected = message.replace(/^Invalid input: /, '').replaceAll('record', 'object');
  return `Invalid ${path.join('.') || 'message'}: ${expected}.`;
}
