import type { Token } from '../api/responses/service';
import { type Clock, realClock } from './clock';
import { type AnswerOf, endpoints, type OperationId } from './endpoints';
import { CatalogApiError } from './errors';
import { type Answer, type Outcome, type Send, sender } from './exchange';
import type { ClientOptions } from './options';
import { type Patience, patiently } from './patience';
import { TokenSource } from './token-source';

/** A call of an operation, before it is a request. */
export interface Call {
  /** Fills `:id` in the path. */
  readonly id?: string;
  readonly query?: object;
  /** Sent as JSON, or as the form that it is. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** An answer of the service whose status is not that of an error. */
export interface Answered<Id extends OperationId> {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined for 304 alone, which only a call with `If-None-Match` can be answered with. */
  readonly body: AnswerOf<Id>;
}

/** Makes calls into requests, with a token, as often as it takes, and refusals into errors. */
export class Transport {
  readonly clock: Clock;
  private readonly base_url: string;
  private readonly api_key: string;
  private readonly store_id: string | undefined;
  private readonly patience: Patience;
  private readonly exchange: Send;
  private readonly tokens: TokenSource;

  constructor(options: ClientOptions) {
    const { baseUrl, clock = realClock, timeoutMs = 30_000 } = options;
    this.base_url = baseUrl.replace(/\/+$/, '');
    this.api_key = options.apiKey;
    this.clock = clock;
    this.store_id = options.storeId;
    this.patience = {
      clock,
      random: options.random ?? Math.random,
      retries: options.retries ?? 4,
      total_ms: options.patienceMs ?? 60_000,
    };
    // A browser's fetch wants the window for its `this`.
    this.exchange = sender(options.fetch ?? ((...request) => fetch(...request)), timeoutMs);
    const { ttlMinutes: ttl_minutes } = options;
    this.tokens = new TokenSource(() => this.issue(ttl_minutes === undefined ? {} : { ttl_minutes }), clock);
  }

  /** The token that calls are sent with just now. */
  token(signal?: AbortSignal): Promise<string> {
    return this.tokens.token(signal);
  }

  /** A call of `/api/*`, with a token and, where it is not named, the client's store. */
  async call<Id extends OperationId>(operation: Id, call: Call): Promise<Answered<Id>> {
    const query = { ...(this.store_id === undefined ? {} : { store_id: this.store_id }), ...call.query };
    let is_renewed = false;
    const attempt = async (): Promise<Outcome> => {
      const token = await this.tokens.token(call.signal);
      const outcome = await this.send(operation, { ...call, query }, { authorization: `Bearer ${token}` });
      if (is_renewed || !isStale(outcome)) return outcome;
      is_renewed = true;
      this.tokens.drop(token);
      return attempt();
    };
    return succeeded(await patiently(attempt, this.patience, call.signal));
  }

  /** A call of `/auth/*`, which brings its own credential. */
  async authenticate<Id extends OperationId>(operation: Id, call: Call): Promise<Answered<Id>> {
    const attempt = () => this.send(operation, call, {});
    return succeeded(await patiently(attempt, this.patience, call.signal));
  }

  async issue(body: object, signal?: AbortSignal): Promise<Token> {
    const headers = { 'x-api-key': this.api_key };
    return (await this.authenticate('issueToken', { body, headers, signal })).body.data;
  }

  private send(operation: OperationId, call: Call, headers: Record<string, string>): Promise<Outcome> {
    const [method, path] = endpoints[operation];
    const { id = '', body } = call;
    const url = `${this.base_url}${path.replace(':id', encodeURIComponent(id))}${queryText(call.query)}`;
    const sent = { method, url, headers: { ...headers, ...call.headers } };
    if (body === undefined) return this.exchange(sent, call.signal);
    if (body instanceof FormData) return this.exchange({ ...sent, body }, call.signal);
    const typed = { ...sent.headers, 'content-type': 'application/json' };
    return this.exchange({ ...sent, headers: typed, body: JSON.stringify(body) }, call.signal);
  }
}

/** `?limit=50&expand=listing,media`; what is undefined is left out. */
function queryText(query: object = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** Refused for the token alone: with a new one it may be taken. */
function isStale(outcome: Outcome): boolean {
  if ('lost' in outcome || outcome.status !== 401) return false;
  const { code } = new CatalogApiError(outcome.status, outcome.headers, outcome.body);
  return code === 'TOKEN_EXPIRED' || code === 'TOKEN_INVALID';
}

function succeeded<Id extends OperationId>(outcome: Outcome): Answered<Id> {
  if ('lost' in outcome) throw outcome.lost;
  const { status, headers, body }: Answer = outcome;
  if (status >= 400) throw new CatalogApiError(status, headers, body);
  return { status, headers, body: body as AnswerOf<Id> };
}
