import { RUN_NAME } from '../../shared/api/headers';
import { isApiKeyText } from '../../shared/catalog/api-key/api-key';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { bearerOf } from '../../shared/http/auth';
import { readBody } from '../../shared/http/body';
import type { Limits } from '../../shared/http/rate-limit';
import { type HttpRequest, headerOf, isSecure, type Principal } from '../../shared/http/request';
import type { PublicRoute, TextAnswer } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import { generateId } from '../../shared/kernel/ids';
import type { System } from '../../shared/kernel/system';
import { VERSION } from '../../shared/kernel/version';
import { type CallOptions, callTool } from './calls';
import { instructionsFor } from './instructions';
import { toolsByName } from './tools';

export interface McpOptions extends CallOptions {
  /** Returns the principal of a token. Rejects as the authentication of `/api` does. */
  readonly authenticate: (token: string) => Promise<Principal>;
  /** Returns a token for an API key. */
  readonly tokenOf: (api_key: string) => Promise<string>;
  readonly limits: Pick<Limits, 'takeRead' | 'takeKey'>;
  readonly system: System;
}

/** The client of a request: its secret key, and the headers that its requests to the service have in common. */
interface Client {
  readonly principal: Principal;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Builds the route of the Model Context Protocol for assistants of merchants (docs/mcp.md). Each tool is an operation of `/api`.
 * A call becomes a request to the service, so all rules of `/api` hold.
 */
export function mcpRoute(options: McpOptions): PublicRoute {
  return {
    path: '/mcp',
    methods: ['POST'],
    serve: async (req, _params, request_id) =>
      answerCounted(options, await identify(options, req, request_id), req),
  };
}

/**
 * Authenticates a request by a token or a secret key. Without a valid one, the request counts against the limit of its
 * address.
 */
async function identify(options: McpOptions, req: HttpRequest, request_id: string): Promise<Client> {
  try {
    const credential = bearerOf(headerOf(req, 'authorization')) ?? headerOf(req, 'x-api-key');
    if (!credential) throw new CatalogError('unauthenticated', { message: CREDENTIAL_NEEDED });
    const token = isApiKeyText(credential) ? await options.tokenOf(credential) : credential;
    const principal = await options.authenticate(token);
    if (principal.key_type === 'public')
      throw new CatalogError('insufficient_permissions', { message: 'This requires a secret key' });
    const host = headerOf(req, 'host');
    const headers = {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json, application/x-ndjson, text/csv',
      'X-Request-Id': request_id,
      // Addresses in answers are those that the client can reach.
      ...(host !== undefined && { Host: host }),
      'X-Forwarded-Proto': isSecure((name) => headerOf(req, name)) ? 'https' : 'http',
    };
    return { principal, headers };
  } catch (error) {
    await admit(options.limits.takeRead(req));
    throw error;
  }
}

const CREDENTIAL_NEEDED =
  'A secret API key is required: in the header X-API-Key, or in the Authorization header as a bearer token';

async function admit(taking: ReturnType<Limits['takeRead']>): Promise<void> {
  const { allowed, retry_after_s } = await taking;
  if (!allowed) throw new CatalogError('rate_limited', { retry_after_s });
}

function sessionOf(req: HttpRequest): string | undefined {
  const session = headerOf(req, 'mcp-session-id');
  if (session === undefined || RUN_NAME.test(session)) return session;
  throw new CatalogError('malformed_request', {
    message: 'Invalid Mcp-Session-Id: send the one of the answer to initialize',
  });
}

/** Answers a message. A message that sends no request to the service, also an invalid one, counts as a request of the key. */
async function answerCounted(options: McpOptions, client: Client, req: HttpRequest): Promise<TextAnswer> {
  let is_sent = false;
  const onSend = (): void => {
    is_sent = true;
  };
  try {
    return await answer(options, client, req, onSend);
  } finally {
    // A request to the service counts itself.
    if (!is_sent) await admit(options.limits.takeKey(client.principal));
  }
}

async function answer(
  options: McpOptions,
  { principal, headers }: Client,
  req: HttpRequest,
  onSend: () => void,
): Promise<TextAnswer> {
  // Loaded by the first request: it takes a quarter of a second and 9 MB, which a service without agents need not pay.
  const { answerMessage, errorAnswer, idOf } = require('./messages') as typeof import('./messages');
  const { system } = options;
  const body = await readMessage(req);
  if (body instanceof CatalogError) return errorAnswer(null, { code: PARSE_ERROR, message: body.message });
  const tools = [...toolsByName().values()].filter(({ permissions }) =>
    permissions.every((permission) => principal.permissions.includes(permission)),
  );
  const names = new Set(tools.map(({ listed }) => listed.name));
  const new_run = body.method === 'initialize' ? newRun(body, system) : undefined;
  const run = new_run ?? sessionOf(req);
  const answered = await answerMessage(req, body, {
    name: 'catalog-service',
    version: VERSION,
    ...(new_run !== undefined && { instructions: instructionsFor(names, principal.stores, new_run) }),
    tools: tools.map(({ listed }) => listed),
    call: (name, sent) => {
      const id = JSON.stringify(idOf(body));
      const session = run === undefined ? {} : { run, id };
      return callTool(options, toolsByName().get(name)!, sent, { ...session, headers, onSend });
    },
  });
  return new_run === undefined
    ? answered
    : { ...answered, headers: { ...answered.headers, 'Mcp-Session-Id': new_run } };
}

/** The code of JSON-RPC for a body that is no JSON. */
const PARSE_ERROR = -32700;

/** Returns the body, or the error if it is not a JSON object. */
async function readMessage(req: HttpRequest): Promise<JsonObject | CatalogError> {
  try {
    return await readBody(req);
  } catch (error) {
    if (error instanceof CatalogError && error.condition === 'malformed_request') return error;
    throw error;
  }
}

const SLUG_LENGTH_MAX = 40;

/** Returns the name of a new run: that of the client, such as `claude-code`, and a UUID. */
function newRun({ params }: JsonObject, { now, random }: System): string {
  const { clientInfo } = (params ?? {}) as { readonly clientInfo?: { readonly name?: unknown } };
  const client = typeof clientInfo?.name === 'string' ? clientInfo.name : '';
  const slug = client
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_LENGTH_MAX)
    .replace(/^-|-$/g, '')
    .replace(/^(undo(-|$))+/, '');
  return `${slug || 'assistant'}-${generateId(now(), random)}`;
}
