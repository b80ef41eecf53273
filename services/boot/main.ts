import './node-version';
import './loading';
import { realSystem } from '../../shared/kernel/system';
import { startDemo } from '../demo/start';
import { startAllInOne } from './all-in-one';
import { runProcess } from './process';

void runProcess('catalog', async (config, log, tracing) => {
  let demo_ready = config.DEMO === 'off';
  const service = await startAllInOne(config, log, realSystem, { isDemoReady: () => demo_ready, tracing });
  log.info({ url: service.url }, 'listening');
  const stopping = new AbortController();
  // Runs in the background, because the event store may not be reachable yet.
  const demo = startDemo(service, stopping.signal, () => {
    demo_ready = true;
  });
  return async () => {
    stopping.abort();
    await service.close();
    await demo;
  };
});
