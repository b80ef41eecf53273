import type { JsonObject } from '../shared/contracts/envelope';
import { REALMS, type Realm } from '../shared/contracts/realm';
import type { ReadyCheck } from '../shared/http/health';
import type { Runtime } from './runtime';

/**
 * Whether each realm's log and documents answer, how far each lane is behind the log (in positions), and which
 * streams are parked (decisions §9). Lag and parked streams are told, and do not make the service unready:
 * reads go on.
 */
export function readiness(runtime: Runtime): ReadyCheck {
  return async () => {
    const realms = await Promise.all(REALMS.map((realm) => realmReadiness(runtime, realm)));
    const details = Object.fromEntries(REALMS.map((realm, index) => [realm, realms[index]!.details]));
    return { ok: realms.every((realm) => realm.ok), details };
  };
}

async function realmReadiness(runtime: Runtime, realm: Realm): Promise<{ ok: boolean; details: JsonObject }> {
  const [head, view] = await Promise.all([
    runtime.events[realm].head().catch(() => undefined),
    runtime.views[realm].current().catch(() => undefined),
  ]);
  const event_store = head === undefined ? 'unavailable' : 'ok';
  if (!view) return { ok: false, details: { event_store, view_store: 'unavailable' } };
  const [checkpoints, parked] = await Promise.all([view.checkpoints(), view.parked()]);
  const lag = checkpoints.map((checkpoint) =>
    head !== undefined && head > checkpoint ? Number(head - checkpoint) : 0,
  );
  const details = { event_store, view_store: 'ok', lag, parked: parked.map(({ stream }) => stream) };
  return { ok: head !== undefined, details };
}
