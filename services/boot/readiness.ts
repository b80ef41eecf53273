import type { JsonObject } from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import type { MetricsText } from '../../shared/http/metrics';
import type { ReadyCheck } from '../../shared/http/operational';
import { checkSharp } from '../../shared/images/sharp';
import { DamagedFileError } from '../../shared/kernel/errors';
import type { StoreHealth } from '../../shared/ports/event-store';
import type { Tier } from '../../shared/ports/rate-limiter';
import { readDisk } from '../metrics/disk-reading';
import { orUndefined, readPipelines } from '../metrics/pipeline-reading';
import { lastBackupFile } from './copy-data';
import type { Pipelines } from './pipelines';
import type { Runtime } from './runtime';

/** The tier of the readiness check. It is so large that the check itself is never limited. */
const CHECK_TIER: Tier = { burst: 1_000, refill_per_s: 1_000, limit: 1_000, per_day: null };

/**
 * The check may use a head of this age, so that all realms and all checks of a second share one read. An outage of the
 * event store is noticed that much later.
 */
const HEAD_AGE_MS = 1_000;
/** The check may use a comparison of log and documents of this age, so that frequent checks cost nothing. */
const MATCH_AGE_MS = 4_000;

/**
 * What a process may depend on.
 * - `documents`: every realm has been projected at least once.
 * - `matching_log`: the documents of every realm were made from its log. Counts as available until a check shows that
 *   they were not.
 * - `image_library`: counts as available until a picture needs it.
 */
export type Dependency =
  | ('event_store' | 'view_store' | 'documents' | 'matching_log')
  | ('job_queue' | 'image_library');

export interface ReadinessNeeds {
  readonly dependencies: readonly Dependency[];
  /** The pipelines of this process, if it projects. */
  readonly pipelines?: Pipelines;
  /** What the start of this process still waits for. */
  readonly starting?: ReadonlySet<StartStep>;
}

/**
 * - `catch_up`: what was in the log at the start is not projected yet.
 * - `demo`: the data of the demo cannot be read yet.
 */
export type StartStep = 'catch_up' | 'demo';

/**
 * Reads need neither the log nor the queue. With them in this list, an outage of the log would make every query process
 * unready, although it could still serve reads.
 */
export const READS: ReadinessNeeds = { dependencies: ['view_store', 'documents'] };
export const WRITES: ReadinessNeeds = {
  dependencies: ['event_store', 'view_store', 'documents', 'matching_log', 'image_library'],
};
export const PROJECTIONS: ReadinessNeeds = {
  dependencies: ['event_store', 'view_store', 'documents', 'matching_log', 'job_queue', 'image_library'],
};

/**
 * Returns the check behind `/health/ready` (docs/interface/requests.md#health-and-metrics). A process is ready if every
 * dependency in `needs` responds, the documents have caught up with what was in the log at the start, and the demo, if
 * this process creates one, can be read.
 *
 * The check also reports, without effect on readiness:
 * - since when an operator has paused a realm, because reads continue and writes are stored;
 * - the lag of each partition in log positions and the dead letters of each realm, because reads continue;
 * - a damaged file of a store that still responds, because requests that do not need the damaged part succeed;
 * - the rate limiter, because each process limits on its own without it;
 * - the idempotency store, because only writes with an Idempotency-Key need it.
 */
export function readiness(runtime: Runtime, needs: ReadinessNeeds): ReadyCheck {
  const { limiter, idempotency } = runtime;
  return async () => {
    const [image_library, rate_limiter, idempotency_store, ...realms] = await Promise.all([
      stateOf(checkImageLibrary(needs)),
      stateOf(limiter.take('health', CHECK_TIER)),
      orUndefined(idempotency.check()),
      ...REALMS.map((realm) => checkRealm(runtime, realm, needs)),
    ]);
    const missing = new Set(realms.flatMap((realm) => realm.missing));
    if (image_library === 'unavailable') missing.add('image_library');
    const waiting_for: string[] = needs.dependencies.filter((dependency) => missing.has(dependency));
    waiting_for.push(...(needs.starting ?? []));
    const details = Object.fromEntries(REALMS.map((realm, index) => [realm, realms[index]!.details]));
    return {
      ok: waiting_for.length === 0,
      details: {
        waiting_for,
        outages: runtime.outages.current(),
        ...details,
        image_library,
        rate_limiter,
        idempotency_store: idempotency_store ?? 'unavailable',
      },
    };
  };
}

/** What answers `/health/ready` and `/metrics`. */
export interface Operations {
  readonly ready: ReadyCheck;
  readonly metrics_text: () => Promise<MetricsText>;
}

/** Answers for this process alone. Reads the stores at each scrape. */
export function startOperations(runtime: Runtime, ready: ReadyCheck): Operations {
  const { config, metrics } = runtime;
  const { EVENTSTORE_URL, MONGODB_URL, REDIS_URL, DATA_DIR } = config;
  const has_embedded = [EVENTSTORE_URL, MONGODB_URL, REDIS_URL].includes(undefined);
  metrics.collectProcessMetrics();
  metrics.setSources({
    pipelines: () => readPipelines(runtime),
    ready: () =>
      ready().then(
        ({ ok }) => ok,
        () => false,
      ),
    disk: async () => (has_embedded ? readDisk(DATA_DIR, lastBackupFile(DATA_DIR)) : undefined),
  });
  return { ready, metrics_text: metrics.text };
}

