import { hash } from 'node:crypto';
import type { JsonValue } from '../catalog/events/envelope';
import { CatalogError, type Condition } from '../kernel/errors';
import { deriveId, generateId } from '../kernel/ids';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type {
  Claim,
  Claimed,
  IdempotencyStore,
  KeptAnswer,
  Operation,
  OperationKey,
} from '../ports/idempotency-store';
import type { HttpMetrics, IdempotencyOutcome } from './metrics';

const KEY_LENGTH_MAX = 255;
/** How long an answer is kept (decisions §6). */
const KEEP_MS = 24 * 3_600_000;
/** After this the lock of a process that crashed is free; a request that runs longer renews it. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;

/**
 * The refusals that are kept like a success: what the write itself came to. Everything else (a fault of the input, a
 * store that is not open, a lost race, a failure of ours) may go another way when it is tried again.
 */
const KEPT: ReadonlySet<Condition> = new Set([
  'listing_not_found',
  'publication_not_found',
  'media_not_found',
  'precondition_failed',
]);

export interface IdempotencyOptions {
  readonly store: IdempotencyStore;
  readonly system: System;
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
  readonly lease_ms?: number;
}

/** A write that asks to be done once. */
export interface OnceRequest {
  readonly key: OperationKey;
  readonly fingerprint: string;
  readonly run: (operation: Operation) => Promise<KeptAnswer>;
  /** A refusal as it will be sent. */
  readonly refusal: (failure: CatalogError) => KeptAnswer;
}

/** `Idempotency-Key` (decisions §6): a write is carried out once, and its answer given as often as it is asked for. */
export class Idempotency {
  private readonly options: IdempotencyOptions;
  private readonly lease_ms: number;

  constructor(options: IdempotencyOptions) {
    this.options = options;
    this.lease_ms = options.lease_ms ?? LEASE_MS;
  }

  /**
   * Runs the write, or gives the answer that was kept with `Idempotent-Replayed: true`. Throws
   * `idempotency_key_reused`, `idempotency_key_locked`, what `run` throws, and what the store throws at the claim:
   * a write that asks to be done once is not done where that cannot be promised.
   */
  async once({ key, fingerprint, run, refusal }: OnceRequest): Promise<KeptAnswer> {
    const { store, system } = this.options;
    const now_ms = system.now();
    const holder = generateId(now_ms, system.random);
    const times = { now_ms, locked_until_ms: now_ms + this.lease_ms, expires_at_ms: now_ms + KEEP_MS };
    const claimed = await store.claim(key, { fingerprint, holder, ...times } satisfies Claim);
    this.options.metrics?.keyClaimed(outcomeOf(claimed));
    switch (claimed.outcome) {
      case 'answered':
        return replayed(claimed.answer);
      case 'other_request':
        throw new CatalogError('idempotency_key_reused');
      case 'locked':
        throw new CatalogError('idempotency_key_locked', {
          retry_after_s: (claimed.locked_until_ms - now_ms) / 1000,
        });
      case 'claimed': {
        const { started_at_ms, resumed } = claimed;
        const id = deriveId(started_at_ms, 'operation', key.api_key_id, key.idempotency_key);
        return this.carryOut({ key, holder, resumed, refusal }, () => run({ id, started_at_ms, resumed }));
      }
    }
  }

  private async carryOut(
    held: Pick<OnceRequest, 'key' | 'refusal'> & { holder: string; resumed: boolean },
    run: () => Promise<KeptAnswer>,
  ): Promise<KeptAnswer> {
    const stopRenewing = this.renewing(held);
    try {
      const answer = await run();
      await this.note(() => this.keep(held, answer));
      return answer;
    } catch (error) {
      await this.note(() => this.settleFailure(held, error));
      throw error;
    } finally {
      stopRenewing();
    }
  }

  private async settleFailure(
    held: Pick<OnceRequest, 'key' | 'refusal'> & { holder: string; resumed: boolean },
    error: unknown,
  ): Promise<void> {
    const { store } = this.options;
    const refused = error instanceof CatalogError && !UNCERTAIN.has(error.condition);
    if (refused && KEPT.has(error.condition)) return this.keep(held, held.refusal(error));
    // What failed half-way, now or in an earlier run, may be written: only this very request may go on with it.
    if (!refused || held.resumed) return store.release(held.key, held.holder);
    return store.forget(held.key, held.holder);
  }

  private keep({ key, holder }: { key: OperationKey; holder: string }, answer: KeptAnswer): Promise<void> {
    return this.options.store.keep(key, holder, answer, this.options.system.now() + KEEP_MS);
  }

  /** The write is done and is told of; without its record it is found again in the log once the lock has expired. */
  private async note(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.options.log.warn(
        { err: error },
        'what became of a request with an idempotency key could not be kept',
      );
    }
  }

  private renewing({ key, holder }: { key: OperationKey; holder: string }): () => void {
    const { store, system } = this.options;
    const renew = (): void => {
      void this.note(() => store.renew(key, holder, system.now() + this.lease_ms));
    };
    const timer = setInterval(renew, Math.min(RENEW_MS, this.lease_ms / 3));
    timer.unref();
    return () => clearInterval(timer);
  }
}

/** After these nobody knows whether something was written. */
const UNCERTAIN: ReadonlySet<Condition> = new Set(['unavailable', 'database_timeout', 'internal']);

const outcomeOf = (claimed: Claimed): IdempotencyOutcome => {
  if (claimed.outcome !== 'claimed') return claimed.outcome;
  return claimed.resumed ? 'resumed' : 'first';
};

const replayed = (answer: KeptAnswer): KeptAnswer => ({
  ...answer,
  headers: { ...answer.headers, 'Idempotent-Replayed': 'true' },
});

/** Throws `malformed_request` for an `Idempotency-Key` of a wrong length. */
export function assertIdempotencyKey(key: string): void {
  if (key.length >= 1 && key.length <= KEY_LENGTH_MAX) return;
  throw new CatalogError('malformed_request', {
    message: `The Idempotency-Key must have 1 to ${KEY_LENGTH_MAX} characters`,
  });
}

/** Equal for requests that ask for the same: the order of an object's fields says nothing. */
export function fingerprintOf(...parts: readonly JsonValue[]): string {
  return hash('sha256', JSON.stringify(parts.map(inOrder)), 'base64url');
}

/** Bodies are at most 32 levels deep (`body.ts`). */
function inOrder(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const names = Object.keys(value).sort();
  // As pairs, for an object would put names that look like numbers first; wrapped, so that no array looks like them.
  return { fields: names.map((name) => [name, inOrder(value[name]!)]) };
}
