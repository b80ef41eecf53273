import type { ApiOperation, Method } from '../api/operations/operation';
import type { JsonObject } from '../catalog/events/envelope';
import type { Presentable } from '../catalog/json-text';
import type { Permission } from '../catalog/vocabulary';
import type { Operation } from '../ports/idempotency-store';
import type { Principal } from './principal';
import type { FileAnswer } from './send-file';
import type { Upload } from './upload';

/** Every value of every query parameter, in order; a parameter that is not there has no entry. */
export type QueryParameters = Readonly<Record<string, readonly string[]>>;

/** A request to `/api/*` that has passed rate limit, authentication and the route's permission. */
export interface ApiRequest {
  readonly method: Route['method'] | 'HEAD';
  readonly principal: Principal;
  /** Path parameters; ids are already checked to be UUIDs, in lower case. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryParameters;
  /** The parsed JSON object of a write; `{}` where there is no body. */
  readonly body: JsonObject;
  readonly request_id: string;
  /** Of a write with an `Idempotency-Key`: what it stands for, and whether it may be done already. */
  readonly operation?: Operation & { readonly idempotency_key: string };
  /** A request header, by its name in lower case. */
  header(name: string): string | undefined;
}

/** What a handler answers with; the envelope, ETag and 304 are made from it in `send.ts`. */
export interface Answer {
  readonly status?: 200 | 201;
  readonly data: Presentable;
  /** For lists: `meta` beside `data` (spec, "Paginated envelope"). */
  readonly meta?: JsonObject;
  /** The resource's own version: the part of its ETag that `If-Match` compares. Left out for lists. */
  readonly version?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a read: what is sent instead of `data`. */
  readonly file?: FileAnswer;
}

/** An endpoint of `/api` that this process serves. */
export interface Route {
  readonly method: Method;
  /** Below the root, Express 5 syntax: `/api/listing/:id`. Parameters named `id` must be UUIDs. */
  readonly path: string;
  readonly permission: Permission;
  /** What a query parameter or a field of a form needs besides, by its name. */
  readonly field_permissions?: Readonly<Record<string, Permission>>;
  readonly handler: (request: ApiRequest) => Promise<Answer>;
  /** Where it takes a file, which is then in the body's `file` as what `keep` has made of it. */
  readonly upload?: Upload;
}

/** The route that answers an operation of the interface. */
export function routeOf(operation: ApiOperation, handler: Route['handler'], upload?: Upload): Route {
  const { method, path, permission, field_permissions } = operation;
  const besides = { ...(field_permissions && { field_permissions }), ...(upload && { upload }) };
  return { method, path, permission, handler, ...besides };
}
