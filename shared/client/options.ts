import type { Token, WriteQuery } from './api.js';
import type { Clock } from './clock.js';

/**
 * Options that are passed to `fetch`, such as `credentials`, `redirect`, `headers`, or `next: { revalidate: 60 }` of
 * Next.js. The client itself sets the method, the body and the signal, and its own headers replace those of the same name.
 */
export type FetchOptions = Readonly<Omit<RequestInit, 'method' | 'body' | 'signal'>> & {
  readonly cache?: 'default' | 'force-cache' | 'no-cache' | 'no-store' | 'only-if-cached' | 'reload';
  /** For Next.js: how long, in seconds, and under which tags its cache keeps the response. */
  readonly next?: { revalidate?: number | false; tags?: string[] } | undefined;
};

export interface ClientOptions {
  /** Base URL of the service with its scheme, such as `https://catalog.example.com`. May contain a path. */
  readonly baseUrl: string;
  /**
   * Use a public key (`pk_`) in browsers. Use a secret key (`sk_`) only on servers: in a browser, the constructor throws
   * `TypeError`. Pass either `apiKey` or `getToken`.
   */
  readonly apiKey?: string;
  /**
   * Returns a new token, for a page whose server keeps the key: its server asks `POST /auth/token`. The client calls it when it
   * needs a token, and again before the token expires.
   */
  readonly getToken?: () => Promise<Token>;
  /** Whether a secret key may be used in a browser, for a page that only its owner can open. Default: false. */
  readonly dangerouslyAllowBrowser?: boolean;
  /**
   * Base of the addresses of pictures, such as `https://cdn.example.com`, if browsers do not reach the service at
   * `baseUrl`. Default: `baseUrl`.
   */
  readonly mediaBaseUrl?: string;
  /** Store to use if a call does not pass `store_id`. Default: the first of the key's stores. */
  readonly storeId?: string;
  /**
   * Default of `ListOptions.consistent`: whether reads wait until they include this client's writes, and the changes that
   * it has read. Default: false.
   */
  readonly consistent?: boolean;
  /** The run that the client's writes belong to (docs/interface/runs.md). Default: none. */
  readonly run?: string;
  /** Lifetime of the client's tokens in minutes, 1 to 60. Default: 15, set by the service. */
  readonly ttlMinutes?: number;
  /** Maximum number of retries after a connection error, a timeout or a 5xx. Default: 4. */
  readonly retries?: number;
  /**
   * Maximum time in milliseconds that one call waits between its requests, for rate limits and retries together. A
   * call that would have to wait longer fails at once. Default: 60,000.
   */
  readonly retryForMs?: number;
  /** Timeout of one request in milliseconds. An upload may take ten times as long. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Function that sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /**
   * Options of `fetch` for every request. `cache` and `next` are only used for reads, because a token or the response of a
   * write must not come from a cache.
   */
  readonly fetchOptions?: FetchOptions;
  /** Source of time, for tests. Default: the system clock. */
  readonly clock?: Clock;
  /** Returns a number from 0 to below 1. Randomises the waits before retries. Default: `Math.random`. */
  readonly random?: () => number;
}

/**
 * Throws `TypeError` for settings that are empty or of another type, because a program may not be compiled with these types,
 * and for a secret key in a browser.
 */
export function assertOptions(
  options: Partial<Readonly<Record<keyof ClientOptions, unknown>>> | null = {},
): void {
  const { apiKey, getToken, baseUrl, dangerouslyAllowBrowser = false } = options ?? {};
  if (getToken === undefined && (typeof apiKey !== 'string' || apiKey === ''))
    throw new TypeError('apiKey is missing: pass a public (pk_…) or secret key (sk_…).');
  if (getToken !== undefined && (typeof getToken !== 'function' || apiKey !== undefined))
    throw new TypeError('getToken must be a function, and replaces apiKey.');
  if (typeof baseUrl !== 'string' || baseUrl === '')
    throw new TypeError(
      'baseUrl is missing: pass the address of the service, such as http://localhost:8080.',
    );
  if (!/^https?:\/\/[^/?#]/i.test(baseUrl)) {
    const example = /^[\w.-]+(:\d+)?(\/|$)/.test(baseUrl) ? `, such as http://${baseUrl}` : '';
    throw new TypeError(`baseUrl must begin with http:// or https://${example}.`);
  }
  if (typeof apiKey === 'string' && apiKey.startsWith('sk_') && isBrowser() && !dangerouslyAllowBrowser)
    throw new TypeError(
      'A secret key (sk_) does not belong in a browser: everybody who opens the page can read it and change the ' +
        'catalog. Use a public key (pk_) here, and send writes from your server. If only you can open the page, set ' +
        'dangerouslyAllowBrowser to true.',
    );
}

/** Whether the code runs in a page of a browser. */
export const isBrowser = (): boolean => 'window' in globalThis && 'document' in globalThis;

/** Options of every call. */
export interface CallOptions {
  /** Cancels the call, also while it waits. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Options of `fetch` for the requests of this call, in addition to those of the client. */
  readonly fetchOptions?: FetchOptions;
}

/** Options of a call that reads a list. */
export interface ListOptions extends CallOptions {
  /**
   * `true`: the result includes all earlier writes of this client, and all changes that it has read. A string: it includes the write at that position,
   * such as another client's `position`. The service waits for that state up to 2 s. Default:
   * `ClientOptions.consistent`.
   */
  readonly consistent?: boolean | string;
}

/** Options of a call that reads one resource. */
export interface ReadOptions<Resource extends object> extends ListOptions {
  /**
   * Result of an earlier call with the same id and query. If the resource has not changed, the service sends no body
   * and the call returns the object in `cached` itself.
   */
  readonly cached?: Resource;
}

/** Options of a call that writes. */
export interface WriteOptions extends CallOptions, Readonly<WriteQuery> {
  /** `Idempotency-Key` of the write: the service carries out one write per key. Default: a random key for each call. */
  readonly idempotencyKey?: string;
  /**
   * Expected version: a resource that this client returned, or an ETag. The call rejects with 412 `CONFLICT` if the
   * resource has changed since.
   */
  readonly ifMatch?: object | string;
  /** The run that the write belongs to. Default: `ClientOptions.run`. */
  readonly run?: string;
  /** Whether the service responds without waiting until reads include the write (up to 1 s). Default: false. */
  readonly respondAsync?: boolean;
}

/**
 * Returns the options of `fetch` for a request: those of the call, and those of the client that the call does not set.
 * `cache` and `next` exclude each other, so a call that sets one of them replaces both. Only a GET gets `cache` and
 * `next`, because a token or the response of a write must not come from a cache.
 */
export function mergeFetchOptions(
  method: string,
  of_client: FetchOptions,
  of_call: FetchOptions,
): FetchOptions {
  const headers = { ...withLowerCaseNames(of_client), ...withLowerCaseNames(of_call) };
  const replaces_caching = of_call.cache !== undefined || of_call.next !== undefined;
  const defaults = replaces_caching ? withoutCaching(of_client) : of_client;
  const merged = { ...defaults, ...of_call, headers };
  return method === 'GET' ? merged : withoutCaching(merged);
}

const withoutCaching = ({ cache, next, ...others }: FetchOptions): FetchOptions => others;

const withLowerCaseNames = ({ headers }: FetchOptions): Record<string, string> =>
  Object.fromEntries(new Headers(headers));
