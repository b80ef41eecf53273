import type { JsonObject } from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import type { ReadyCheck } from '../../shared/http/operational';
import { withTimeout } from '../../shared/kernel/async';
import type { Tier } from '../../shared/ports/rate-limiter';
import type { Pipelines } from './pipelines';
import type { Runtime } from './runtime';

/** A bucket that nothing is ever refused from. */
const PROBE: Tier = { burst: 1_000, refill_per_s: 1_000, limit: 1_000, per_day: null };

/** A part that takes longer than this to answer counts as unavailable. */
const ANSWER_MS = 2_000;

/** What a process cannot do its work without. */
export type Part = 'event_store' | 'view_store' | 'documents' | 'job_queue';

export interface Needs {
  readonly parts: readonly Part[];
  /** Of this process, where it projects. */
  readonly pipelines?: Pipelines;
}

/** Reads go on while the log or the queue is gone: a balancer must not take every reader away then. */
export const READS: Needs = { parts: ['view_store', 'documents'] };
export const WRITES: Needs = { parts: ['event_store', 'view_store', 'documents'] };
export const PROJECTIONS: Needs = { parts: ['event_store', 'view_store', 'documents', 'job_queue'] };

/**
 * Whether all that the process needs answers, and else what it waits for; besides, of each realm, whether its parts
 * answer, how far each lane is behind the log (in positions), and which streams are parked (decisions §9). Lag and
 * parked streams are told, and do not make the process unready: reads go on. Nor do the limiter, without which each
 * process limits on its own, and the idempotency store, without which writes with a key alone are refused.
 */
export function readiness(runtime: Runtime, needs: Needs): ReadyCheck {
  const { limiter, idempotency, system } = runtime;
  return async () => {
    const [rate_limiter, idempotency_store, ...realms] = await Promise.all([
      stateOf(limiter.take('health', PROBE, system.now())),
      stateOf(idempotency.check()),
      ...REALMS.map((realm) => lookAt(runtime, realm, needs)),
    ]);
    const missing = new Set(realms.flatMap((realm) => realm.missing));
    const waiting_for = needs.parts.filter((part) => missing.has(part));
    const details = Object.fromEntries(REALMS.map((realm, index) => [realm, realms[index]!.details]));
    return {
      ok: waiting_for.length === 0,
      details: { waiting_for, ...details, rate_limiter, idempotency_store },
    };
  };
}

const stateOf = async (asked: Promise<unknown>): Promise<'ok' | 'unavailable'> =>
  (await answer(asked.then(() => true))) ? 'ok' : 'unavailable';

interface Look {
  readonly missing: readonly Part[];
  readonly details: JsonObject;
}

async function lookAt(runtime: Runtime, realm: Realm, { pipelines }: Needs): Promise<Look> {
  const pipeline = pipelines?.of(realm);
  const [head, documents, queue] = await Promise.all([
    answer(runtime.events[realm].head()),
    answer(documentsOf(runtime, realm)),
    answer(pipeline?.askQueue() ?? Promise.resolve('unknown')),
  ]);
  const missing: Part[] = [];
  if (head === undefined) missing.push('event_store');
  if (documents === undefined) missing.push('view_store');
  else if (documents === null) missing.push('documents');
  if (queue === undefined) missing.push('job_queue');
  const told = (part: Part): string => (missing.includes(part) ? 'unavailable' : 'ok');
  const details: JsonObject = { event_store: told('event_store'), view_store: told('view_store') };
  if (pipeline) Object.assign(details, { job_queue: queue ?? 'unavailable', pipeline: pipeline.state });
  if (documents) Object.assign(details, describe(documents, head));
  return { missing, details };
}

interface Documents {
  readonly checkpoints: readonly bigint[];
  readonly parked: readonly string[];
}

/** Null where nothing was ever projected. */
async function documentsOf(runtime: Runtime, realm: Realm): Promise<Documents | null> {
  const view = await runtime.views[realm].current();
  if (!view) return null;
  const [checkpoints, parked] = await Promise.all([view.checkpoints(), view.parked()]);
  return { checkpoints, parked: parked.map(({ stream }) => stream) };
}

function describe({ checkpoints, parked }: Documents, head: bigint | undefined): JsonObject {
  const lag = checkpoints.map((checkpoint) =>
    head !== undefined && head > checkpoint ? Number(head - checkpoint) : 0,
  );
  return { lag, parked: [...parked] };
}

/** Undefined where it fails, or comes too late. */
async function answer<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  return withTimeout(asked, ANSWER_MS, () => undefined).catch(() => undefined);
}
