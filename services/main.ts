import { startAllInOne } from './all-in-one';
import { announceDemo } from './demo/announce';
import { runProcess } from './process';

void runProcess('catalog', async (config, log) => {
  const service = await startAllInOne(config, log);
  log.info({ url: service.url }, 'listening');
  await announceDemo(service);
  return () => service.close();
});
