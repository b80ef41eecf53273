import { CatalogConnectionError } from './errors.js';
import type { FetchOptions } from './options.js';
import { isBrowser } from './options.js';

/** An HTTP request. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
  /** Further options of `fetch`. Headers in it are replaced by `headers` of the same name. */
  readonly fetch_options?: FetchOptions;
  /** Whether it is a write of `/api`, which the service does not allow from web pages. Default: false. */
  readonly is_write?: boolean;
}

/** An HTTP response whose body has been read. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON. Undefined if the body is empty, or if an error response is not JSON. */
  readonly body: unknown;
}

/** No valid response arrived. The service may or may not have carried out the request. */
export interface LostResponse {
  readonly lost: CatalogConnectionError;
  /** Set if the same request will fail again. */
  readonly is_final?: true;
}

export type Outcome = HttpResponse | LostResponse;

export type Send = (request: HttpRequest, signal?: AbortSignal) => Promise<Outcome>;

/** An upload has this many times the timeout of other requests. */
const UPLOAD_TIMEOUT_FACTOR = 10;

/**
 * Returns a function that sends a request by `fetch` and waits at most `timeout_ms`. It rejects only if the signal is
 * aborted.
 */
export function createSender(fetch_: typeof fetch, timeout_ms: number): Send {
  return async (
    { method, url, headers: own_headers, body, fetch_options = {}, is_write = false },
    signal,
  ) => {
    const timeout = AbortSignal.timeout(
      body instanceof FormData ? timeout_ms * UPLOAD_TIMEOUT_FACTOR : timeout_ms,
    );
    // The names are in lower case, so own headers replace others.
    const headers = { ...fetch_options.headers, ...own_headers };
    const init = { ...fetch_options, method, headers, ...(body === undefined ? {} : { body }) };
    try {
      const abort_signal = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      const response = await fetch_(url, { ...init, signal: abort_signal });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: parse(response.ok, text) };
    } catch (cause) {
      signal?.throwIfAborted();
      if (is_write && isProbablyCors(cause))
        return { lost: new CatalogConnectionError(corsMessage(method, url), { cause }), is_final: true };
      const message = `No valid response to ${method} ${url}: ${reasonOf(cause)}`;
      return { lost: new CatalogConnectionError(message, { cause }) };
    }
  };
}

/**
 * Returns why a request failed. `fetch` of Node.js has the reason in `cause`: an error, or one for each address of the
 * host. Browsers do not show it to scripts.
 */
function reasonOf(error: unknown): string {
  const { message, cause, errors } = Object(error) as Partial<AggregateError>;
  if (cause !== undefined) return reasonOf(cause);
  if (Array.isArray(errors)) return errors.map(reasonOf).join(', ');
  return message || String(error);
}

/**
 * Parses the body of a response. The service always sends JSON, but a gateway may send an error response that is not JSON.
 * Returns undefined for such an error response. Throws if a successful response is not JSON.
 */
function parse(ok: boolean, text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (ok) throw error;
    return undefined;
  }
}

/**
 * Whether a browser has probably refused a request because of CORS. `fetch` then rejects with a `TypeError` without a
 * reason. It rejects with the same error if the connection failed.
 */
function isProbablyCors(cause: unknown): boolean {
  return cause instanceof TypeError && isBrowser();
}

/** Explains to a developer why a write failed in a browser. */
function corsMessage(method: string, url: string): string {
  return (
    `The browser did not complete ${method} ${url}. The service does not allow writes from web pages (CORS), ` +
    'because secret keys are for servers. Send the write to your own server, and from there to the catalog. If a ' +
    'gateway allows writes from this page, check the connection and try again.'
  );
}
