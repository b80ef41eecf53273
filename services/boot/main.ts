import './node-version';
import './compile-cache';
import './small-heap';
import '../../shared/kernel/stack-traces';
import './loading';
import './fork-ahead';
import { availableParallelism } from 'node:os';
import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import type { BackgroundOptions } from './background';
import { runProcess } from './process';
import type { StartedService } from './with-http-processes';

/** Loads only what is needed: with HTTP processes, this one needs no HTTP modules. */
async function startService(
  config: Config,
  log: Logger,
  options: BackgroundOptions,
): Promise<StartedService> {
  const count = config.WORKERS === 'auto' ? availableParallelism() : config.WORKERS;
  if (count === 1) {
    const { startAllInOne } = require('./all-in-one') as typeof import('./all-in-one');
    return startAllInOne(config, log, realSystem, options);
  }
  const { startWithHttpProcesses } = await import('./with-http-processes.js');
  return startWithHttpProcesses(config, count, log, options);
}

void runProcess('catalog', async (config, log, tracing) => {
  let demo_ready = config.DEMO === 'off';
  const options = { isDemoReady: () => demo_ready, tracing };
  const service = await startService(config, log, options);
  log.info({ url: service.url }, 'listening');
  const stopping = new AbortController();
  const createDemo = async (): Promise<void> => {
    // Loads the demo only if it is wanted.
    const { startDemo } = await import('../demo/start.js');
    return startDemo(service, stopping.signal, () => {
      demo_ready = true;
    });
  };
  // Runs in the background, because the event store may not be reachable yet.
  const demo = demo_ready ? undefined : createDemo();
  return async () => {
    stopping.abort();
    await service.close();
    await demo;
  };
});
