import { realSystem } from '../../shared/kernel/system';
import { buildQueryApp, startViewCounting, VIEWS_TIMEOUT_MS } from './apps';
import { listen } from './listen';
import { runProcess } from './process';
import { openRuntime } from './runtime';

/** Reads as a process of its own, from the documents that `main-worker.ts` keeps; it writes nothing but views. */
void runProcess('query', async (config, log) => {
  const runtime = await openRuntime(config, log, realSystem, { only_reads: true });
  const views = startViewCounting(runtime);
  const listening = await listen(await buildQueryApp(runtime, views.record), config.HOST, config.PORT);
  log.info({ url: listening.url }, 'listening');
  return async () => {
    await listening.close();
    await views.stop(VIEWS_TIMEOUT_MS);
    await runtime.close();
  };
});
