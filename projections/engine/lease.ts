import { randomUUID } from 'node:crypto';
import type { Logger } from '../../shared/kernel/log';
import type { ViewStore } from '../../shared/ports/view-store';
import { reasonOf } from './errors';

/** A name for this process as a lease's owner, by which a store on the same machine can tell that it is gone. */
export function leaseOwner(): string {
  return `pid:${process.pid}:${randomUUID()}`;
}

/** Renewed four times within its time to live, so that one slow call does not lose it. */
const RENEWALS_PER_TTL = 4;

export interface HeldLease {
  /** Aborted when another holds the lease, or it could not be renewed in time. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Takes the lease and keeps it until `release`; undefined while another's holds. */
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
      log.warn({ lease: name, reason: reasonOf(error) }, 'a lease could not be renewed');
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
      // A store that cannot be reached lets the lease run out by itself.
      await views.release(name, owner).catch(() => undefined);
    },
  };
}
