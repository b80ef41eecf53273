import { AggregatorRegistry } from 'prom-client';
import type { MetricsText } from '../../shared/http/metrics';
import type { MetricsSnapshot } from './service-metrics';

/**
 * Adds up the metrics of the processes of one service. Counters and histograms of a process that has ended stay included
 * as they were at its last scrape, because Prometheus takes a counter that falls for one that began again at 0.
 */
export class ProcessMetrics<Process> {
  private readonly last = new Map<Process, MetricsSnapshot>();
  private ended: MetricsSnapshot = [];

  /** Returns the sum of the snapshots and of the processes that have ended. `own`: of the main process. */
  async sum(own: MetricsSnapshot, others: ReadonlyMap<Process, MetricsSnapshot>): Promise<MetricsText> {
    for (const [process, snapshot] of others) this.last.set(process, snapshot);
    const registry = addUp([own.map(keepIfSingle), ...this.last.values(), this.ended]);
    return { content_type: registry.contentType, body: await registry.metrics() };
  }

  /** A process has ended. */
  end(process: Process): void {
    const counted = (this.last.get(process) ?? []).filter(({ type }) => COUNTED.has(String(type)));
    this.last.delete(process);
    // Sums have values, although the declaration of `prom-client` says nothing of them.
    this.ended = addUp([this.ended, counted]).getMetricsAsArray() as MetricsSnapshot;
  }
}

/** A snapshot has the type as a word. The declaration of `prom-client` says that it is a number. */
const COUNTED: ReadonlySet<string> = new Set(['counter', 'histogram']);

const addUp = (snapshots: MetricsSnapshot[]) => AggregatorRegistry.aggregate(snapshots);

/** `omit`: a metric such as the start time has no sum, and is left out of it. The service shows that of its main process. */
function keepIfSingle(metric: MetricsSnapshot[number]): MetricsSnapshot[number] {
  return metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' } : metric;
}
