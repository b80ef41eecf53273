import type { StoreHealth } from './event-store';

/** An `Idempotency-Key` of one API key. Two API keys may use the same text (docs/interface/writes.md#idempotency). */
export interface OperationKey {
  readonly api_key_id: string;
  readonly idempotency_key: string;
}

/** A write that carries an `Idempotency-Key`. */
export interface Operation {
  /** A UUIDv7: the same for every repetition of the request, and unique to the request. */
  readonly id: string;
  /** Ids under which an earlier run may have appended its events. */
  readonly earlier_ids?: readonly string[];
  /** Events before this time, Unix milliseconds, belong to an earlier use of the key. */
  readonly since_ms?: number;
  /**
   * Hash of the request, set if the record of an earlier run may have been lost. The events of the operation carry
   * it, so that another request with the same key is noticed without the record.
   */
  readonly fingerprint?: string;
  /** Time of the first request, Unix milliseconds. */
  readonly started_at_ms: number;
  /** Whether an earlier run ended without an answer. Its events may already be stored. */
  readonly resumed: boolean;
  /**
   * Until this time, Unix milliseconds, no other run has the lock, even if this run cannot renew it. Afterwards another
   * run may have stored its events. Undefined if there are no other runs.
   */
  readonly locked_until_ms?: number;
  /** Called when events of the operation are in the log. From then on, only the same request may use the key. */
  readonly onAppended?: () => void;
}

/** An answer as it is sent, and stored to be sent again. */
export interface RenderedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Claim {
  /** Hash of the request: method, path, query and body. */
  readonly fingerprint: string;
  /** Owner of the lock. Unique to this run of the request. */
  readonly holder: string;
  /** Current time, Unix milliseconds. */
  readonly now_ms: number;
  /** Time at which the lock ends unless it is renewed, Unix milliseconds. */
  readonly locked_until_ms: number;
  /** Time at which the record may be deleted, Unix milliseconds. */
  readonly expires_at_ms: number;
  /**
   * How many records of the API key may exist. A record with a long answer counts as several
   * (docs/interface/writes.md#idempotency). A claim of an existing record always succeeds.
   */
  readonly records_max: number;
}

export type Claimed =
  /** The caller has the lock. `resumed`: an earlier run started at `started_at_ms` and ended without an answer. */
  | { readonly outcome: 'claimed'; readonly started_at_ms: number; readonly resumed: boolean }
  /** The operation has ended with this answer. */
  | { readonly outcome: 'answered'; readonly answer: RenderedAnswer }
  /** Another run has the lock. */
  | { readonly outcome: 'locked' }
  /** The key was used with another fingerprint. */
  | { readonly outcome: 'other_request' }
  /** The API key has `records_max` records or more. At `free_at_ms` so many of them have expired that it has fewer. */
  | { readonly outcome: 'quota_reached'; readonly free_at_ms: number };

/**
 * Records of the writes that carry an `Idempotency-Key`.
 *
 * - Every method throws `CatalogError('unavailable')` if the records cannot be reached, and
 *   `CatalogError('database_timeout')` if the database does not answer in time.
 * - If the records are lost, a repetition counts as a first request. The write is then found in the log
 *   (docs/decisions/0005-own-idempotency.md).
 */
export interface IdempotencyStore {
  /**
   * Takes the operation's lock, or returns why the lock cannot be taken.
   *
   * - At most one holder has the lock at a time, over all processes that share the records.
   * - The claim is durable when the promise resolves.
   * - A lock that has ended (`locked_until_ms`) goes to the next caller. The outcome is then `claimed` with `resumed`.
   * - A record that has expired (`expires_at_ms`) is treated as absent.
   * - Never makes room by deleting a record that has not expired: its write would be done again when it is repeated.
   */
  claim(key: OperationKey, claim: Claim): Promise<Claimed>;

  /** Extends the lock to `locked_until_ms`. Returns whether `holder` still had the lock. If not, does nothing. */
  renew(key: OperationKey, holder: string, locked_until_ms: number): Promise<boolean>;

  /**
   * Stores the answer until `expires_at_ms` and releases the lock. Returns whether `holder` still had the lock. If not,
   * does nothing.
   */
  storeAnswer(
    key: OperationKey,
    holder: string,
    answer: RenderedAnswer,
    expires_at_ms: number,
  ): Promise<boolean>;

  /**
   * Releases the lock without an answer. The next equal request resumes the operation. Returns whether `holder` still
   * had the lock. If not, does nothing.
   */
  release(key: OperationKey, holder: string): Promise<boolean>;

  /**
   * Deletes the record. The key can then be used as if it were new. Returns whether `holder` still had the lock. If
   * not, does nothing.
   */
  discard(key: OperationKey, holder: string): Promise<boolean>;

  /** Returns whether records can be written. Cheap enough for each readiness check. */
  check(): Promise<StoreHealth>;

  close(): Promise<void>;
}
