import { pino } from 'pino';
import { buildQueryApp, buildSharedParts, startControlLog } from '../../services/boot/apps';
import { type Listening, listen } from '../../services/boot/listen';
import { READS, readiness, startOperations } from '../../services/boot/readiness';
import type { Runtime } from '../../services/boot/runtime';
import { ServiceMetrics } from '../../services/metrics/service-metrics';
import { MemoryRateLimiter } from '../../shared/adapters/in-process/rate-limiter';

/**
 * Starts a query app without the edge cache on the stores of a running service. It counts no views and has its own limits
 * and metrics.
 */
export async function startColdApp(runtime: Runtime): Promise<Listening> {
  const log = pino({ level: 'silent' });
  const control_log = startControlLog({ ...runtime, log });
  const own = { metrics: new ServiceMetrics(), limiter: new MemoryRateLimiter(), log };
  const cold = { ...runtime, ...own, config: { ...runtime.config, EDGE_CACHE_MB: 0 } };
  const operations = startOperations(cold, readiness(cold, READS));
  const app = buildQueryApp(cold, await buildSharedParts(cold, control_log, operations), () => {});
  const listening = await listen(app, '127.0.0.1', 0);
  return {
    url: listening.url,
    close: async (times) => {
      await listening.close(times);
      await control_log.stop();
    },
  };
}
