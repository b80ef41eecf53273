import { startPipelines } from '../services/pipelines';
import { runProcess } from '../services/process';
import { openRuntime } from '../services/runtime';
import { realSystem } from '../shared/kernel/system';

/** Feeder and workers of every realm as a process of their own; any number may run, one of them feeds. */
void runProcess('worker', async (config, log) => {
  const runtime = await openRuntime(config, log, realSystem);
  const pipelines = await startPipelines(runtime);
  log.info('projecting');
  return async () => {
    await pipelines.stop();
    await runtime.close();
  };
});
