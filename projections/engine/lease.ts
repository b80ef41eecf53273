import { randomUUID } from 'node:crypto';
import type { Logger } from '../../shared/kernel/log';
import type { ViewStore } from '../../shared/ports/view-store';
import { logRetried } from './errors';

/**
 * Returns a unique name of this process as the owner of a lease. It contains the process id, so that an embedded store
 * can release the lease of a process that has ended.
 */
export function leaseOwner(): string {
  return `pid:${process.pid}:${randomUUID()}`;
}

/** Number of renewals within the time to live of a lease. With four, one slow call does not lose the lease. */
const RENEWALS_PER_TTL = 4;

export interface HeldLease {
  /** Aborts when another owner has the lease, or when it could not be renewed within its time to live. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Takes the lease and renews it until `release` is called. Returns undefined if another owner has it. */
export async function takeLease(
  views: ViewStore,
  name: string,
  owner: string,
  ttl_ms: number,
  log: Logger,
): Promise<HeldLease | undefined> {
  if (!(await views.lease(name, owner, ttl_ms))) return undefined;
  const lost = new AbortController();
  let renewed_at_ms = performance.now();
  let renewing = Promise.resolve();
  const renew = async (): Promise<void> => {
    try {
      if (await views.lease(name, owner, ttl_ms)) renewed_at_ms = performance.now();
      else lost.abort();
    } catch (error) {
      logRetried(log, error, { lease: name }, 'renewing a lease failed; retrying');
      if (performance.now() - renewed_at_ms > ttl_ms) lost.abort();
    }
  };
  const timer = setInterval(() => {
    renewing = renewing.then(renew);
  }, ttl_ms / RENEWALS_PER_TTL);
  return {
    lost: lost.signal,
    release: async () => {
      clearInterval(timer);
      await renewing;
      // If the store cannot be reached, the lease expires after its time to live.
      await views.release(name, owner).catch(() => undefined);
    },
  };
}
