import { hash } from 'node:crypto';
import type { KeyLimits } from '../catalog/api-key/api-key';
import type { JsonValue } from '../catalog/events/envelope';
import { withTimeout } from '../kernel/async';
import { recordsWithin } from '../kernel/config';
import { CatalogError, type Condition } from '../kernel/errors';
import { deriveId, generateId, isUuid } from '../kernel/ids';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type {
  Claim,
  Claimed,
  IdempotencyStore,
  Operation,
  OperationKey,
  RenderedAnswer,
} from '../ports/idempotency-store';
import type { HttpMetrics, IdempotencyOutcome } from './metrics';

const KEY_LENGTH_MAX = 255;
/** How long a response is stored (docs/interface/writes.md#idempotency). */
const KEEP_MS = 24 * 3_600_000;
const DAY_MS = 86_400_000;
/** Lifetime of a lock. A running request renews it, so only the lock of a crashed process expires. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
/** How long a run that ended at `answer_by_ms` waits until its claim is released. */
const SETTLE_MS = 100;

/**
 * Errors that are stored like a success, because they are a result of the write itself. After any other error
 * (invalid input, a closed store, a lost race, a server error) the same request may succeed later.
 */
export const STORED_ERRORS: ReadonlySet<Condition> = new Set([
  'listing_not_found',
  'publication_not_found',
  'media_not_found',
  'review_not_found',
  'variant_not_found',
  'webhook_not_found',
  'key_not_found',
  'import_not_found',
  'run_not_found',
  'proposal_not_found',
  'precondition_failed',
]);

export interface IdempotencyOptions {
  readonly store: IdempotencyStore;
  readonly system: System;
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
  /**
   * How many records an API key may have. A write with a further key is refused. A key with limits of its own may have
   * as many as it can make within them, if those are more.
   */
  readonly records_max: number;
  readonly lease_ms?: number;
}

/** A write with an `Idempotency-Key`. */
export interface OnceRequest {
  readonly key: OperationKey;
  /** The API key's own rate limits. Undefined: those of its type. */
  readonly limits?: KeyLimits | undefined;
  /** Hash of the request (`fingerprintOf`), to detect a key that is used for different requests. */
  readonly fingerprint: string;
  /**
   * When the answer must begin, by `performance.now()`. The calls to the store end then: a claim fails, and the state of
   * the key is stored in the background. `run` keeps to it by itself.
   */
  readonly answer_by_ms: number;
  /** Carries out the write. */
  readonly run: (operation: Operation) => Promise<RenderedAnswer>;
  /** Renders an error as the response that will be stored and sent. */
  readonly renderFailure: (failure: CatalogError) => RenderedAnswer;
}

/**
 * Carries out each write with an `Idempotency-Key` once, and returns its stored response to repeated requests
 * (docs/interface/writes.md#idempotency).
 */
export class Idempotency {
  private readonly options: IdempotencyOptions;
  private readonly lease_ms: number;

  constructor(options: IdempotencyOptions) {
    this.options = options;
    this.lease_ms = options.lease_ms ?? LEASE_MS;
  }

