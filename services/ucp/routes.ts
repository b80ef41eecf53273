import type { JsonValue } from '../../shared/catalog/events/envelope';
import { readBody } from '../../shared/http/body';
import type { AddressRule } from '../../shared/http/outgoing';
import type { Limits } from '../../shared/http/rate-limit';
import { type HttpRequest, headerOf, ownAddress, type Principal } from '../../shared/http/request';
import { etagOf } from '../../shared/http/respond';
import type { PublicRoute, Route, TextAnswer } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import type { ConnectShop } from '../web/shops';
import { OPERATIONS } from './catalog';
import { Platforms } from './platforms';
import { profileOf } from './profile';
import { incompatible, TransportError } from './protocol';
import { Reader } from './reader';

export interface UcpOptions {
  /** The routes of the reads of `/api`. */
  readonly routes: readonly Route[];
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
  private readonly platforms: Platforms;

  constructor(private readonly options: UcpOptions) {
    const reads = options.routes.filter(({ method }) => method === 'GET');
    this.reads = new Map(reads.map((route) => [route.path, route]));
    this.platforms = new Platforms(options.rule);
  }

  async answerProfile(req: HttpRequest): Promise<TextAnswer> {
    await this.keyOf(req);
    const body = JSON.stringify(profileOf(addressOf(req)));
    return { body, headers: { 'Cache-Control': 'public, max-age=3600', ETag: etagOf(undefined, body) } };
  }

  async answerRest(operation: Operation, req: HttpRequest, request_id: string): Promise<TextAnswer> {
    try {
      await this.admit(req);
      const profile = PROFILE.exec(headerOf(req, 'ucp-agent') ?? '')?.[1];
      return jsonAnswer(await this.run(operation, req, request_id, profile, await readBody(req)));
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
      return await answerPlatform(req, body, (operation, profile, catalog) =>
        this.run(operation, req, request_id, profile, catalog),
      );
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

  /** Runs an operation. `profile` is the address of the platform's profile, as the request names it. */
  private async run(
    { capability, run }: Operation,
    req: HttpRequest,
    request_id: string,
    profile: unknown,
    body: unknown,
  ): Promise<object> {
    const key = await this.keyOf(req);
    const base_url = addressOf(req);
    if (!(await this.platforms.supports(profile, capability))) return incompatible(base_url);
    // The key is that of the merchant. The platform cannot do anything about it.
    const principal = await this.options.principalOf(key).catch((cause: unknown) => {
      throw new CatalogError('unavailable', { cause });
    });
    const reader = new Reader(this.reads, principal, request_id);
    return run({ reader, base_url, now: this.options.now() }, body);
  }
}

const addressOf = (req: HttpRequest): string => ownAddress((name) => headerOf(req, name));

const jsonAnswer = (body: object, status = 200, headers: Record<string, string> = {}): TextAnswer => ({
  status,
  body: JSON.stringify(body),
  headers: { 'Cache-Control': 'no-store', ...headers },
});

/** Returns the transport error for an error. Throws errors that are none: the pipeline logs them. */
function transportErrorOf(error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  if (error instanceof CatalogError) return TransportError.of(error);
  throw error;
}
