import express, { type Express } from 'express';
import { CatalogError } from '../kernel/errors';
import type { IdempotencyStore } from '../ports/idempotency-store';
import type { BearerCheck } from './auth';
import { errorStage } from './errors';
import { Idempotency } from './idempotency';
import type { HttpMetrics, MetricsText } from './metrics';
import { healthRoutes, metricsRoute, type ReadyCheck } from './operational';
import { Limits, type LimitsOptions } from './rate-limit';
import { openRequest, setCommonHeaders } from './request';
import type { AuthEndpoints, PublicRoute, Route } from './route';
import { addApi, addAuth, addPublicRoute } from './routing';

export interface AppOptions extends LimitsOptions {
  readonly authenticator: BearerCheck;
  /** Given where this process serves writes. Without it an `Idempotency-Key` is ignored. */
  readonly idempotency_store?: IdempotencyStore;
  /** Endpoints of `/api`. */
  readonly routes: readonly Route[];
  /** Endpoints of `/auth`, given where this process serves them. */
  readonly auth?: AuthEndpoints;
  /** What anybody may load, such as pictures and the documentation. */
  readonly public_routes?: readonly PublicRoute[];
  readonly ready?: ReadyCheck;
  /** What `/metrics` answers. */
  readonly metrics_text?: () => Promise<MetricsText>;
}

/** Makes the Express app of a process. Its stages are in the order of `docs/http.md`. Throws `ConfigError`. */
export function buildApp(options: AppOptions): Express {
  const { log, system, metrics, authenticator, routes } = options;
  const limits = new Limits(options);
  const store = options.idempotency_store;
  const idempotency = store && new Idempotency({ store, system, log, metrics });
  const app = newApp();
  app.use(openRequest(options), setCommonHeaders);
  addApi(app, { routes, authenticator, limits, idempotency });
  addAuth(app, options.auth ?? {}, limits);
  for (const route of options.public_routes ?? []) addPublicRoute(app, route);
  for (const route of healthRoutes(options.ready)) addPublicRoute(app, route);
  if (options.metrics_text) addPublicRoute(app, metricsRoute(options.metrics_text));
  return finish(app, options);
}

export interface ProbeAppOptions extends Pick<AppOptions, 'log' | 'system'> {
  readonly ready: ReadyCheck;
  readonly metrics: HttpMetrics;
  readonly metrics_text: () => Promise<MetricsText>;
}

/** Makes the app of a process that serves nothing but `/health/*` and `/metrics`. */
export function buildProbeApp(options: ProbeAppOptions): Express {
  const app = newApp();
  app.use(openRequest(options));
  for (const route of healthRoutes(options.ready)) addPublicRoute(app, route);
  addPublicRoute(app, metricsRoute(options.metrics_text));
  return finish(app, options);
}

function newApp(): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('strict routing').enable('case sensitive routing');
  return app;
}

function finish(app: Express, { log }: Pick<AppOptions, 'log'>): Express {
  app.use(() => {
    throw new CatalogError('path_not_found');
  });
  app.use(errorStage(log));
  return app;
}
