/** Whose key it is: the same text from two API keys means two operations (decisions §6). */
export interface OperationKey {
  readonly api_key_id: string;
  readonly idempotency_key: string;
}

/** A write that carries an `Idempotency-Key`, as what carries it out knows it. */
export interface Operation {
  /** A UUID, the same for every repetition of the request and for no other request. */
  readonly id: string;
  /** When its first request came in, Unix milliseconds. */
  readonly started_at_ms: number;
  /** An earlier run of it gave no answer: what it had to write may be written already. */
  readonly resumed: boolean;
}

/** An answer as it was sent, to be sent again. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Claim {
  /** Of the whole request: method, path, query, body. */
  readonly fingerprint: string;
  /** Unique to this run of the request: who holds the lock. */
  readonly holder: string;
  /** Unix milliseconds. */
  readonly now_ms: number;
  /** When the lock ends unless it is renewed. */
  readonly locked_until_ms: number;
  /** When what is known of the operation may be forgotten. */
  readonly expires_at_ms: number;
}

export type Claimed =
  /** The caller holds the lock. `resumed`: an earlier run began and did not end; `started_at_ms` is that one's. */
  | { readonly outcome: 'claimed'; readonly started_at_ms: number; readonly resumed: boolean }
  | { readonly outcome: 'answered'; readonly answer: KeptAnswer }
  | { readonly outcome: 'locked'; readonly locked_until_ms: number }
  /** The key was used with another fingerprint. */
  | { readonly outcome: 'other_request' };

/**
 * What became of the writes that carry an `Idempotency-Key`.
 *
 * - `claim` begins an operation, or tells what became of it; exact across every process that shares the store, and
 *   durable when it returns. A lock whose time is over is given to whoever asks next. What has expired is unknown.
 * - `renew` prolongs the lock; `keep` keeps the answer until `expires_at_ms` and gives the lock back; `release` gives
 *   it back without an answer, so that the next same request resumes the operation; `forget` makes the key as good
 *   as new. All four do nothing where `holder` holds the lock no more.
 * - All throw `CatalogError('unavailable')` where the store cannot be reached and `CatalogError('database_timeout')`
 *   where it does not answer in time.
 *
 * A store that has lost what it held takes a repetition for a first request: then, and only then, it is written twice.
 */
export interface IdempotencyStore {
  claim(key: OperationKey, claim: Claim): Promise<Claimed>;
  renew(key: OperationKey, holder: string, locked_until_ms: number): Promise<void>;
  keep(key: OperationKey, holder: string, answer: KeptAnswer, expires_at_ms: number): Promise<void>;
  release(key: OperationKey, holder: string): Promise<void>;
  forget(key: OperationKey, holder: string): Promise<void>;
  /** Resolves where the store can be asked, for `/health/ready`. */
  check(): Promise<void>;
  close(): Promise<void>;
}
