import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { writeJson } from '../../shared/catalog/json-text';
import { readBody } from '../../shared/http/body';
import type { AddressRule } from '../../shared/http/outgoing';
import type { Limits } from '../../shared/http/rate-limit';
import { type HttpRequest, headerOf, ownAddress, type Principal } from '../../shared/http/request';
import { encode, etagOf, type Render } from '../../shared/http/respond';
import type { Answer, PublicAnswer, PublicRoute, Reply, Route, TextAnswer } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import type { ConnectShop } from '../web/shops';
import { OPERATIONS } from './catalog';
import { Platforms } from './platforms';
import { profileOf } from './profile';
import { incompatible, TransportError } from './protocol';
import { Reader, textOf } from './reader';

export interface UcpOptions {
  /** The routes of the reads of `/api`. */
  readonly routes: readonly Route[];
  /** Wraps a route by the edge cache, if there is one. `render` makes the text of its answers. */
  readonly inFrontOf: (route: Route, render: Render) => Route;
  readonly connectShop: ConnectShop;
  readonly principalOf: (public_key: string) => Promise<Principal>;
  readonly limits: Limits;
  readonly now: () => number;
  /** Which addresses the profiles of platforms may have. */
  readonly rule: AddressRule;
}

type Operation = (typeof OPERATIONS)[number];

/**
 * Builds the routes of the Universal Commerce Protocol (docs/ucp.md): the profile of the business, and its operations by REST
 * and MCP. They show the store of the host's key as the shop does. They are 404 for a host without a store.
 */
export function ucpRoutes(options: UcpOptions): PublicRoute[] {
  const business = new Business(options);
  const rest = OPERATIONS.map(
    (operation): PublicRoute => ({
      path: `/ucp/catalog${operation.path}`,
      methods: ['POST'],
      serve: (req, _params, request_id) => business.answerRest(operation, req, request_id),
    }),
  );
  const mcp: PublicRoute = {
    path: '/ucp/mcp',
    methods: ['POST'],
    serve: (req, _params, request_id) => business.answerMcp(req, request_id),
  };
  return [...rest, mcp, { path: '/.well-known/ucp', serve: (req) => business.answerProfile(req) }];
}

const PROFILE = /\bprofile="([^"]*)"/;

class Business {
  private readonly reads: ReadonlyMap<string, Route>;
  private readonly operations: ReadonlyMap<Operation, Route>;
  private readonly platforms: Platforms;

  constructor(private readonly options: UcpOptions) {
    const reads = options.routes.filter(({ method }) => method === 'GET');
    this.reads = new Map(reads.map((route) => [route.path, route]));
    this.operations = new Map(OPERATIONS.map((operation) => [operation, this.routeOf(operation)]));
    this.platforms = new Platforms(options.rule);
  }

  async answerProfile(req: HttpRequest): Promise<TextAnswer> {
    await this.keyOf(req);
    const body = JSON.stringify(profileOf(addressOf(req)));
    return { body, headers: { 'Cache-Control': 'public, max-age=3600', ETag: etagOf(undefined, body) } };
  }

  async answerRest(operation: Operation, req: HttpRequest, request_id: string): Promise<PublicAnswer> {
    try {
      await this.admit(req);
      const profile = PROFILE.exec(headerOf(req, 'ucp-agent') ?? '')?.[1];
      const encoding = headerOf(req, 'accept-encoding');
      const reply = await this.run(operation, req, request_id, profile, await readBody(req), encoding);
      return { data: null, reply };
    } catch (thrown) {
      const error = transportErrorOf(thrown);
      return jsonAnswer(error.body(addressOf(req)), error.status, error.headers);
    }
  }

