import { endpoints, type Token } from './api.js';
import { type Clock, realClock } from './clock.js';
import { CatalogApiError } from './errors.js';
import { createSender, type HttpResponse, type Outcome, type Send } from './exchange.js';
import { makeMediaAbsolute } from './media-addresses.js';
import type { AnswerOf, OperationId } from './operations.js';
import {
  assertOptions,
  type CallOptions,
  type ClientOptions,
  type FetchOptions,
  mergeFetchOptions,
} from './options.js';
import { type RetryPolicy, withRetries } from './retry-policy.js';
import { TokenSource } from './token-source.js';

/** A call of an operation, before it is encoded as an HTTP request. */
export interface Call {
  /** Replaces `:id`, or another name of the resource, in the path. */
  readonly id?: string;
  /** Replaces `:revision` in the path. */
  readonly revision?: number;
  readonly query?: object;
  /** Sent as JSON, or as `multipart/form-data` if it is a `FormData`. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly options?: CallOptions | undefined;
}

/** A response with a status below 400. */
export interface OperationResponse<Id extends OperationId> {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined only for 304, which the service sends only if the call has `If-None-Match`. */
  readonly body: AnswerOf<Id>;
}

/**
 * Sends calls as HTTP requests: adds the token, retries by the retry policy, and throws `CatalogApiError` for errors.
 */
export class Transport {
  readonly clock: Clock;
  private readonly base_url: string;
  private readonly media_base_url: string;
  private readonly api_key: string | undefined;
  private readonly store_id: string | undefined;
  private readonly policy: RetryPolicy;
  private readonly fetch_options: FetchOptions;
  private readonly exchange: Send;
  private readonly tokens: TokenSource;

  constructor(options: ClientOptions) {
    assertOptions(options);
    const { baseUrl, clock = realClock, timeoutMs = 30_000 } = options;
    this.base_url = withoutSlash(baseUrl);
    this.media_base_url = withoutSlash(options.mediaBaseUrl ?? baseUrl);
    this.api_key = options.apiKey;
    this.fetch_options = options.fetchOptions ?? {};
    this.clock = clock;
    this.store_id = options.storeId;
    this.policy = {
      clock,
      random: options.random ?? Math.random,
      retries: options.retries ?? 4,
      total_ms: options.retryForMs ?? 60_000,
    };
    // In a browser, `fetch` fails if it is called with another `this` than the window.
    this.exchange = createSender(options.fetch ?? ((...request) => fetch(...request)), timeoutMs);
    const { ttlMinutes: ttl_minutes, getToken } = options;
    const issue = () => this.issue(ttl_minutes === undefined ? {} : { ttl_minutes });
    this.tokens = new TokenSource(getToken ?? issue, clock);
  }

  /** Returns the token that calls are sent with. */
  token(signal?: AbortSignal): Promise<string> {
    return this.tokens.token(signal);
  }

  /** Sends a call of `/api/*` with a token, and with the client's `storeId` if the call has no `store_id`. */
  async call<Id extends OperationId>(operation: Id, call: Call): Promise<OperationResponse<Id>> {
    const query = { ...(this.store_id === undefined ? {} : { store_id: this.store_id }), ...call.query };
    let is_renewed = false;
    const attempt = async (): Promise<Outcome> => {
      const token = await this.tokens.token(call.options?.signal);
      const outcome = await this.send(operation, { ...call, query }, { authorization: `Bearer ${token}` });
      if (is_renewed || !isTokenRejected(outcome, this.api_key === undefined)) return outcome;
      is_renewed = true;
      this.tokens.discard(token);
      return attempt();
    };
    const response = assertSuccess<Id>(await withRetries(attempt, this.policy, call.options?.signal));
    makeMediaAbsolute(response.body, this.media_base_url);
    return response;
  }

  /** Sends a call of `/auth/*`. Its credential is in `call.headers`. */
  async authenticate<Id extends OperationId>(operation: Id, call: Call): Promise<OperationResponse<Id>> {
    const attempt = () => this.send(operation, call, {});
    return assertSuccess(await withRetries(attempt, this.policy, call.options?.signal));
  }

  /** Exchanges the client's API key for a token. Rejects with `TypeError` if the client has no key. */
  async issue(body: object, options?: CallOptions): Promise<Token> {
    if (this.api_key === undefined)
      throw new TypeError('The client has getToken, and no key to issue a token for.');
    const headers = { 'x-api-key': this.api_key };
    return (await this.authenticate('issueToken', { body, headers, options })).body.data;
  }

  private send(operation: OperationId, call: Call, headers: Record<string, string>): Promise<Outcome> {
    const [method, path] = endpoints[operation];
    const { id = '', revision, body, options = {} } = call;
    const address = path.replace(/:\w+/, encodeURIComponent(id)).replace(':revision', String(revision));
    const url = `${this.base_url}${address}${queryText(call.query)}`;
    const fetch_options = mergeFetchOptions(method, this.fetch_options, options.fetchOptions ?? {});
    const is_write = method !== 'GET' && path.startsWith('/api/');
    const request = { method, url, headers: { ...headers, ...call.headers }, fetch_options, is_write };
    if (body === undefined) return this.exchange(request, options.signal);
    if (body instanceof FormData) return this.exchange({ ...request, body }, options.signal);
    const json_headers = { ...request.headers, 'content-type': 'application/json' };
    return this.exchange({ ...request, headers: json_headers, body: JSON.stringify(body) }, options.signal);
  }
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** Returns a query such as `?limit=50&tag=new&tag=sale`. Omits undefined values. */
function queryText(query: object = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) parameters.append(name, String(one));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * Whether the service rejected only the token. The request may then succeed with a new token. `has_get_token`: the next token
 * may belong to another key, so that it also replaces a token whose key was revoked.
 */
function isTokenRejected(outcome: Outcome, has_get_token: boolean): boolean {
  if ('lost' in outcome || outcome.status !== 401) return false;
  const { code } = new CatalogApiError(outcome.status, outcome.headers, outcome.body);
  const is_revoked = code === 'REVOKED_API_KEY';
  return code === 'TOKEN_EXPIRED' || code === 'TOKEN_INVALID' || (is_revoked && has_get_token);
}

/**
 * Returns the response of a call. Throws `CatalogConnectionError` if there is none, and `CatalogApiError` for an
 * error.
 */
function assertSuccess<Id extends OperationId>(outcome: Outcome): OperationResponse<Id> {
  if ('lost' in outcome) throw outcome.lost;
  const { status, headers, body }: HttpResponse = outcome;
  if (status >= 400) throw new CatalogApiError(status, headers, body);
  return { status, headers, body: body as AnswerOf<Id> };
}
