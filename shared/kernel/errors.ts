import { shortenText } from './text';

/**
 * Every failure that a caller can receive. `shared/api/error-catalogue.ts` maps each condition to its HTTP status,
 * error code and message.
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
  | 'review_not_found'
  | 'webhook_not_found'
  | 'import_not_found'
  | 'run_not_found'
  | 'proposal_not_found'
  | 'variant_not_found'
  | 'key_not_found'
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
  | 'expectation_failed'
  | 'precondition_failed'
  | 'lost_race'
  | 'listing_not_empty'
  | 'name_taken'
  | 'insufficient_stock'
  | 'too_many_webhooks'
  | 'too_many_keys'
  | 'key_of_request'
  | 'import_refused'
  | 'proposal_refused'
  | 'offset_of_other_log'
  | 'idempotency_key_reused'
  | 'idempotency_key_locked'
  | 'idempotency_quota_reached'
  | 'rate_limited'
  | 'unavailable'
  | 'database_timeout'
  | 'internal';

/** One invalid field of a request. */
export interface Fault {
  readonly condition: Condition;
  /** Path such as `media_ids.3`. */
  readonly field: string;
  /** The rule that the value breaks, such as `at most 255 characters`. */
  readonly constraint: string;
}

/** Returns the fault of a field whose value is invalid. */
export const invalidField = (field: string, constraint: string): Fault => ({
  condition: 'field_invalid',
  field,
  constraint,
});

/**
 * Maximum number of faults in a validation error, and of characters in the name of a field. A client chooses both, so
 * without a limit, a small body could cause an error of any size.
 */
export const FAULTS_MAX = 50;
const FIELD_LENGTH_MAX = 200;

const shortened = (fault: Fault): Fault => ({ ...fault, field: shortenText(fault.field, FIELD_LENGTH_MAX) });

/** A failure that the caller may see. Every other error becomes `internal`, which hides its message. */
export class CatalogError extends Error {
  override readonly name: string = 'CatalogError';
  readonly condition: Condition;
  /** For validation errors: all invalid fields. The first one decides the condition. */
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

  /**
   * Makes a validation error. Expects at least one fault; the first one decides the condition. Keeps `FAULTS_MAX` of
   * them, and shortens their texts.
   */
  static ofFaults(faults: readonly Fault[]): CatalogError {
    const reported = faults.slice(0, FAULTS_MAX).map(shortened);
    return new CatalogError(reported[0]?.condition ?? 'field_invalid', { faults: reported });
  }
}

/**
 * Stored data must be repaired by an operator. HTTP clients get the answer of `unavailable`. Unlike an outage, it does
 * not end by itself: repeat nothing, and report the message, which names the remedy, to the operator.
 */
export abstract class NeedsRepairError extends CatalogError {}

/** A file of an embedded database is damaged or missing. The message names the file. */
export class DamagedFileError extends NeedsRepairError {
  override readonly name = 'DamagedFileError';
  readonly file: string;

  constructor(file: string, options: { problem: string; remedy: string; cause?: unknown }) {
    super('unavailable', { message: `${file} ${options.problem}. ${options.remedy}`, cause: options.cause });
    this.file = file;
  }
}

/**
 * A database refuses a document because of the document itself: it is too large, or it has a key of the wrong kind.
 * Waiting does not help. Every other failure of a write is an outage.
 */
export class UnstorableDocumentError extends Error {
  override readonly name = 'UnstorableDocumentError';
}

const MISMATCH_REMEDY =
  'The documents belong to another log, or to a newer copy of it. ' +
  'Restore that one, or run "catalog projections rebuild" to make the documents again from this log.';

/**
 * A position or an event is not in the log: another log, or an older copy of it, has taken the place of the log that
 * the position is from (docs/operations/failures.md#documents-of-another-log).
 */
export class LogMismatchError extends NeedsRepairError {
  override readonly name = 'LogMismatchError';

  constructor(problem: string, cause?: unknown) {
    super('unavailable', { message: `${problem} ${MISMATCH_REMEDY}`, cause });
  }
}

/** An operator has deleted a stream of the log for good. Nothing can be appended to it any more. */
export class DeletedStreamError extends Error {
  override readonly name = 'DeletedStreamError';
}

/**
 * Returns whether the error says that a database is unavailable or too slow. The operation itself is valid and may
 * succeed later. Data that must be repaired is no outage.
 */
export function isOutage(error: unknown): error is CatalogError {
  if (!(error instanceof CatalogError) || error instanceof NeedsRepairError) return false;
  return error.condition === 'unavailable' || error.condition === 'database_timeout';
}

/**
 * Ends a switch over a tagged union, so that a switch that misses a new tag does not compile. Throws if it is
 * reached.
 */
export function assertNever(value: never, what: string): never {
  throw new Error(`unexpected ${what}: ${JSON.stringify(value)}`);
}
