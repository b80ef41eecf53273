import type { Condition } from '../../kernel/errors';

/** Failures that several operations share (decisions §4). */

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
