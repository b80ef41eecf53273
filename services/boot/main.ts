import { announceDemo } from '../demo/announce';
import { startAllInOne } from './all-in-one';
import { runProcess } from './process';

void runProcess('catalog', async (config, log) => {
  const service = await startAllInOne(config, log);
  log.info({ url: service.url }, 'listening');
  const stopping = new AbortController();
  // Not waited for: the log may be on a server that is still to come.
  const announced = announceDemo(service, stopping.signal);
  return async () => {
    stopping.abort();
    await service.close();
    await announced;
  };
});