const stateOf = async (checking: Promise<unknown>): Promise<'ok' | 'unavailable'> =>
  (await orUndefined(checking.then(() => true))) ? 'ok' : 'unavailable';

/** Rejects if this process needs the image library, could not load it, and still cannot. */
async function checkImageLibrary({ dependencies }: ReadinessNeeds): Promise<void> {
  if (dependencies.includes('image_library')) checkSharp();
}

interface RealmState {
  readonly missing: readonly Dependency[];
  readonly details: JsonObject;
}

async function checkRealm(
  runtime: Runtime,
  realm: Realm,
  { pipelines }: ReadinessNeeds,
): Promise<RealmState> {
  const pipeline = pipelines?.pipelineOf(realm);
  const events = runtime.events[realm];
  const [head, documents, queue, match, paused_since] = await Promise.all([
    orUndefined(events.head(HEAD_AGE_MS)),
    orUndefined(documentsOf(runtime, realm)),
    orUndefined(pipeline?.checkQueue() ?? Promise.resolve('unknown')),
    orUndefined(matchOf(runtime, realm)),
    orUndefined(runtime.viewStores[realm].pausedSince()),
  ]);
  // After `head`, which may be the first to notice that the log is damaged.
  const log = worst(await healthOf(events), pipeline?.health?.log);
  const missing: Dependency[] = [];
  if (head === undefined || log === 'not_writable') missing.push('event_store');
  if (documents === undefined || documents === 'damaged') missing.push('view_store');
  else if (documents === null) missing.push('documents');
  if (queue === undefined) missing.push('job_queue');
  if (match?.mismatch !== undefined) missing.push('matching_log');
  const view =
    documents === 'damaged' ? documents : worst(documents?.health ?? 'ok', pipeline?.health?.documents);
  // Only a process that projects writes documents.
  if (view === 'not_writable' && pipeline) missing.push('view_store');
  const stateIn = (dependency: Dependency, health: StoreHealth): string => {
    if (health !== 'ok') return health;
    return missing.includes(dependency) ? 'unavailable' : 'ok';
  };
  const details: JsonObject = {
    event_store: stateIn('event_store', log),
    view_store: stateIn('view_store', view),
  };
  Object.assign(details, match ?? { matching_log: 'unknown' });
  if (pipeline) Object.assign(details, { job_queue: queue ?? 'unavailable', pipeline: pipeline.state });
  if (pipeline?.rebuilding) Object.assign(details, { rebuilding: { ...pipeline.rebuilding } });
  if (paused_since !== undefined) Object.assign(details, { paused_since });
  if (documents && documents !== 'damaged') Object.assign(details, describe(documents, head));
  return { missing, details };
}

/** Returns whether the documents were made from the log, with the reason if they were not. */
async function matchOf(runtime: Runtime, realm: Realm): Promise<{ matching_log: string; mismatch?: string }> {
  const mismatch = await runtime.log_matches[realm].check(MATCH_AGE_MS);
  return mismatch ? { matching_log: 'no', mismatch: mismatch.message } : { matching_log: 'yes' };
}

interface Documents {
  readonly checkpoints: readonly bigint[];
  readonly dead_letters: readonly string[];
  readonly health: StoreHealth;
}

/** Returns null if the realm was never projected, and `damaged` if that cannot be read because a file is damaged. */
async function documentsOf(runtime: Runtime, realm: Realm): Promise<Documents | null | 'damaged'> {
  try {
    const view = await runtime.views[realm].current();
    if (!view) return null;
    const [checkpoints, dead_letters] = await Promise.all([view.checkpoints(), view.deadLetters()]);
    const health = await healthOf(view);
    return { checkpoints, dead_letters: dead_letters.map(({ stream }) => stream), health };
  } catch (error) {
    if (error instanceof DamagedFileError) return 'damaged';
    throw error;
  }
}

/** Each process learns only from its own calls that a file is damaged or cannot be written. */
function worst(own: StoreHealth, of_projections: StoreHealth = 'ok'): StoreHealth {
  if (own === 'damaged' || of_projections === 'damaged') return 'damaged';
  return own === 'ok' ? of_projections : own;
}

/** A probe that does not end in time counts as a store that cannot be written. */
async function healthOf(store: { health?(): Promise<StoreHealth> }): Promise<StoreHealth> {
  if (!store.health) return 'ok';
  return (await orUndefined(store.health())) ?? 'not_writable';
}

function describe({ checkpoints, dead_letters }: Documents, head: bigint | undefined): JsonObject {
  const lag = checkpoints.map((checkpoint) =>
    head !== undefined && head > checkpoint ? Number(head - checkpoint) : 0,
  );
  return { lag, dead_letters: [...dead_letters] };
}
