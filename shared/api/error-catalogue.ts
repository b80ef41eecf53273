import type { JsonObject } from '../catalog/events/envelope';
import type { KeyType } from '../catalog/vocabulary';
import type { CatalogError, Condition, Fault } from '../kernel/errors';

/** HTTP form of a condition. */
export interface ErrorRow {
  readonly status: number;
  /** `error.code` of the structured body (docs/interface/requests.md#errors). */
  readonly code: string;
  /** Default text for people. Contains no internal details. */
  readonly message: string;
  /** Default of `Retry-After`, in seconds. */
  readonly retry_after_s?: number;
}

const row = (status: number, code: string, message: string, retry_after_s?: number): ErrorRow =>
  retry_after_s === undefined ? { status, code, message } : { status, code, message, retry_after_s };

/** One row per condition; `docs/errors.md` lists the same rows. */
export const errorCatalogue: Readonly<Record<Condition, ErrorRow>> = {
  unauthenticated: row(
    401,
    'UNAUTHORIZED',
    'A bearer token is required in the Authorization header; POST /auth/token exchanges an API key for a token',
  ),
  token_invalid: row(401, 'TOKEN_INVALID', 'The token is malformed or invalid'),
  token_expired: row(401, 'TOKEN_EXPIRED', 'The token has expired'),
  key_revoked: row(401, 'REVOKED_API_KEY', 'The API key of this token has been revoked'),
  key_invalid: row(401, 'INVALID_API_KEY', 'The API key of this token has expired or does not exist'),
  insufficient_permissions: row(
    403,
    'INSUFFICIENT_PERMISSIONS',
    'The API key does not permit this operation',
  ),
  store_access_denied: row(403, 'STORE_ACCESS_DENIED', 'The API key has no access to the requested store'),
  account_suspended: row(403, 'ACCOUNT_SUSPENDED', 'The account is suspended'),
  path_not_found: row(404, 'NOT_FOUND', 'This path does not exist'),
  method_not_allowed: row(405, 'OPERATION_NOT_ALLOWED', 'This path does not support this method'),
  store_not_found: row(404, 'STORE_NOT_FOUND', 'The store does not exist'),
  listing_not_found: row(404, 'LISTING_NOT_FOUND', 'The listing does not exist'),
  publication_not_found: row(404, 'PUBLICATION_NOT_FOUND', 'The publication does not exist'),
  media_not_found: row(404, 'MEDIA_NOT_FOUND', 'The media file does not exist'),
  review_not_found: row(404, 'REVIEW_NOT_FOUND', 'The review does not exist'),
  webhook_not_found: row(404, 'WEBHOOK_NOT_FOUND', 'The webhook does not exist'),
  import_not_found: row(404, 'IMPORT_NOT_FOUND', 'The import does not exist; a file is kept for 7 days'),
  run_not_found: row(404, 'RUN_NOT_FOUND', 'The store has no change of this run'),
  proposal_not_found: row(404, 'PROPOSAL_NOT_FOUND', 'The proposal does not exist'),
  variant_not_found: row(404, 'VARIANT_NOT_FOUND', 'The variant does not exist'),
  key_not_found: row(404, 'KEY_NOT_FOUND', 'The store has no such key, or the key does not work any more'),
  malformed_request: row(400, 'INVALID_REQUEST', 'The request is malformed'),
  unsupported_content_type: row(415, 'INVALID_REQUEST', 'The content type or encoding is not supported'),
  field_required: row(400, 'FIELD_REQUIRED', 'A required field is missing'),
  field_invalid: row(400, 'FIELD_INVALID', 'A field is invalid'),
  field_too_long: row(400, 'FIELD_TOO_LONG', 'A field is too long'),
  field_too_short: row(400, 'FIELD_TOO_SHORT', 'A field is too short'),
  invalid_url: row(400, 'INVALID_URL', 'A field is not a valid URL'),
  invalid_email: row(400, 'INVALID_EMAIL', 'A field is not a valid e-mail address'),
  invalid_uuid: row(400, 'INVALID_UUID', 'An id is not a UUID'),
  invalid_query: row(400, 'VALIDATION_ERROR', 'A query parameter is invalid'),
  too_large: row(413, 'LIMIT_EXCEEDED', 'The request is too large'),
  unsupported_image: row(415, 'INVALID_FORMAT', 'The file is not a supported image'),
  range_unsatisfiable: row(416, 'INVALID_REQUEST', 'The requested range is outside the file'),
  expectation_failed: row(417, 'INVALID_REQUEST', 'Only the expectation 100-continue is supported'),
  precondition_failed: row(
    412,
    'CONFLICT',
    'The resource has changed: If-Match does not name its current version',
  ),
  lost_race: row(409, 'CONFLICT', 'Another request changed the resource at the same time; try again'),
  listing_not_empty: row(409, 'DEPENDENCY_EXISTS', 'The listing has publications, or listings below it'),
  name_taken: row(409, 'CONFLICT', 'Another resource of the store has this name'),
  insufficient_stock: row(409, 'INSUFFICIENT_STOCK', 'The variant has less in stock'),
  too_many_webhooks: row(409, 'LIMIT_EXCEEDED', 'The store has as many webhooks as it may have; delete one'),
  too_many_keys: row(409, 'LIMIT_EXCEEDED', 'The store has as many keys as it may have; revoke one'),
  key_of_request: row(
    409,
    'CONFLICT',
    'A key cannot revoke itself; rotate it, and revoke it with the new key',
  ),
  import_refused: row(409, 'CONFLICT', 'The import cannot take this step now'),
  proposal_refused: row(409, 'CONFLICT', 'The proposal cannot be decided any more'),
  offset_of_other_log: row(
    409,
    'CONFLICT',
    'The offset is of another log, for example of one before a restore; read everything again from offset=snapshot',
  ),
  idempotency_key_reused: row(
    409,
    'DUPLICATE_OPERATION',
    'The Idempotency-Key was already used with a different request',
  ),
  idempotency_key_locked: row(
    409,
    'RESOURCE_LOCKED',
    'The first request with this Idempotency-Key is still running',
    1,
  ),
  idempotency_quota_reached: row(
    429,
    'LIMIT_EXCEEDED',
    'The API key has used too many Idempotency-Keys in 24 hours',
    1,
  ),
  rate_limited: row(429, 'RATE_LIMIT_EXCEEDED', 'Rate limit exceeded', 1),
  unavailable: row(503, 'SERVICE_UNAVAILABLE', 'The service is temporarily unavailable', 2),
  database_timeout: row(
    500,
    'DATABASE_TIMEOUT',
    'The database did not respond in time; a write may have been done',
    2,
  ),
  internal: row(500, 'INTERNAL_ERROR', 'An internal error occurred'),
};

