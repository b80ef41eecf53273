import type { RequestListener } from 'node:http';
import express from 'express';
import type { IdempotencyStore } from '../ports/idempotency-store';
import type { BearerAuthenticator } from './auth';
import { Idempotency } from './idempotency';
import type { HttpMetrics, MetricsText } from './metrics';
import { healthRoutes, metricsRoute, type ReadyCheck } from './operational';
import { Pipeline, type PipelineOptions } from './pipeline';
import { Limits, type LimitsOptions } from './rate-limit';

export interface AppOptions
  extends LimitsOptions,
    Pick<PipelineOptions, 'routes' | 'freshness' | 'trace'>,
    Partial<Pick<PipelineOptions, 'auth' | 'public_routes'>> {
  readonly authenticator: BearerAuthenticator;
  /** Required in a process that serves writes. Without it, the app ignores `Idempotency-Key`. */
  readonly idempotency_store?: IdempotencyStore;
  /** Check behind `/health/ready`. Default: always ready. */
  readonly ready?: ReadyCheck;
  /** Returns the body of `/metrics`. Without it, there is no such route. */
  readonly metrics_text?: () => Promise<MetricsText>;
}

/** Builds the app of a process: the pipeline with the stages of docs/http.md#stages. Throws `ConfigError`. */
export function buildApp(options: AppOptions): RequestListener {
  const { config, log, system, metrics, authenticator, routes, auth = {}, freshness, trace } = options;
  const store = options.idempotency_store;
  const records_max = config.IDEMPOTENCY_RECORDS_MAX;
  const idempotency = store && new Idempotency({ store, system, log, metrics, records_max });
  const public_routes = [...(options.public_routes ?? []), ...healthRoutes(options.ready)];
  if (options.metrics_text) public_routes.push(metricsRoute(options.metrics_text, config));
  const admission = { authenticator, limits: new Limits(options) };
  const pipeline = new Pipeline({
    ...{ log, system, metrics, routes, auth, public_routes, admission, idempotency, freshness, trace },
  });
  return mount(pipeline);
}

export interface HealthAppOptions extends Pick<AppOptions, 'config' | 'log' | 'system'> {
  readonly ready: ReadyCheck;
  readonly metrics: HttpMetrics;
  readonly metrics_text: () => Promise<MetricsText>;
}

/** Builds the app of a process that serves only `/health/*` and `/metrics`. */
export function buildHealthApp({
  ready,
  metrics_text,
  config,
  ...records
}: HealthAppOptions): RequestListener {
  const public_routes = [...healthRoutes(ready), metricsRoute(metrics_text, config)];
  return mount(new Pipeline({ ...records, routes: [], auth: {}, public_routes }));
}

/**
 * Returns the app with the pipeline as its only handler. Requests that the edge cache may answer do not pass through
 * Express: it would add a fourth to their cost, because it changes the prototypes of each request and response.
 */
function mount(pipeline: Pipeline): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.use(pipeline.serve);
  return (req, res) => (/^\/(api|ucp)\//.test(req.url ?? '') ? pipeline.serve(req, res) : app(req, res));
}
