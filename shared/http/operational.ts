import { errorCatalogue, notReadyBody } from '../api/error-catalogue';
import type { JsonObject } from '../catalog/events/envelope';
import type { MetricsText } from './metrics';
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

/** Returns `/metrics` for Prometheus. It needs no token, so a gateway must not expose it (docs/http.md). */
export function metricsRoute(getMetrics: () => Promise<MetricsText>): PublicRoute {
  return {
    path: '/metrics',
    serve: async (_req, res) => {
      const { content_type, body } = await getMetrics();
      res.setHeader('Cache-Control', 'no-store');
      sendText(res, body, content_type);
    },
  };
}
