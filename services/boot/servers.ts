import { realSystem } from '../../shared/kernel/system';
import { startMediaWork } from '../media/work';
import {
  buildCommandApp,
  buildQueryApp,
  PAGE_VIEWS_TIMEOUT_MS,
  startControlLog,
  startHealthServer,
  startPageViewCounter,
} from './apps';
import { listen } from './listen';
import { startPipelines } from './pipelines';
import { runProcess } from './process';
import { openRuntime } from './runtime';

/** The role `command`: writes and tokens. The worker process projects the events that it appends. */
export function runCommand(): void {
  void runProcess('command', async (config, { log, tracing }) => {
    const runtime = await openRuntime(config, log, realSystem, { tracing });
    const control_log = startControlLog(runtime);
    const listening = await listen(await buildCommandApp(runtime, control_log), config.HOST, config.PORT);
    log.info({ url: listening.url }, 'listening');
    return async () => {
      await listening.close();
      await control_log.stop();
      await runtime.close();
    };
  });
}

/** The role `query`: reads the documents that the worker process writes. It writes nothing except counted views. */
export function runQuery(): void {
  void runProcess('query', async (config, { log, tracing }) => {
    const runtime = await openRuntime(config, log, realSystem, { only_reads: true, tracing });
    const page_views = startPageViewCounter(runtime);
    const control_log = startControlLog(runtime);
    const app = await buildQueryApp(runtime, control_log, page_views.record);
    const listening = await listen(app, config.HOST, config.PORT);
    log.info({ url: listening.url }, 'listening');
    return async () => {
      await listening.close();
      await control_log.stop();
      await page_views.stop(PAGE_VIEWS_TIMEOUT_MS);
      await runtime.close();
    };
  });
}

/** The role `worker`: dispatcher and workers of every realm, and the rendering of pictures. Any number may run. */
export function runWorker(): void {
  void runProcess('worker', async (config, { log, tracing }) => {
    const runtime = await openRuntime(config, log, realSystem, { tracing });
    const pipelines = startPipelines(runtime);
    const rendering = startMediaWork(runtime);
    const health_server = await startHealthServer(runtime, pipelines);
    log.info(health_server ? { url: health_server.url } : {}, 'worker started');
    return async () => {
      await health_server?.close();
      await rendering.stop();
      await pipelines.stop();
      await runtime.close();
    };
  });
}
