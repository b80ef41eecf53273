import type { z } from 'zod';
import type { Permission } from '../../catalog/vocabulary';
import type { Condition } from '../../kernel/errors';
import { mapValues } from '../documentation';
import type { RequestHeader, ResponseHeader } from '../headers';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Groups of operations and their descriptions, in the order of the documentation. */
export const TAGS = {
  Tokens: 'Exchange of an API key for a short-lived token.',
  Stores: 'The shop: its texts, its payment methods, and the search.',
  Listings: 'The categories of a store, and the publications in them.',
  Publications: 'The products of a store, and their reviews.',
  Media: 'Pictures of stores, listings and publications.',
  Keys: 'The API keys of a store.',
  Prices: 'Prices that only the keys of a price list see.',
  Runs: 'The changes of an assistant or a program, which can be undone together.',
  Proposals: 'Writes that wait for the confirmation of a person.',
  Imports: 'Files of products, listings, reviews or prices that a merchant brings into a store.',
  Webhooks: 'Changes of a store, sent to an address of the merchant.',
  Service: 'Health checks, metrics and documentation. They need no token.',
} as const;
export type Tag = keyof typeof TAGS;

/** One media type of a body. JSON and forms have a schema; text and bytes have none. */
export interface Content {
  readonly schema?: z.ZodType;
  /** Default: the example of the schema. */
  readonly example?: unknown;
}

/** By media type, such as `application/json`, `multipart/form-data` or `image/*`. */
export type Contents = Readonly<Record<string, Content>>;

export interface Success {
  readonly description: string;
  /** Undefined if the response has no body. */
  readonly content?: Contents;
  /** Response headers in addition to those that every response of the area has (`headersOf` in `openapi.ts`). */
  readonly headers?: readonly ResponseHeader[];
}

export const NOT_MODIFIED = {
  description: 'Not modified: `If-None-Match` names the current ETag.',
  headers: ['ETag'],
} as const satisfies Success;

/**
 * Declaration of an endpoint. Routes, request validation, the `Allow` header of 405s, the OpenAPI document and the
 * types of the client are derived from it.
 */
export interface Operation {
  /** `operationId`: the name of the operation in clients. */
  readonly id: string;
  readonly method: Method;
  /** Express 5 syntax: `/api/listing/:id`. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly security: 'bearer' | 'api_key' | 'none';
  readonly query?: z.ZodType;
  /** Request headers in addition to those of its area and method (`commonHeadersOf` in `openapi.ts`). */
  readonly request_headers?: readonly RequestHeader[];
  readonly body?: { readonly required: boolean; readonly content: Contents };
  /** Successful responses by status. */
  readonly successes: Readonly<Record<number, Success>>;
  /** All conditions that the operation can fail with. */
  readonly conditions: readonly Condition[];
  /** Texts that the operation sends instead of those of the error catalogue. */
  readonly messages?: Messages;
  /** Error responses by status whose body differs from the area's error body. */
  readonly failures?: Readonly<Record<number, Success>>;
}

/** An operation as it is declared, before `withIds` adds its id. */
export type Unnamed<Declared extends Operation> = Omit<Declared, 'id'>;

/** Returns the operations with their ids, which are the names of the properties. */
export function withIds<const Declared extends Readonly<Record<string, Unnamed<Operation>>>>(
  operations: Declared,
) {
  const named = mapValues(operations, (operation, id) => ({ ...operation, id }));
  return named as { readonly [Name in keyof Declared]: Declared[Name] & { readonly id: string } };
}

export type Messages = Readonly<Partial<Record<Condition, string>>>;

/** An operation of `/api`, which needs a permission. */
export interface ApiOperation extends Operation {
  readonly permission: Permission;
  /** Further permissions that a query parameter or a field of a form requires, by its name. */
  readonly field_permissions?: Readonly<Record<string, Permission>>;
  /** Further permissions that every request requires. The handler checks them. */
  readonly further_permissions?: readonly Permission[];
  /** Id of the operation that this one is another address of. */
  readonly alias_of?: string;
}

/** Returns the permissions that every request of an operation requires. */
export const permissionsFor = ({ permission, further_permissions = [] }: ApiOperation): Permission[] => [
  permission,
  ...further_permissions,
];

// --- Conditions that several operations share (docs/interface/requests.md#errors) ---

export const GENERAL_CONDITIONS: readonly Condition[] = [
  'rate_limited',
  'unavailable',
  'database_timeout',
  'internal',
];

export const AUTHENTICATION_CONDITIONS: readonly Condition[] = [
  ...(['unauthenticated', 'token_invalid', 'token_expired', 'key_revoked', 'key_invalid'] as const),
  ...(['account_suspended', 'insufficient_permissions', 'store_access_denied'] as const),
];

/** Conditions of path ids and query parameters. */
export const PARAMETER_CONDITIONS: readonly Condition[] = [
  'malformed_request',
  'invalid_uuid',
  'invalid_query',
];

export const BODY_CONDITIONS: readonly Condition[] = [
  'malformed_request',
  'unsupported_content_type',
  'too_large',
];

export const FIELD_CONDITIONS: readonly Condition[] = [
  ...(['field_required', 'field_invalid', 'field_too_long', 'field_too_short'] as const),
];

export const WRITE_CONDITIONS: readonly Condition[] = [
  ...(['store_not_found', 'lost_race'] as const),
  ...(['idempotency_key_reused', 'idempotency_key_locked', 'idempotency_quota_reached'] as const),
];
