import { realSystem } from '../../shared/kernel/system';
import { startSchedule } from '../command/schedule';
import { startMediaWork } from '../media/work';
import { startWebhooks } from '../webhooks/work';
import { startHealthServer } from './apps';
import { startHttpService } from './http-service';
import { startPipelines } from './pipelines';
import { runProcess } from './process';
import { READS, readiness, startOperations, WRITES } from './readiness';
import { openRuntime } from './runtime';

/**
 * The role `command` (writes and tokens) or `query` (reads the documents that the worker process writes, and writes
 * nothing except counted views).
 */
export function runHttpRole(role: 'command' | 'query'): void {
  void runProcess(role, async (config, { log, tracing }) => {
    const only_reads = role === 'query';
    const runtime = await openRuntime(config, log, realSystem, { only_reads, tracing });
    const ready = readiness(runtime, only_reads ? READS : WRITES);
    const http = await startHttpService(runtime, startOperations(runtime, ready), role);
    log.info({ url: http.url }, 'listening');
    return async () => {
      await http.close();
      await runtime.close();
    };
  });
}

/** The role `worker`: dispatcher and workers of every realm, rendering, publishing on schedule and webhooks. Any number may run. */
export function runWorker(): void {
  void runProcess('worker', async (config, { log, tracing }) => {
    const runtime = await openRuntime(config, log, realSystem, { tracing });
    const pipelines = startPipelines(runtime);
    const health_server = await startHealthServer(runtime, pipelines);
    const rendering = startMediaWork(runtime);
    const schedule = startSchedule(runtime);
    const webhooks = startWebhooks(runtime);
    log.info({ url: health_server.url }, 'worker started');
    return async () => {
      await health_server.close();
      await Promise.all([rendering.stop(), schedule.stop(), webhooks.stop()]);
      await pipelines.stop();
      await runtime.close();
    };
  });
}
