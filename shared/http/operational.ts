import { errorCatalogue, notReadyBody } from '../api/error-catalogue';
import type { JsonObject } from '../catalog/events/envelope';
import type { MetricsText } from './metrics';
import { sendAnswer, sendJson, sendText } from './respond';
import type { PublicRoute } from './route';

/** Whether every part that the service needs answers. `details` has the state of each (decisions §9). */
export type ReadyCheck = () => Promise<{ readonly ok: boolean; readonly details: JsonObject }>;

/** `/health/live`: the process answers. `/health/ready`: it can serve; 503 with the same details if it cannot. */
export function healthRoutes(check: ReadyCheck = alwaysReady): PublicRoute[] {
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
        const { ok, details } = await check().catch(() => ({ ok: false, details: {} }));
        if (ok) return sendAnswer(req, res, { data: { ready: true, ...details } });
        res.setHeader('Retry-After', String(errorCatalogue.unavailable.retry_after_s));
        sendJson(res, 503, notReadyBody(details));
      },
    },
  ];
}

const alwaysReady: ReadyCheck = async () => ({ ok: true, details: {} });

/** `/metrics`, for Prometheus. Needs no token: a gateway in front keeps strangers away (docs/http.md). */
export function metricsRoute(text: () => Promise<MetricsText>): PublicRoute {
  return {
    path: '/metrics',
    serve: async (_req, res) => {
      const { content_type, body } = await text();
      res.setHeader('Cache-Control', 'no-store');
      sendText(res, body, content_type);
    },
  };
}
