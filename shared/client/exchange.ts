import { CatalogConnectionError } from './errors';

/** One request as it is sent. */
export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
}

/** One answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON; undefined where there is none. */
  readonly body: unknown;
}

/** Nobody knows whether the service got it. */
export interface Lost {
  readonly lost: CatalogConnectionError;
}

export type Outcome = Answer | Lost;

export type Send = (request: Outgoing, signal?: AbortSignal) => Promise<Outcome>;

/** An upload may take as much longer than a request without a file. */
const UPLOAD_TIMES = 10;

/** Sends over `fetch`; a request takes at most `timeout_ms`. Rejects only where the signal is aborted. */
export function sender(fetch_: typeof fetch, timeout_ms: number): Send {
  return async ({ method, url, headers, body }, signal) => {
    const timeout = AbortSignal.timeout(body instanceof FormData ? timeout_ms * UPLOAD_TIMES : timeout_ms);
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    try {
      const ends = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      const response = await fetch_(url, { ...init, signal: ends });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: parse(response.ok, text) };
    } catch (cause) {
      signal?.throwIfAborted();
      return { lost: new CatalogConnectionError(`No answer to ${method} ${url}`, { cause }) };
    }
  };
}

/** A refusal may be a gateway's, in words of its own; a success that is no JSON is not the service's. */
function parse(ok: boolean, text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (ok) throw error;
    return undefined;
  }
}
