import './node-version';
import './compile-cache';
import '../../shared/kernel/stack-traces';
import './loading';
import { realSystem } from '../../shared/kernel/system';
import { startMediaWork } from '../media/work';
import { startHealthServer } from './apps';
import { startPipelines } from './pipelines';
import { runProcess } from './process';
import { openRuntime } from './runtime';

/** The worker process: dispatcher and workers of every realm, and the rendering of pictures. Any number may run. */
void runProcess('worker', async (config, log, tracing) => {
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
