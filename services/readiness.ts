import type { JsonObject } from '../shared/contracts/envelope';
import { REALMS, type Realm } from '../shared/contracts/realm';
import type { ReadyCheck } from '../shared/http/health';
import type { Tier } from '../shared/ports/rate-limiter';
import type { Runtime } from './runtime';

/** A bucket that nothing is ever refused from. */
const PROBE: Tier = { burst: 1_000, refill_per_s: 1_000, limit: 1_000, per_day: null };

/**
 * Whether each realm's log and documents answer, how far each lane is behind the log (in positions), and which
 * streams are parked (decisions §9). Lag and parked streams are told, and do not make the service unready: reads go
 * on. Nor do the limiter, without which each process limits on its own, and the idempotency store, without which
 * writes with a key alone are refused.
 */
export function readiness(runtime: Runtime): ReadyCheck {
  const { limiter, idempotency, system } = runtime;
  return async () => {
    const [rate_limiter, idempotency_store, ...realms] = await Promise.all([
      stateOf(limiter.take('health', PROBE, system.now())),
      stateOf(idempotency.check()),
      ...REALMS.map((realm) => realmReadiness(runtime, realm)),
    ]);
    const details = Object.fromEntries(REALMS.map((realm, index) => [realm, realms[index]!.details]));
    return {
      ok: realms.every((realm) => realm.ok),
      details: { ...details, rate_limiter, idempotency_store },
    };
  };
}

async function stateOf(asking: Promise<unknown>): Promise<'ok' | 'unavailable'> {
  return asking.then(
    () => 'ok',
    () => 'unavailable',
  );
}

async function realmReadiness(runtime: Runtime, realm: Realm): Promise<{ ok: boolean; details: JsonObject }> {
  const [head, documents] = await Promise.all([
    runtime.events[realm].head().catch(() => undefined),
    readDocuments(runtime, realm).catch(() => undefined),
  ]);
  const event_store = head === undefined ? 'unavailable' : 'ok';
  if (!documents) return { ok: false, details: { event_store, view_store: 'unavailable' } };
  const { checkpoints, parked } = documents;
  const lag = checkpoints.map((checkpoint) =>
    head !== undefined && head > checkpoint ? Number(head - checkpoint) : 0,
  );
  const details = { event_store, view_store: 'ok', lag, parked: parked.map(({ stream }) => stream) };
  return { ok: head !== undefined, details };
}

async function readDocuments(runtime: Runtime, realm: Realm) {
  const view = await runtime.views[realm].current();
  if (!view) throw new Error('nothing was projected yet');
  const [checkpoints, parked] = await Promise.all([view.checkpoints(), view.parked()]);
  return { checkpoints, parked };
}
