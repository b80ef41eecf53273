import express, { type Express } from 'express';
import { CatalogError } from '../kernel/errors';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import { accessLog } from './access-log';
import { startContext } from './context';
import { securityHeaders } from './headers';
import { addHealth, addMetrics, type ReadyCheck } from './health';
import type { HttpMetrics, MetricsText } from './metrics';
import { errorStage } from './send-error';

export interface ProbeAppOptions {
  readonly log: Logger;
  readonly system: System;
  readonly ready: ReadyCheck;
  readonly metrics: HttpMetrics;
  readonly metrics_text: () => Promise<MetricsText>;
}

/** `/health/*` and `/metrics` of a process that serves nothing else. */
export function buildProbeApp({ log, system, ready, metrics, metrics_text }: ProbeAppOptions): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('strict routing').enable('case sensitive routing');
  app.use(startContext(system), accessLog(log, metrics), securityHeaders);
  addHealth(app, ready);
  addMetrics(app, metrics_text);
  app.use(() => {
    throw new CatalogError('path_not_found');
  });
  app.use(errorStage(log));
  return app;
}