  async answerMcp(req: HttpRequest, request_id: string): Promise<TextAnswer> {
    // Loaded by the first request: it takes a quarter of a second and 9 MB, which a service without agents need not pay.
    const { answerPlatform } = require('./mcp') as typeof import('./mcp');
    const { idOf } = require('../mcp/messages') as typeof import('../mcp/messages');
    let id: JsonValue = null;
    try {
      await this.admit(req);
      const body = await readBody(req);
      id = idOf(body);
      await this.keyOf(req);
      return await answerPlatform(req, body, async (operation, profile, catalog) => {
        const reply = await this.run(operation, req, request_id, profile, catalog);
        return JSON.parse(textOf(reply));
      });
    } catch (thrown) {
      const error = transportErrorOf(thrown);
      const answer = { jsonrpc: '2.0', id, error: error.rpcError(addressOf(req)) };
      return jsonAnswer(answer, error.rpc_status, error.headers);
    }
  }

  /** Returns the public key of the store that the host shows. Throws `path_not_found` if it shows none. */
  private async keyOf(req: HttpRequest): Promise<string> {
    const connection = await this.options.connectShop(headerOf(req, 'host'));
    if (!connection) throw new CatalogError('path_not_found');
    return connection.public_key;
  }

  /** Counts the request for the rate limit of its address. */
  private async admit(req: HttpRequest): Promise<void> {
    const { allowed, retry_after_s } = await this.options.limits.takeRead(req);
    if (!allowed) throw new CatalogError('rate_limited', { retry_after_s });
  }

  /**
   * Returns the operation as a read whose parameters are all that its answer depends on besides documents: when a sale
   * begins or ends, a document changes. Answers of `get_product` are not stored, because each one counts as a view.
   */
  private routeOf({ name, run }: Operation): Route {
    const route: Route = {
      ...{ method: 'GET', path: name, permission: 'read:publications' },
      handler: async ({ principal, request_id, query, body, header }) => {
        const reader = new Reader(this.reads, principal, request_id);
        const languages = header('accept-language');
        const visit = { reader, base_url: query.base_url![0]!, now: this.options.now(), languages };
        const data = (await run(visit, body)) as Answer['data'];
        return { data, ...reader.dependencies };
      },
    };
    return name === 'get_product' ? route : this.options.inFrontOf(route, render);
  }

  /** Runs an operation. `profile` is the address of the platform's profile, as the request names it. */
  private async run(
    operation: Operation,
    req: HttpRequest,
    request_id: string,
    profile: unknown,
    body: unknown,
    accept_encoding?: string,
  ): Promise<Reply> {
    const key = await this.keyOf(req);
    const base_url = addressOf(req);
    const encoded = async (answer: Answer) => answer.reply ?? encode(accept_encoding, await render(answer));
    if (!(await this.platforms.supports(profile, operation.capability)))
      return encoded({ data: incompatible(base_url) as unknown as Answer['data'] });
    // The key is that of the merchant. The platform cannot do anything about it.
    const principal = await this.options.principalOf(key).catch((cause: unknown) => {
      throw new CatalogError('unavailable', { cause });
    });
    const headers: Readonly<Record<string, string | undefined>> = {
      'accept-encoding': accept_encoding,
      'accept-language': headerOf(req, 'accept-language'),
    };
    // HEAD: a search is no view of a product.
    const answer = await this.operations.get(operation)!.handler({
      ...{ method: 'HEAD', principal, params: {}, body: body as JsonObject, request_id },
      query: { base_url: [base_url], body: [JSON.stringify(body)] },
      answer_by_ms: Number.POSITIVE_INFINITY,
      assertAwaited: () => {},
      header: (name) => headers[name],
    });
    return encoded(answer);
  }
}

/** Writes an answer without the envelope of `/api`. */
const render: Render = async ({ data }) => ({ status: 200, headers: HEADERS, body: writeJson(data) });

const HEADERS = { 'Cache-Control': 'no-store' };

const addressOf = (req: HttpRequest): string => ownAddress((name) => headerOf(req, name));

const jsonAnswer = (body: object, status = 200, headers: Record<string, string> = {}): TextAnswer => ({
  status,
  body: JSON.stringify(body),
  headers: { ...HEADERS, ...headers },
});

/** Returns the transport error for an error. Throws errors that are none: the pipeline logs them. */
function transportErrorOf(error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  if (error instanceof CatalogError) return TransportError.of(error);
  throw error;
}
