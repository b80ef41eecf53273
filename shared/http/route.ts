import type { Request, Response } from 'express';
import type { ApiOperation, Method } from '../api/operations/operation';
import type { JsonObject } from '../catalog/events/envelope';
import type { Presentable } from '../catalog/json-text';
import type { Environment } from '../catalog/realm';
import type { Permission } from '../catalog/vocabulary';
import type { Condition } from '../kernel/errors';
import type { BlobStore } from '../ports/blob-store';
import type { Operation } from '../ports/idempotency-store';
import type { KnownKey } from './rate-limit';
import type { Principal } from './request';
import type { Upload } from './upload';
import type { QueryParameters } from './validation';

/** An endpoint of `/api` that this process serves. */
export interface Route {
  readonly method: Method;
  /** From the root, in Express 5 syntax: `/api/listing/:id`. Parameters named `id` must be UUIDs. */
  readonly path: string;
  readonly permission: Permission;
  /** Further permissions that a query parameter or a field of a form needs, by its name. */
  readonly field_permissions?: Readonly<Record<string, Permission>>;
  readonly handler: (request: ApiRequest) => Promise<Answer>;
  /** For a route that takes a file: what stores it. The handler gets its result as the body's `file`. */
  readonly upload?: Upload;
}

/** A request to `/api/*` that has passed rate limit, authentication and the route's permission. */
export interface ApiRequest {
  readonly method: Method | 'HEAD';
  readonly principal: Principal;
  /** Path parameters. Ids are already checked to be UUIDs, in lower case. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryParameters;
  /** The parsed JSON object of a write. `{}` if there is no body. */
  readonly body: JsonObject;
  readonly request_id: string;
  /** For a write with an `Idempotency-Key`: its operation, and whether an earlier attempt may have been written. */
  readonly operation?: Operation & { readonly idempotency_key: string };
  /** Returns a request header by its name in lower case. */
  header(name: string): string | undefined;
}

/** What a handler returns. `respond.ts` makes the envelope, the ETag and the 304 of it. */
export interface Answer {
  readonly status?: 200 | 201;
  readonly data: Presentable;
  /** For lists: `meta` beside `data` (spec, "Paginated envelope"). */
  readonly meta?: JsonObject;
  /** The resource's version: the part of its ETag that `If-Match` compares. Left out for lists. */
  readonly version?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For a read: what is sent instead of `data`. */
  readonly file?: FileAnswer;
}

/** Bytes of the blob store as an answer. */
export interface FileAnswer {
  readonly blobs: Pick<BlobStore, 'size' | 'read'>;
  readonly hash: string;
  readonly content_type: string;
  /** The error if the bytes are not there. */
  readonly missing: Condition;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where pictures are read from. */
export type Pictures = Readonly<Record<Environment, FileAnswer['blobs']>>;

/** Makes the route that answers an operation of the interface. */
export function routeOf(operation: ApiOperation, handler: Route['handler'], upload?: Upload): Route {
  const { method, path, permission, field_permissions } = operation;
  const optional = { ...(field_permissions && { field_permissions }), ...(upload && { upload }) };
  return { method, path, permission, handler, ...optional };
}

/** A GET that needs no token and has no rate limit, such as `/docs` or a picture. */
export interface PublicRoute {
  readonly path: string;
  readonly serve: (req: Request, res: Response) => void | Promise<void>;
}

/** A request to `/auth/*` whose key or token is valid. */
export interface AuthExchange extends KnownKey {
  /** Returns `data`. Throws a `CatalogError` for a body that does not fit. */
  respond(body: JsonObject): JsonObject;
}

/** One endpoint of `/auth/*`. The rate limit depends on who asks and applies before the body is read. */
export interface AuthEndpoint {
  /** Part of its rate-limit buckets' names. */
  readonly name: string;
  /** Finds who asks from the headers alone, by their names in lower case. Rejects with the error to answer with. */
  open(header: (name: string) => string | undefined): Promise<AuthExchange>;
}

/** By path, such as `/auth/token`. All of them take POST. */
export type AuthEndpoints = Readonly<Record<string, AuthEndpoint>>;
