import express, { type Express, type RequestHandler } from 'express';
import type { IdempotencyStore } from '../ports/idempotency-store';
import type { BearerAuthenticator } from './auth';
import { errorStage } from './errors';
import { Idempotency } from './idempotency';
import type { HttpMetrics, MetricsText } from './metrics';
import { healthRoutes, metricsRoute, type ReadyCheck } from './operational';
import { Limits, type LimitsOptions } from './rate-limit';
import { openRequest, setCommonHeaders } from './request';
import type { AuthEndpoints, PublicRoute, Route } from './route';
import { addApi, addAuth, addPublicRoute, rejectPath } from './routing';

export interface AppOptions extends LimitsOptions {
  readonly authenticator: BearerAuthenticator;
  /** Required in a process that serves writes. Without it, the app ignores `Idempotency-Key`. */
  readonly idempotency_store?: IdempotencyStore;
  /** Endpoints of `/api` that this process serves. */
  readonly routes: readonly Route[];
  /** Endpoints of `/auth` that this process serves. */
  readonly auth?: AuthEndpoints;
  /** Routes that need no token, such as pictures and the documentation. */
  readonly public_routes?: readonly PublicRoute[];
  /** Check behind `/health/ready`. Default: always ready. */
  readonly ready?: ReadyCheck;
  /** Returns the body of `/metrics`. Without it, there is no such route. */
  readonly metrics_text?: () => Promise<MetricsText>;
  /** Stage before all others, in a process with traces (docs/operations/tracing.md). */
  readonly traceRequest?: RequestHandler;
}

/** Builds the Express app of a process. Its stages are in the order of docs/http.md#stages. Throws `ConfigError`. */
export function buildApp(options: AppOptions): Express {
  const { log, system, metrics, authenticator, routes } = options;
  const limits = new Limits(options);
  const store = options.idempotency_store;
  const records_max = options.config.IDEMPOTENCY_RECORDS_MAX;
  const idempotency = store && new Idempotency({ store, system, log, metrics, records_max });
  const app = newApp();
  if (options.traceRequest) app.use(options.traceRequest);
  app.use(openRequest(options), setCommonHeaders);
  addApi(app, { routes, authenticator, limits, idempotency });
  addAuth(app, options.auth ?? {}, limits);
  for (const route of options.public_routes ?? []) addPublicRoute(app, route);
  for (const route of healthRoutes(options.ready)) addPublicRoute(app, route);
  if (options.metrics_text) addPublicRoute(app, metricsRoute(options.metrics_text, options.config));
  return finish(app, options);
}

export interface HealthAppOptions extends Pick<AppOptions, 'config' | 'log' | 'system'> {
  readonly ready: ReadyCheck;
  readonly metrics: HttpMetrics;
  readonly metrics_text: () => Promise<MetricsText>;
}

/** Builds the app of a process that serves only `/health/*` and `/metrics`. */
export function buildHealthApp(options: HealthAppOptions): Express {
  const app = newApp();
  app.use(openRequest(options));
  for (const route of healthRoutes(options.ready)) addPublicRoute(app, route);
  addPublicRoute(app, metricsRoute(options.metrics_text, options.config));
  return finish(app, options);
}

function newApp(): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('strict routing').enable('case sensitive routing');
  return app;
}

function finish(app: Express, { log }: Pick<AppOptions, 'log'>): Express {
  app.use(rejectPath);
  app.use(errorStage(log));
  return app;
}
