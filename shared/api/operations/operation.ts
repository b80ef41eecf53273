import type { z } from 'zod';
import type { Permission } from '../../catalog/vocabulary';
import type { Condition } from '../../kernel/errors';
import type { RequestHeader, ResponseHeader } from '../headers';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** In this order they are shown. */
export const TAGS = ['Tokens', 'Stores', 'Listings', 'Publications', 'Media', 'Service'] as const;
export type Tag = (typeof TAGS)[number];

/** One content of a body: JSON by its schema, or text or bytes of which the type says it all. */
export interface Content {
  readonly schema?: z.ZodType;
  readonly example?: unknown;
}

/** By media type, such as `application/json`, `multipart/form-data` or `image/*`. */
export type Contents = Readonly<Record<string, Content>>;

export interface Success {
  readonly description: string;
  /** None: the answer has no body. */
  readonly content?: Contents;
  /** Besides those of its area (`headers.ts`). */
  readonly headers?: readonly ResponseHeader[];
}

/**
 * What there is to know of an endpoint before it runs. The routes are made from it, the requests are checked by its
 * schemas, 405s and the OpenAPI document are made from it: this is the one place where the interface is said.
 */
export interface Operation {
  /** Names it in generated clients. */
  readonly id: string;
  readonly method: Method;
  /** Express 5 syntax: `/api/listing/:id`. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly security: 'bearer' | 'api_key' | 'none';
  readonly query?: z.ZodType;
  /** Request headers besides those of its area and method. */
  readonly request_headers?: readonly RequestHeader[];
  readonly body?: { readonly required: boolean; readonly content: Contents };
  /** By status. */
  readonly successes: Readonly<Record<number, Success>>;
  /** Every failure that it can be answered with. */
  readonly conditions: readonly Condition[];
  /** Statuses of failures whose body is not the area's error shape. */
  readonly failures?: Readonly<Record<number, Success>>;
}

/** An operation of `/api`, which needs a permission. */
export interface ApiOperation extends Operation {
  readonly permission: Permission;
  /** What a query parameter or a field of a form needs besides, by its name. */
  readonly field_permissions?: Readonly<Record<string, Permission>>;
}

// --- Failures that several operations share (decisions §4) ---

export const ALWAYS: readonly Condition[] = ['rate_limited', 'unavailable', 'database_timeout', 'internal'];

export const AUTHENTICATION: readonly Condition[] = [
  ...(['unauthenticated', 'token_invalid', 'token_expired', 'key_revoked', 'key_invalid'] as const),
  ...(['account_suspended', 'insufficient_permissions', 'store_access_denied'] as const),
];

/** Of an id in the path, of `store_id` and of the other parameters. */
export const PARAMETERS: readonly Condition[] = ['malformed_request', 'invalid_uuid', 'invalid_query'];

export const BODY: readonly Condition[] = ['malformed_request', 'unsupported_content_type', 'too_large'];

export const FIELDS: readonly Condition[] = [
  ...(['field_required', 'field_invalid', 'field_too_long', 'field_too_short'] as const),
];

export const WRITING: readonly Condition[] = [
  ...(['store_not_found', 'lost_race', 'idempotency_key_reused', 'idempotency_key_locked'] as const),
];
