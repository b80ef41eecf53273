import type { z } from 'zod';
import type { writeQuerySchema } from '../api/requests/writes';
import type { Clock } from './clock';

export interface ClientOptions {
  /** Where the service is, such as `https://catalog.example.com`; a path in it is kept. */
  readonly baseUrl: string;
  /** A public key in a browser; a secret key on a server alone. */
  readonly apiKey: string;
  /** The store that is meant where a call names none. Default: the first of the key's stores. */
  readonly storeId?: string;
  /** Whether every read waits until it shows the client's own writes. Default: false; see `ListOptions.consistent`. */
  readonly consistent?: boolean;
  /** How long the tokens live that the client gets for itself, 1 to 60. Default: the service's, 15. */
  readonly ttlMinutes?: number;
  /** How often a request is sent again after no answer or a 5xx. Default: 4. */
  readonly retries?: number;
  /** How long one call waits in all, between its requests: for a rate limit, and before retries. Default: 60,000. */
  readonly patienceMs?: number;
  /** How long one request may take; an upload ten times as long. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** From 0 to below 1; spreads the waits of many clients. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Of every call. */
export interface CallOptions {
  /** Ends the call, its waits included: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Of a call that reads a list. */
export interface ListOptions extends CallOptions {
  /**
   * Whether what is read must show what the client wrote before (`true`), or what was written at a position that was
   * passed on from elsewhere (`client.position`). Default: the client's option.
   */
  readonly consistent?: boolean | string;
}

/** Of a call that reads a resource. */
export interface ReadOptions<Resource extends object> extends ListOptions {
  /** What an earlier call gave for the very same query: where nothing changed, it is given back, and not sent again. */
  readonly known?: Resource;
}

/** Of a call that writes. */
export interface WriteOptions extends CallOptions, Readonly<Partial<z.output<typeof writeQuerySchema>>> {
  /** What the service knows repetitions by. Default: a new one for each call, so that retries write once. */
  readonly idempotencyKey?: string;
  /**
   * The version that may be changed, as a resource that this client was given, or an ETag: where it is another by now,
   * the call fails with 412 `CONFLICT`.
   */
  readonly ifMatch?: object | string;
  /** Whether the answer comes before the write can be read. Default: false. */
  readonly respondAsync?: boolean;
}
