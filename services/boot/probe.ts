import { buildProbeApp } from '../../shared/http/app';
import { readPipelines } from '../metrics/pipeline-reading';
import { type Listening, listen } from './listen';
import type { Pipelines } from './pipelines';
import { PROJECTIONS, readiness } from './readiness';
import type { Runtime } from './runtime';

/**
 * Where a process without an API answers `/health/*` and `/metrics`. Undefined where the port is taken, as by
 * another one on this machine: it is told, and the process works on.
 */
export async function startProbe(runtime: Runtime, pipelines: Pipelines): Promise<Listening | undefined> {
  const { config, log, system, metrics } = runtime;
  metrics.serve({ pipelines: () => readPipelines(runtime) });
  const app = buildProbeApp({
    log,
    system,
    metrics,
    ready: readiness(runtime, { ...PROJECTIONS, pipelines }),
    metrics_text: metrics.text,
  });
  try {
    return await listen(app, config.HOST, config.WORKER_PORT);
  } catch (error) {
    log.warn({ err: error, port: config.WORKER_PORT }, 'no /health and /metrics: the port cannot be had');
    return undefined;
  }
}
