import { errorCatalogue, notReadyBody } from '../api/error-catalogue';
import type { JsonObject } from '../catalog/events/envelope';
import type { Config } from '../kernel/config';
import { CatalogError } from '../kernel/errors';
import { VERSION } from '../kernel/version';
import type { MetricsText } from './metrics';
import { parseAddresses } from './rate-limit';
import type { PublicRoute } from './route';

/**
 * Checks whether every dependency of the service responds. `details` has the state of each
 * (docs/interface/requests.md#health-and-metrics).
 */
export type ReadyCheck = () => Promise<ReadyState>;

export interface ReadyState {
  readonly ok: boolean;
  readonly details: JsonObject;
}

const NO_STORE = { 'Cache-Control': 'no-store' };

/**
 * Returns `/health/live`, which always responds, and `/health/ready`, which is 503 if the service cannot serve
 * requests.
 */
export function healthRoutes(checkReady: ReadyCheck = alwaysReady): PublicRoute[] {
  return [
    { path: '/health/live', serve: () => ({ data: { live: true, version: VERSION }, headers: NO_STORE }) },
    {
      path: '/health/ready',
      serve: async () => {
        const { ok, details } = await checkReady().catch(() => ({ ok: false, details: {} }));
        if (ok) return { data: { ready: true, ...details }, headers: NO_STORE };
        const headers = { ...NO_STORE, 'Retry-After': String(errorCatalogue.unavailable.retry_after_s) };
        return { status: 503, body: JSON.stringify(notReadyBody(details)), headers };
      },
    },
  ];
}

const alwaysReady: ReadyCheck = async () => ({ ok: true, details: {} });

/** Headers that gateways add: such a request comes from another address than its connection. */
const GATEWAY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'];

/**
 * Returns `/metrics` for Prometheus. It needs no token, so only the addresses in `METRICS_FROM` may read it, and never
 * through a gateway (docs/metrics.md). For all others the path does not exist. Throws `ConfigError`.
 */
export function metricsRoute(
  getMetrics: () => Promise<MetricsText>,
  { METRICS_FROM }: Pick<Config, 'METRICS_FROM'>,
): PublicRoute {
  const mayRead = parseAddresses('METRICS_FROM', METRICS_FROM, 'a list of addresses');
  return {
    path: '/metrics',
    serve: async (req) => {
      const is_forwarded = GATEWAY_HEADERS.some((name) => req.headers[name] !== undefined);
      if (is_forwarded || !mayRead(req.socket.remoteAddress ?? ''))
        throw new CatalogError('path_not_found', {
          message: 'METRICS_FROM does not allow this address to read /metrics',
        });
      return { ...(await getMetrics()), headers: NO_STORE };
    },
  };
}
