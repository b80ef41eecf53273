import type { JsonObject } from '../catalog/events/envelope';
import type { KnownKey } from './rate-limit';

/** A request to `/auth/*` whose key or token is known to be valid. */
export interface AuthExchange extends KnownKey {
  /** Gives `data`; throws a `CatalogError` for a body that does not fit. */
  respond(body: JsonObject): JsonObject;
}

/**
 * One endpoint of `/auth/*`, as data. Who asks is found from the headers alone, for the rate limit is chosen by it,
 * and is applied before a body is read.
 */
export interface AuthEndpoint {
  /** Names its rate-limit buckets. */
  readonly name: string;
  /** Throws a `CatalogError` with the message to answer with; headers are asked for by name in lower case. */
  open(header: (name: string) => string | undefined): Promise<AuthExchange>;
}

/** By path, such as `/auth/token`; all of them take POST. */
export type AuthEndpoints = Readonly<Record<string, AuthEndpoint>>;
