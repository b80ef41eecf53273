import './node-version';
import './compile-cache';
import './small-heap';
import '../../shared/kernel/stack-traces';
import './loading';
import { realSystem } from '../../shared/kernel/system';
import { buildQueryApp, PAGE_VIEWS_TIMEOUT_MS, startControlLog, startPageViewCounter } from './apps';
import { listen } from './listen';
import { runProcess } from './process';
import { openRuntime } from './runtime';

/** The query process: reads the documents that the worker process writes. It writes nothing except counted views. */
void runProcess('query', async (config, log, tracing) => {
  const runtime = await openRuntime(config, log, realSystem, { only_reads: true, tracing });
  const page_views = startPageViewCounter(runtime);
  const control_log = startControlLog(runtime);
  const app = await buildQueryApp(runtime, control_log, page_views.record);
  const listening = await listen(app, config.HOST, config.PORT);
  log.info({ url: listening.url }, 'listening');
  return async () => {
    await listening.close();
    await control_log.stop();
    await page_views.stop(PAGE_VIEWS_TIMEOUT_MS);
    await runtime.close();
  };
});
