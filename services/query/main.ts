import { realSystem } from '../../shared/kernel/system';
import { buildQueryApp } from '../apps';
import { listen } from '../listen';
import { runProcess } from '../process';
import { openRuntime } from '../runtime';

/** Reads as a process of its own, from the documents that `projections/main.ts` keeps. */
void runProcess('query', async (config, log) => {
  const runtime = await openRuntime(config, log, realSystem, { only_reads: true });
  const listening = await listen(await buildQueryApp(runtime), config.HOST, config.PORT);
  log.info({ url: listening.url }, 'listening');
  return async () => {
    await listening.close();
    await runtime.close();
  };
});
