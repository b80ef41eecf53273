import { recordViews } from '../command/publication';
import { type ViewBatch, ViewCounter } from '../query/view-counter';
import type { Runtime } from './runtime';

/** How long a stop may take to hand on the views counted last. */
export const VIEWS_TIMEOUT_MS = 3_000;

/** The counter of a process that serves reads, joined to the log. The caller stops it before it closes the runtime. */
export function startViewCounting(runtime: Runtime): ViewCounter {
  const { config, system, log, metrics } = runtime;
  const append = ({ environment, publication_id, id, count, retried }: ViewBatch): Promise<void> => {
    const operation = { id, started_at_ms: system.now(), resumed: retried };
    const context = { source: 'system', request_id: id, operation } as const;
    return recordViews(runtime, context, { environment, id: publication_id, count });
  };
  const interval_ms = config.VIEW_FLUSH_INTERVAL_S * 1000;
  const counter = new ViewCounter({
    append,
    interval_ms,
    system,
    log,
    onDropped: () => metrics.viewDropped(),
  });
  metrics.countViews(() => counter.views);
  counter.start();
  return counter;
}