  /**
   * Runs the write, or returns the first response again with `Idempotent-Replayed: true`. Rejects with
   * `idempotency_key_reused`, `idempotency_key_locked`, `idempotency_quota_reached`, and with what `run` rejects
   * with. If the store cannot be reached, rejects with its error and does not run the write, because it could not
   * guarantee a single run.
   */
  async once({
    key,
    limits,
    fingerprint,
    answer_by_ms,
    run,
    renderFailure,
  }: OnceRequest): Promise<RenderedAnswer> {
    const { store, system } = this.options;
    const records_max = Math.max(this.options.records_max, limits ? recordsWithin(limits) : 0);
    const now_ms = system.now();
    const holder = generateId(now_ms, system.random);
    const times = { now_ms, locked_until_ms: now_ms + this.lease_ms, expires_at_ms: now_ms + KEEP_MS };
    const claim: Claim = { fingerprint, holder, ...times, records_max };
    const claiming = store.claim(key, claim);
    const claimed = await withTimeout(claiming, answer_by_ms - performance.now(), () => {
      // A claim that succeeds later is released. Otherwise, a repeated request would be refused until its lease ends.
      claiming.then(({ outcome }) => outcome === 'claimed' && store.release(key, holder)).catch(() => false);
      throw new CatalogError('unavailable', { message: 'the Idempotency-Key could not be claimed in time' });
    });
    this.options.metrics?.keyClaimed(outcomeOf(claimed));
    switch (claimed.outcome) {
      case 'answered':
        return withReplayedHeader(claimed.answer);
      case 'other_request':
        throw new CatalogError('idempotency_key_reused');
      case 'locked':
        // No `retry_after_s` from the lease: usually the first request ends long before its lease. The lease only expires
        // if the process of the first request crashed.
        throw new CatalogError('idempotency_key_locked');
      case 'quota_reached':
        throw new CatalogError('idempotency_quota_reached', {
          retry_after_s: (claimed.free_at_ms - now_ms) / 1_000,
        });
      case 'claimed': {
        const { locked_until_ms } = times;
        const may_have_events = claimed.resumed;
        const own: OwnClaim = { key, holder, renderFailure, answer_by_ms, may_have_events };
        const onAppended = (): void => {
          own.may_have_events = true;
        };
        const operation = { ...operationOf(key, claimed), fingerprint, locked_until_ms, onAppended };
        return this.runClaimed(own, () => run(operation));
      }
    }
  }

  private async runClaimed(claim: OwnClaim, run: () => Promise<RenderedAnswer>): Promise<RenderedAnswer> {
    const stopRenewing = this.startRenewing(claim);
    const settleInTime = async (change: () => Promise<boolean>): Promise<void> => {
      // A renewal after the answer is stored would find no lock, and count as a lost one.
      const settling = stopRenewing().then(() => this.settle(change));
      await withTimeout(settling, claim.answer_by_ms + SETTLE_MS - performance.now(), () => false);
    };
    let rendered: RenderedAnswer;
    try {
      rendered = await run();
    } catch (error) {
      await settleInTime(() => this.settleFailure(claim, error));
      throw error;
    }
    await settleInTime(() => this.storeAnswer(claim, rendered));
    return rendered;
  }

  /** Stores the error as the response, or releases the claim for the same request, or discards it for any request. */
  private async settleFailure(claim: OwnClaim, error: unknown): Promise<boolean> {
    const { store } = this.options;
    const is_rejection = error instanceof CatalogError && !UNCERTAIN_ERRORS.has(error.condition);
    if (is_rejection && STORED_ERRORS.has(error.condition))
      return this.storeAnswer(claim, claim.renderFailure(error));
    // An upload, for example, is stored before it is added to a publication, which may be refused.
    if (!is_rejection || claim.may_have_events) return store.release(claim.key, claim.holder);
    return store.discard(claim.key, claim.holder);
  }

  private storeAnswer(
    { key, holder }: { key: OperationKey; holder: string },
    answer: RenderedAnswer,
  ): Promise<boolean> {
    return this.options.store.storeAnswer(key, holder, answer, this.options.system.now() + KEEP_MS);
  }

  /**
   * Runs `change`, which returns whether this run still has the lock. Logs if it failed, or if the lock was lost. The
   * client gets its response anyway: a repeated request finds the write in the log. Returns false if the lock was lost.
   */
  private async settle(change: () => Promise<boolean>): Promise<boolean> {
    const { log, metrics } = this.options;
    try {
      const is_held = await change();
      if (is_held) return true;
      metrics?.lockLost();
      log.warn('the lock of an idempotency key was lost; another run of the request may have it');
      return false;
    } catch (error) {
      log.warn({ err: error }, 'storing the state of an idempotency key failed');
      return true;
    }
  }

