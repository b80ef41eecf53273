import { startPipelines } from '../services/pipelines';
import { startProbe } from '../services/probe';
import { runProcess } from '../services/process';
import { openRuntime } from '../services/runtime';
import { realSystem } from '../shared/kernel/system';

/** Feeder and workers of every realm as a process of their own; any number may run, one of them feeds. */
void runProcess('worker', async (config, log) => {
  const runtime = await openRuntime(config, log, realSystem);
  const pipelines = startPipelines(runtime);
  const probe = await startProbe(runtime, pipelines);
  log.info(probe ? { url: probe.url } : {}, 'projecting');
  return async () => {
    await probe?.close();
    await pipelines.stop();
    await runtime.close();
  };
});
