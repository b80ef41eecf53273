import type { Express } from 'express';
import { errorCatalogue } from '../api/error-catalogue';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError } from '../kernel/errors';
import { endWith } from './compress';
import { contextOf } from './context';
import type { MetricsText } from './metrics';
import { allowOf } from './path-table';
import { sendAnswer, sendJson } from './send';
import { notReadyBody } from './send-error';

/** Whether every part that the service needs answers; `details` tells of each (decisions §9). */
export type ReadyCheck = () => Promise<{ readonly ok: boolean; readonly details: JsonObject }>;

/** `/health/live`: the process answers. `/health/ready`: it can serve; 503 with the same details where it cannot. */
export function addHealth(app: Express, ready: ReadyCheck | undefined): void {
  app.route('/health/live').get((req, res) => {
    contextOf(res).route = '/health/live';
    res.setHeader('Cache-Control', 'no-store');
    sendAnswer(req, res, { data: { live: true } });
  });
  app.route('/health/ready').get(async (req, res) => {
    contextOf(res).route = '/health/ready';
    res.setHeader('Cache-Control', 'no-store');
    const { ok, details } = await ask(ready);
    if (ok) sendAnswer(req, res, { data: { ready: true, ...details } });
    else {
      res.setHeader('Retry-After', String(errorCatalogue.unavailable.retry_after_s));
      sendJson(res, 503, notReadyBody(details));
    }
  });
  app.all(['/health/live', '/health/ready'], (req, res) => {
    res.setHeader('Allow', allowOf(['GET']));
    if (req.method !== 'OPTIONS') throw new CatalogError('method_not_allowed');
    res.status(204).end();
  });
}

/** `/metrics`, for Prometheus. No token: whoever must not see it is kept away by what stands in front (docs/http.md). */
export function addMetrics(app: Express, text: () => Promise<MetricsText>): void {
  const path = app.route('/metrics');
  path.get(async (_req, res) => {
    contextOf(res).route = '/metrics';
    const { content_type, body } = await text();
    res.setHeader('Cache-Control', 'no-store');
    res.setHeader('Content-Type', content_type);
    endWith(res, body);
  });
  path.all((req, res) => {
    res.setHeader('Allow', allowOf(['GET']));
    if (req.method !== 'OPTIONS') throw new CatalogError('method_not_allowed');
    res.status(204).end();
  });
}

/** A check that fails is an answer as well. */
async function ask(ready: ReadyCheck | undefined): ReturnType<ReadyCheck> {
  if (ready === undefined) return { ok: true, details: {} };
  return ready().catch(() => ({ ok: false, details: {} }));
}