/** Value of `X-RateLimit-Tier` and `error.tier` (docs/interface/access.md#rate-limits). */
export type TierName = `${KeyType}_key`;

/** Returns the plain error body of `/auth/*`. */
export function authErrorBody(failure: CatalogError): JsonObject {
  const { status } = errorCatalogue[failure.condition];
  return { code: status, status: 'error', message: messageOf(failure) };
}

/**
 * Returns the structured error body of all other areas. Only 400 has the outer `message`, only 429 has `error.tier`.
 */
export function errorBody(failure: CatalogError, tier?: TierName): JsonObject {
  const row = errorCatalogue[failure.condition];
  const error: JsonObject = { code: row.code, message: messageOf(failure) };
  if (failure.faults.length > 0) error.details = detailsOf(failure.faults);
  if (row.status === 429 && tier !== undefined) error.tier = tier;
  const outer_message = row.status === 400 ? { message: row.message } : {};
  return { code: row.status, status: 'error', ...outer_message, error };
}

/**
 * Returns `error.details`: field and constraint of the first fault, and all faults in `errors`
 * (docs/interface/requests.md#errors).
 */
function detailsOf(faults: readonly Fault[]): JsonObject {
  const errors = faults.map(({ field, constraint, condition }) => ({
    field,
    constraint,
    code: errorCatalogue[condition].code,
  }));
  const { field, constraint } = errors[0]!;
  return { field, constraint, errors };
}

/** Returns the text for the client. That of a 5xx is fixed: the error's own message may name a file, host or query. */
function messageOf(failure: CatalogError): string {
  const { status, message } = errorCatalogue[failure.condition];
  const [fault] = failure.faults;
  if (status >= 500) return message;
  if (failure.message !== '') return failure.message;
  return fault === undefined ? message : describeFault(fault);
}

/** Constraints that do not describe the expected value. Their messages have a different form (`describeFault`). */
export const REQUIRED = 'required';
export const UNKNOWN_FIELD = 'not a known field';
export const TAKEN = 'unique in the store';

function describeFault({ field, constraint }: Fault): string {
  if (constraint === REQUIRED) return `${field} is required`;
  if (constraint === TAKEN) return `Another resource of the store has this ${field}`;
  if (constraint === UNKNOWN_FIELD) return `${field} is not a known field`;
  return `Invalid ${field}: expected ${constraint}`;
}

/** Returns the body of `/health/ready` if the service is not ready. `details` has the state of each dependency. */
export function notReadyBody(details: JsonObject): JsonObject {
  const { status, code, message } = errorCatalogue.unavailable;
  return { code: status, status: 'error', error: { code, message, details } };
}

/** Describes a `CatalogError` in one line: all faults with their fields, or else the message of its condition. */
export function describeRejection(error: CatalogError): string {
  if (error.faults.length > 0)
    return error.faults.map(({ field, constraint }) => `${field}: ${faultText(constraint)}`).join('; ');
  return error.message || errorCatalogue[error.condition].message;
}

function faultText(constraint: string): string {
  if (constraint === REQUIRED) return 'is required';
  return constraint === UNKNOWN_FIELD ? 'unknown field' : `must be ${constraint}`;
}
