import './node-version';
import '../../shared/kernel/stack-traces';
import './loading';
import './fork-ahead';
import { realSystem } from '../../shared/kernel/system';
import { startAllInOne } from './all-in-one';
import { runProcess } from './process';

void runProcess('catalog', async (config, log, tracing) => {
  let demo_ready = config.DEMO === 'off';
  const service = await startAllInOne(config, log, realSystem, { isDemoReady: () => demo_ready, tracing });
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
