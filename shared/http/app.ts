import express, { type Express } from 'express';
import { openApiDocument } from '../api/openapi/document';
import type { Config } from '../kernel/config';
import { CatalogError } from '../kernel/errors';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type { IdempotencyStore } from '../ports/idempotency-store';
import type { RateLimiter } from '../ports/rate-limiter';
import { accessLog } from './access-log';
import { apiArea } from './api-area';
import { authArea } from './auth-area';
import type { AuthEndpoints } from './auth-endpoint';
import type { BearerCheck } from './authenticator';
import { contextOf, startContext } from './context';
import { cors } from './cors';
import { DOCS_PATHS, docsFiles } from './docs/files';
import { cacheHeaders, requireHost, securityHeaders } from './headers';
import { addHealth, addMetrics, type ReadyCheck } from './health';
import { Idempotency } from './idempotency';
import { inTurn } from './in-turn';
import type { HttpMetrics, MetricsText } from './metrics';
import { addPictures, type Pictures } from './pictures';
import { addPublicFiles, type PublicFile } from './public-files';
import { Limits } from './rate-limit';
import type { Route } from './route';
import { errorStage } from './send-error';

export interface AppOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly system: System;
  readonly limiter: RateLimiter;
  /** Of this process alone, for when `limiter` cannot be asked; without it such requests pass unlimited. */
  readonly fallback_limiter?: RateLimiter;
  readonly authenticator: BearerCheck;
  /** Where this process serves writes: without it an `Idempotency-Key` is not looked at. */
  readonly idempotency_store?: IdempotencyStore;
  readonly routes: readonly Route[];
  /** Where this process serves `/auth/*`. */
  readonly auth?: AuthEndpoints;
  /** Where this process serves what anybody may load. */
  readonly pictures?: Pictures;
  readonly ready?: ReadyCheck;
  readonly metrics?: HttpMetrics;
  /** What `/metrics` answers. */
  readonly metrics_text?: () => Promise<MetricsText>;
}

/** The whole interface is told by every process: behind a gateway it does not matter which one is asked. */
const publicFiles = (): PublicFile[] => [
  {
    path: '/openapi.json',
    content_type: 'application/json; charset=utf-8',
    body: JSON.stringify(openApiDocument()),
  },
  ...docsFiles(),
];

/** An Express app from routes as data; one stage after the other as `docs/http.md` draws them. Throws `ConfigError`. */
export function buildApp(options: AppOptions): Express {
  const { log, system, authenticator, routes } = options;
  const limits = new Limits(options);
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('strict routing').enable('case sensitive routing');
  app.use(
    inTurn([
      startContext(system),
      accessLog(log, options.metrics),
      securityHeaders,
      cacheHeaders,
      cors,
      requireHost,
    ]),
  );
  if (options.pictures) addPictures(app, options.pictures);
  const auth = authArea(options.auth ?? {}, limits);
  const store = options.idempotency_store;
  const idempotency = store && new Idempotency({ store, system, log, metrics: options.metrics });
  const api = apiArea({ routes, authenticator, limits, idempotency });
  app.use((req, res, next) => {
    const { area } = contextOf(res);
    if (area === 'auth') return auth(req, res, next);
    return area === 'api' ? api(req, res, next) : next();
  });
  addHealth(app, options.ready);
  if (options.metrics_text) addMetrics(app, options.metrics_text);
  addPublicFiles(app, ['/openapi.json', ...DOCS_PATHS], publicFiles);
  app.use(() => {
    throw new CatalogError('path_not_found');
  });
  app.use(errorStage(log));
  return app;
}
