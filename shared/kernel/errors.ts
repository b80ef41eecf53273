/**
 * Every failure a caller can be told of, by condition. What each is on the wire (HTTP status, code, text)
 * stands in `shared/api/error-catalogue.ts`, one row per condition.
 */
export type Condition =
  | 'unauthenticated'
  | 'token_invalid'
  | 'token_expired'
  | 'key_revoked'
  | 'key_invalid'
  | 'insufficient_permissions'
  | 'store_access_denied'
  | 'account_suspended'
  | 'path_not_found'
  | 'method_not_allowed'
  | 'store_not_found'
  | 'listing_not_found'
  | 'publication_not_found'
  | 'media_not_found'
  | 'malformed_request'
  | 'unsupported_content_type'
  | 'field_required'
  | 'field_invalid'
  | 'field_too_long'
  | 'field_too_short'
  | 'invalid_url'
  | 'invalid_email'
  | 'invalid_uuid'
  | 'invalid_query'
  | 'too_large'
  | 'unsupported_image'
  | 'range_unsatisfiable'
  | 'precondition_failed'
  | 'lost_race'
  | 'idempotency_key_reused'
  | 'idempotency_key_locked'
  | 'rate_limited'
  | 'unavailable'
  | 'database_timeout'
  | 'internal';

/** One fault of the input: which field, and what it should have been. */
export interface Fault {
  readonly condition: Condition;
  readonly field: string;
  readonly constraint: string;
}

/** Thrown for every failure that is the caller's to know; anything else becomes `internal`. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
  readonly condition: Condition;
  /** Validation: all faults, the first decides the condition. */
  readonly faults: readonly Fault[];
  readonly retry_after_s: number | undefined;

  constructor(
    condition: Condition,
    options: { message?: string; faults?: readonly Fault[]; retry_after_s?: number; cause?: unknown } = {},
  ) {
    super(options.message ?? '', options.cause === undefined ? undefined : { cause: options.cause });
    this.condition = condition;
    this.faults = options.faults ?? [];
    this.retry_after_s = options.retry_after_s;
  }

  /** At least one fault; the first gives the condition. */
  static ofFaults(faults: readonly Fault[]): CatalogError {
    return new CatalogError(faults[0]?.condition ?? 'field_invalid', { faults });
  }
}

/** A store is away or silent: nothing is wrong with what was asked of it, and later it may be done. */
export function isOutage(error: unknown): error is CatalogError {
  if (!(error instanceof CatalogError)) return false;
  return error.condition === 'unavailable' || error.condition === 'database_timeout';
}

/** The end of every switch over a tagged union: a new tag fails to compile here. */
export function assertNever(value: never, what: string): never {
  throw new Error(`unexpected ${what}: ${JSON.stringify(value)}`);
}
