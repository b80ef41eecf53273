import type { Express } from 'express';
import { MemoryRateLimiter } from '../../shared/adapters/in-process/rate-limiter';
import { buildApp, buildProbeApp } from '../../shared/http/app';
import { Authenticator } from '../../shared/http/auth';
import type { ReadyCheck } from '../../shared/http/operational';
import { loadTokenKeys } from '../../shared/http/token-keys';
import { TokenCodec } from '../../shared/http/tokens';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { authEndpoints } from '../auth/endpoints';
import { recordApiKeyUse } from '../command/api-key';
import { recordViews } from '../command/publication';
import { commandRoutes } from '../command/routes';
import { docsRoutes } from '../docs/routes';
import { pictureRoute } from '../media/public-files';
import { readPipelines } from '../metrics/pipeline-reading';
import { queryRoutes } from '../query/routes';
import { type RecordView, type ViewBatch, ViewCounter } from '../query/view-counter';
import { type Listening, listen } from './listen';
import type { Pipelines } from './pipelines';
import { PROJECTIONS, READS, readiness, WRITES } from './readiness';
import type { Runtime } from './runtime';

/** What both apps stand on: the edge, and who may pass it. */
async function edge(runtime: Runtime, ready: ReadyCheck) {
  const { config, log, system, limiter, metrics } = runtime;
  const tokens = new TokenCodec({ ring: await loadTokenKeys(config), issuer: config.JWT_ISSUER, system });
  const authenticator = new Authenticator({
    tokens,
    keys: runtime.views.control,
    system,
    onCache: metrics.onCache,
  });
  const fallback_limiter = new MemoryRateLimiter();
  metrics.serve({ pipelines: () => readPipelines(runtime) });
  const counted = { metrics, metrics_text: metrics.text };
  return {
    tokens,
    authenticator,
    shared: { config, log, system, limiter, fallback_limiter, authenticator, ready, ...counted },
  };
}

/** Writes and tokens: `services/command` with `services/auth`. */
export async function buildCommandApp(
  runtime: Runtime,
  ready: ReadyCheck = readiness(runtime, WRITES),
): Promise<Express> {
  const { tokens, authenticator, shared } = await edge(runtime, ready);
  const { system, events, views, log, blobs, mediaTasks, metrics } = runtime;
  const onKeyUsed = async (id: ApiKeyId): Promise<void> => {
    await recordApiKeyUse(
      { system, events },
      { source: 'system', request_id: `key-use-${system.now()}` },
      id,
    );
  };
  return buildApp({
    ...shared,
    idempotency_store: runtime.idempotency,
    routes: commandRoutes({ system, events, views, log, blobs, mediaTasks, onCache: metrics.onCache }),
    public_routes: docsRoutes(),
    auth: authEndpoints({ authenticator, tokens, system, onKeyUsed }),
  });
}

/** Reads: `services/query`. `recordView` is called for every view. */
export async function buildQueryApp(
  runtime: Runtime,
  recordView: RecordView,
  ready: ReadyCheck = readiness(runtime, READS),
): Promise<Express> {
  const { shared } = await edge(runtime, ready);
  const { views, system, metrics, blobs } = runtime;
  const pictures = { live: blobs.live.pictures, test: blobs.test.pictures };
  const routes = queryRoutes({ views, system, pictures, recordView, onCache: metrics.onCache });
  return buildApp({ ...shared, routes, public_routes: [...docsRoutes(), pictureRoute(pictures)] });
}

/**
 * Where a process without an API answers `/health/*` and `/metrics`. Undefined where the port is taken, as by
 * another one on this machine: it is told, and the process works on.
 */
export async function startProbe(runtime: Runtime, pipelines: Pipelines): Promise<Listening | undefined> {
  const { config, log, system, metrics } = runtime;
  metrics.serve({ pipelines: () => readPipelines(runtime) });
  const app = buildProbeApp({
    log,
    system,
    metrics,
    ready: readiness(runtime, { ...PROJECTIONS, pipelines }),
    metrics_text: metrics.text,
  });
  try {
    return await listen(app, config.HOST, config.WORKER_PORT);
  } catch (error) {
    log.warn({ err: error, port: config.WORKER_PORT }, 'no /health and /metrics: the port cannot be had');
    return undefined;
  }
}

/** How long a stop may take to hand on the views counted last. */
export const VIEWS_TIMEOUT_MS = 3_000;

/** The counter of a process that serves reads, joined to the log. The caller stops it before it closes the runtime. */
export function startViewCounting(runtime: Runtime): ViewCounter {
  const { config, system, log, metrics } = runtime;
  const append = ({ environment, publication_id, id, count, retried }: ViewBatch): Promise<void> => {
    const operation = { id, started_at_ms: system.now(), resumed: retried };
    const context = { source: 'system', request_id: id, operation } as const;
    return recordViews(runtime, context, { environment, id: publication_id, count });
  };
  const interval_ms = config.VIEW_FLUSH_INTERVAL_S * 1000;
  const counter = new ViewCounter({
    append,
    interval_ms,
    system,
    log,
    onDropped: () => metrics.viewDropped(),
  });
  metrics.countViews(() => counter.views);
  counter.start();
  return counter;
}