  /** Renews the lock at intervals. Returns a function that ends this, and waits for a renewal that is under way. */
  private startRenewing({ key, holder }: { key: OperationKey; holder: string }): () => Promise<void> {
    const { store, system } = this.options;
    let renewals = Promise.resolve();
    const renew = async (): Promise<void> => {
      if (!(await this.settle(() => store.renew(key, holder, system.now() + this.lease_ms))))
        clearInterval(timer);
    };
    const timer = setInterval(
      () => {
        renewals = renewals.then(renew);
      },
      Math.min(RENEW_MS, this.lease_ms / 3),
    );
    timer.unref();
    return () => {
      clearInterval(timer);
      return renewals;
    };
  }
}

/**
 * Returns the operation of a claimed key. Its id follows from the key and the UTC day. So it is the same if the store has
 * lost the record of an earlier run: that run was on the same day or on the day before. A key may be used again when
 * its record has expired. That is on a later day, and the operation has another id then.
 */
function operationOf(
  { api_key_id, idempotency_key }: OperationKey,
  { started_at_ms, resumed }: Extract<Claimed, { outcome: 'claimed' }>,
): Pick<Operation, 'id' | 'earlier_ids' | 'since_ms' | 'started_at_ms' | 'resumed'> {
  const idAt = (ms: number): string => deriveId(ms, 'operation', api_key_id, idempotency_key);
  const startOfDay = (ms: number): number => ms - (ms % DAY_MS);
  const since_ms = started_at_ms - KEEP_MS;
  const earlier_ids = [idAt(startOfDay(since_ms))];
  // A process of the earlier release, which derived the id from the time of the claim, may have begun the operation.
  if (resumed) earlier_ids.push(idAt(started_at_ms));
  return { id: idAt(startOfDay(started_at_ms)), earlier_ids, since_ms, started_at_ms, resumed };
}

/** A key that this process has claimed. */
type OwnClaim = Pick<OnceRequest, 'key' | 'renderFailure' | 'answer_by_ms'> & {
  readonly holder: string;
  /** Whether this or an earlier run may have appended events. Only the same request may then use the key again. */
  may_have_events: boolean;
};

/** After these errors it is unknown whether events were appended. */
const UNCERTAIN_ERRORS: ReadonlySet<Condition> = new Set(['unavailable', 'database_timeout', 'internal']);

const outcomeOf = (claimed: Claimed): IdempotencyOutcome => {
  if (claimed.outcome !== 'claimed') return claimed.outcome;
  return claimed.resumed ? 'resumed' : 'first';
};

const withReplayedHeader = (answer: RenderedAnswer): RenderedAnswer => ({
  ...answer,
  headers: { ...answer.headers, 'Idempotent-Replayed': 'true' },
});

/** Throws `malformed_request` if an `Idempotency-Key` is empty or too long. */
export function assertIdempotencyKey(key: string): void {
  if (key.length >= 1 && key.length <= KEY_LENGTH_MAX) return;
  throw new CatalogError('malformed_request', {
    message: `The Idempotency-Key must have 1 to ${KEY_LENGTH_MAX} characters`,
  });
}

/** Returns a hash of the parts. The order of an object's fields and the case of ids do not change it. */
export function fingerprintOf(...parts: readonly JsonValue[]): string {
  return hash('sha256', JSON.stringify(parts.map((part) => canonical(part))), 'base64url');
}

/**
 * Sorts the fields of all objects, and converts ids to lower case. May use recursion, because bodies are at most 32
 * levels deep (`body.ts`).
 */
function canonical(value: JsonValue, field = ''): JsonValue {
  if (typeof value === 'string') return ID_FIELD.test(field) && isUuid(value) ? value.toLowerCase() : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => canonical(item, field));
  const names = Object.keys(value).sort();
  // An object would put names that look like numbers first, so the fields become an array of pairs. The object around
  // it distinguishes them from an array in the body.
  return { fields: names.map((name) => [name, canonical(value[name]!, name)]) };
}

/** Fields and query parameters whose values are ids. Other texts, such as a title, may look like one. */
const ID_FIELD = /_ids?$/;
