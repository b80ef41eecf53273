import type { Express } from 'express';
import { MemoryRateLimiter } from '../../shared/adapters/in-process/rate-limiter';
import { buildApp } from '../../shared/http/app';
import { Authenticator } from '../../shared/http/auth';
import type { ReadyCheck } from '../../shared/http/operational';
import { loadTokenKeys } from '../../shared/http/token-keys';
import { TokenCodec } from '../../shared/http/tokens';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { authEndpoints } from '../auth/endpoints';
import { recordApiKeyUse } from '../command/api-key';
import { commandRoutes } from '../command/routes';
import { docsRoutes } from '../docs/routes';
import { pictureRoute } from '../media/public-files';
import { readPipelines } from '../metrics/pipeline-reading';
import { queryRoutes } from '../query/routes';
import type { RecordView } from '../query/view-counter';
import { READS, readiness, WRITES } from './readiness';
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

/** Reads: `services/query`. `recordView` is told of every view. */
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
