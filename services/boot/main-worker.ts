import { realSystem } from '../../shared/kernel/system';
import { startMediaWork } from '../media/work';
import { startProbe } from './apps';
import { startPipelines } from './pipelines';
import { runProcess } from './process';
import { openRuntime } from './runtime';

/** Feeder and workers of every realm, and who makes pictures, as a process of their own; any number may run. */
void runProcess('worker', async (config, log) => {
  const runtime = await openRuntime(config, log, realSystem);
  const pipelines = startPipelines(runtime);
  const rendering = startMediaWork(runtime);
  const probe = await startProbe(runtime, pipelines);
  log.info(probe ? { url: probe.url } : {}, 'projecting');
  return async () => {
    await probe?.close();
    await rendering.stop();
    await pipelines.stop();
    await runtime.close();
  };
});
