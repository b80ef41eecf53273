import type { MetricsText } from '../../shared/http/metrics';
import type { ReadyCheck } from '../../shared/http/operational';
import { readDisk } from '../metrics/disk-reading';
import { readPipelines } from '../metrics/pipeline-reading';
import type { Runtime } from './runtime';

/** What answers `/health/ready` and `/metrics`. */
export interface Operations {
  readonly ready: ReadyCheck;
  readonly metrics_text: () => Promise<MetricsText>;
}

/** Answers for this process alone. Reads the stores at each scrape. */
export function startOperations(runtime: Runtime, ready: ReadyCheck): Operations {
  const { config, metrics } = runtime;
  const { EVENTSTORE_URL, MONGODB_URL, REDIS_URL, DATA_DIR } = config;
  const has_embedded = [EVENTSTORE_URL, MONGODB_URL, REDIS_URL].includes(undefined);
  metrics.collectProcessMetrics();
  metrics.setSources({
    pipelines: () => readPipelines(runtime),
    ready: () =>
      ready().then(
        ({ ok }) => ok,
        () => false,
      ),
    disk: async () => (has_embedded ? readDisk(DATA_DIR) : undefined),
  });
  return { ready, metrics_text: metrics.text };
}
