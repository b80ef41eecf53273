import './node-version';
import './compile-cache';
import '../../shared/kernel/stack-traces';
import './loading';
import { realSystem } from '../../shared/kernel/system';
import { buildCommandApp, startControlLog } from './apps';
import { listen } from './listen';
import { runProcess } from './process';
import { openRuntime } from './runtime';

/** The command process: writes and tokens. The worker process projects the events that it appends. */
void runProcess('command', async (config, log, tracing) => {
  const runtime = await openRuntime(config, log, realSystem, { tracing });
  const control_log = startControlLog(runtime);
  const listening = await listen(await buildCommandApp(runtime, control_log), config.HOST, config.PORT);
  log.info({ url: listening.url }, 'listening');
  return async () => {
    await listening.close();
    await control_log.stop();
    await runtime.close();
  };
});
