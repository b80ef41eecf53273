import { errorCatalogue, notReadyBody } from '../api/error-catalogue';
import type { JsonObject } from '../catalog/events/envelope';
import type { Config } from '../kernel/config';
import { CatalogError } from '../kernel/errors';
import type { MetricsText } from './metrics';
import { parseAddresses } from './rate-limit';
import { sendAnswer, sendJson, sendText } from './respond';
import type { PublicRoute } from './route';

/**
 * Checks whether every dependency of the service responds. `details` has the state of each
 * (docs/interface.md#health-and-metrics).
 */
export type ReadyCheck = () => Promise<ReadyState>;

export interface ReadyState {
  readonly ok: boolean;
  readonly details: JsonObject;
}

/**
 * Returns `/health/live`, which always responds, and `/health/ready`, which is 503 if the service cannot serve
 * requests.
 */
export function healthRoutes(checkReady: ReadyCheck = alwaysReady): PublicRoute[] {
  return [
    {
      path: '/health/live',
      serve: (req, res) => {
        res.setHeader('Cache-Control', 'no-store');
        return sendAnswer(req, res, { data: { live: true } });
      },
    },
    {
      path: '/health/ready',
      serve: async (req, res) => {
        res.setHeader('Cache-Control', 'no-store');
        const { ok, details } = await checkReady().catch(() => ({ ok: false, details: {} }));
        if (ok) return sendAnswer(req, res, { data: { ready: true, ...details } });
        res.setHeader('Retry-After', String(errorCatalogue.unavailable.retry_after_s));
        sendJson(res, 503, notReadyBody(details));
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
    serve: async (req, res) => {
      const is_forwarded = GATEWAY_HEADERS.some((name) => req.headers[name] !== undefined);
      if (is_forwarded || !mayRead(req.socket.remoteAddress ?? ''))
        throw new CatalogError('path_not_found', {
          message: 'METRICS_FROM does not allow this address to read /metrics',
        });
      const { content_type, body } = await getMetrics();
      res.setHeader('Cache-Control', 'no-store');
      sendText(res, body, content_type);
    },
  };
}
