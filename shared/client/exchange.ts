import { CatalogConnectionError } from './errors';

/** An HTTP request. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
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
  return async ({ method, url, headers, body }, signal) => {
    const timeout = AbortSignal.timeout(
      body instanceof FormData ? timeout_ms * UPLOAD_TIMEOUT_FACTOR : timeout_ms,
    );
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    try {
      const abort_signal = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      const response = await fetch_(url, { ...init, signal: abort_signal });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: parse(response.ok, text) };
    } catch (cause) {
      signal?.throwIfAborted();
      return { lost: new CatalogConnectionError(`No valid response to ${method} ${url}`, { cause }) };
    }
  };
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
