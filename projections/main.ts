import express, { type Express } from 'express';
import { listen } from '../services/listen';
import { type Pipelines, startPipelines } from '../services/pipelines';
import { runProcess } from '../services/process';
import { PROJECTIONS, readiness } from '../services/readiness';
import { openRuntime, type Runtime } from '../services/runtime';
import { accessLog } from '../shared/http/access-log';
import { startContext } from '../shared/http/context';
import { securityHeaders } from '../shared/http/headers';
import { addHealth } from '../shared/http/health';
import { errorStage } from '../shared/http/send-error';
import { CatalogError } from '../shared/kernel/errors';
import { realSystem } from '../shared/kernel/system';

/** Projections as a process of its own; it listens for `/health/*` alone. Several share the lanes among them. */
void runProcess('worker', async (config, log) => {
  const runtime = await openRuntime(config, log, realSystem);
  const pipelines = startPipelines(runtime);
  const listening = await listen(buildHealthApp(runtime, pipelines), config.HOST, config.PORT);
  log.info({ url: listening.url }, 'listening');
  return async () => {
    await listening.close();
    await pipelines.stop();
    await runtime.close();
  };
});

function buildHealthApp(runtime: Runtime, pipelines: Pipelines): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use(startContext(runtime.system), accessLog(runtime.log, undefined), securityHeaders);
  addHealth(app, readiness(runtime, { ...PROJECTIONS, pipelines }));
  app.use(() => {
    throw new CatalogError('path_not_found');
  });
  app.use(errorStage(runtime.log));
  return app;
}
