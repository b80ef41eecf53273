import './node-version';
import { realSystem } from '../../shared/kernel/system';
import { buildCommandApp } from './apps';
import { listen } from './listen';
import { runProcess } from './process';
import { openRuntime } from './runtime';

/** The command process: writes and tokens. The worker process projects the events that it appends. */
void runProcess('command', async (config, log, tracing) => {
  const runtime = await openRuntime(config, log, realSystem, { tracing });
  const listening = await listen(await buildCommandApp(runtime), config.HOST, config.PORT);
  log.info({ url: listening.url }, 'listening');
  return async () => {
    await listening.close();
    await runtime.close();
  };
});
