import type { Condition } from '../kernel/errors';
import type { ErrorCode } from './responses/errors';

/** What a condition is on the wire. */
export interface ErrorRow {
  readonly status: number;
  /** `error.code` of the structured body (spec, "Codes by status"). */
  readonly code: ErrorCode;
  /** For people; never with internals. */
  readonly message: string;
  /** What `Retry-After` says where the error itself does not know better, in seconds. */
  readonly retry_after_s?: number;
}

const row = (status: number, code: ErrorCode, message: string, retry_after_s?: number): ErrorRow =>
  retry_after_s === undefined ? { status, code, message } : { status, code, message, retry_after_s };

/** One row per condition (decisions §4); `docs/errors.md` lists the same rows. */
export const errorCatalogue: Readonly<Record<Condition, ErrorRow>> = {
  unauthenticated: row(401, 'UNAUTHORIZED', 'A bearer token is required in the Authorization header'),
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
  path_not_found: row(404, 'NOT_FOUND', 'There is nothing at this path'),
  method_not_allowed: row(405, 'OPERATION_NOT_ALLOWED', 'This path does not take this method'),
  store_not_found: row(404, 'STORE_NOT_FOUND', 'The store does not exist'),
  listing_not_found: row(404, 'LISTING_NOT_FOUND', 'The listing does not exist'),
  publication_not_found: row(404, 'PUBLICATION_NOT_FOUND', 'The publication does not exist'),
  media_not_found: row(404, 'MEDIA_NOT_FOUND', 'The media file does not exist'),
  malformed_request: row(400, 'INVALID_REQUEST', 'The request is malformed'),
  unsupported_content_type: row(415, 'INVALID_REQUEST', 'The content type or encoding is not supported'),
  field_required: row(400, 'FIELD_REQUIRED', 'A required field is missing'),
  field_invalid: row(400, 'FIELD_INVALID', 'A field is not valid'),
  field_too_long: row(400, 'FIELD_TOO_LONG', 'A field is too long'),
  field_too_short: row(400, 'FIELD_TOO_SHORT', 'A field is too short'),
  invalid_url: row(400, 'INVALID_URL', 'A field is not a valid URL'),
  invalid_email: row(400, 'INVALID_EMAIL', 'A field is not a valid e-mail address'),
  invalid_uuid: row(400, 'INVALID_UUID', 'An id is not a UUID'),
  invalid_query: row(400, 'VALIDATION_ERROR', 'A query parameter is not valid'),
  too_large: row(413, 'LIMIT_EXCEEDED', 'The request is too large'),
  unsupported_image: row(415, 'INVALID_FORMAT', 'The file is not a supported image'),
  range_unsatisfiable: row(416, 'INVALID_REQUEST', 'The file has no such part'),
  precondition_failed: row(
    412,
    'CONFLICT',
    'The resource has changed: its version is not the one in If-Match',
  ),
  lost_race: row(409, 'CONFLICT', 'The resource was changed at the same time; try again'),
  idempotency_key_reused: row(
    409,
    'DUPLICATE_OPERATION',
    'The Idempotency-Key was used with another request',
  ),
  idempotency_key_locked: row(
    409,
    'RESOURCE_LOCKED',
    'The first request with this Idempotency-Key still runs',
    1,
  ),
  rate_limited: row(429, 'RATE_LIMIT_EXCEEDED', 'Rate limit exceeded', 1),
  unavailable: row(503, 'SERVICE_UNAVAILABLE', 'The service is temporarily unavailable', 2),
  database_timeout: row(500, 'DATABASE_TIMEOUT', 'The database did not answer in time', 2),
  internal: row(500, 'INTERNAL_ERROR', 'An internal error occurred'),
};
