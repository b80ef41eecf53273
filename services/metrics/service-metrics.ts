import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import {
  type CacheObserver,
  type HttpMetrics,
  IDEMPOTENCY_OUTCOMES,
  type IdempotencyOutcome,
  type MetricsText,
} from '../../shared/http/metrics';
import { VERSION } from '../../shared/kernel/version';
import type { DiskReading } from './disk-reading';
import type { PartitionLag, PipelineReading } from './pipeline-reading';

/** Histogram buckets in seconds, from a cached read to a write that waits for its projection. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

const APPEND_OUTCOMES = ['appended', 'wrong_revision', 'failed'] as const;
export type AppendOutcome = (typeof APPEND_OUTCOMES)[number];

/** `tried_again`: the rendering failed for a reason other than the file, and is retried. */
const RENDERING_OUTCOMES = ['ready', 'failed', 'tried_again'] as const;
export type RenderingOutcome = (typeof RENDERING_OUTCOMES)[number];

/** The processes that the main process starts again after a crash. */
const SUPERVISED = ['http', 'projections'] as const;

/** Functions that are called at each scrape. They never reject. */
export interface MetricsSources {
  readonly pipelines: () => Promise<readonly PipelineReading[]>;
  /** Whether `/health/ready` of this process is 200. */
  readonly ready: () => Promise<boolean>;
  /** Resolves to undefined if no embedded store is used or the disk cannot be read. */
  readonly disk: () => Promise<DiskReading | undefined>;
}

/** The metrics of a process at one time. It can be sent to another process. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * The metrics of a process, listed in `docs/metrics.md`. Label values come from closed sets, never from a client: no
 * key, token or id. Otherwise a client could create any number of time series, or leak secrets into them.
 */
export class ServiceMetrics implements HttpMetrics {
  private readonly registers = [new Registry()];
  private sources: MetricsSources | undefined;
  private readonly last_lags = new Map<string, { readonly seconds: number; readonly read_at_s: number }>();
  private countWaitingPageViews: () => number = () => 0;

  private readonly tally = new Tally();
  private readonly requests = this.counter('http_requests_total', 'HTTP requests answered.', [
    'method',
    'route',
    'status',
  ]);
  private readonly durations = this.histogram(
    'http_request_duration_seconds',
    'Time from the arrival of a request to the end of its response.',
    ['method', 'route'],
  );
  private readonly refusals = this.counter('rate_limit_refusals_total', 'Requests refused with status 429.', [
    'area',
    'tier',
  ]);
  private readonly fallbacks = this.counter(
    'rate_limit_fallbacks_total',
    'Requests limited by this process alone, because the shared rate limiter was unavailable.',
    [],
  );
  private readonly idempotent = this.counter(
    'idempotent_requests_total',
    'Writes with an Idempotency-Key, by outcome.',
    ['outcome'],
  );
  private readonly lostLocks = this.counter(
    'idempotency_locks_lost_total',
    'Writes with an Idempotency-Key whose lock ended while they ran.',
    [],
  );
  private readonly caches = this.counter('cache_lookups_total', 'Look-ups in the caches of this process.', [
    'cache',
    'result',
  ]);
  private readonly appends = this.histogram('append_duration_seconds', 'Time of an append to the log.', [
    'realm',
    'outcome',
  ]);
  private readonly events = this.counter('events_appended_total', 'Events appended to the log.', ['realm']);
  private readonly dropped = this.counter(
    'views_dropped_total',
    'Views of publications that were dropped because the buffer was full.',
    [],
  );
  private readonly waiting = this.gauge(
    'views_waiting',
    'Counted views of publications that are not in the log yet.',
    [],
  );
  private readonly renderings = this.histogram(
    'media_rendering_seconds',
    'Time to render the pictures of an upload, by outcome.',
    ['outcome'],
  );
  private readonly processing = this.gauge('media_processing', 'Uploads that wait for rendering.', ['realm']);
  private readonly up = this.gauge('dependency_up', '1 if the store responds, else 0.', [
    'dependency',
    'realm',
  ]);
  private readonly ready = this.gauge('ready', '1 if /health/ready of this process is 200, else 0.', []);
  private readonly diskFree = this.gauge(
    'data_dir_free_bytes',
    'Space that is left on the disk of DATA_DIR. Only if an embedded store is used.',
    [],
  );
  private readonly diskSize = this.gauge(
    'data_dir_size_bytes',
    'Size of the disk of DATA_DIR. Only if an embedded store is used.',
    [],
  );
  private readonly lastBackup = this.gauge(
    'last_backup_timestamp_seconds',
    'When "catalog backup" last copied DATA_DIR. Only if an embedded store is used.',
    [],
  );
  private readonly build = this.gauge('build_info', '1, with the version of the service.', ['version']);
  private readonly restarts = this.counter(
    'process_restarts_total',
    'Restarts of processes of the service that had crashed.',
    ['process'],
  );
  private readonly lagEvents = this.gauge(
    'partition_lag_events',
    'Log positions between the checkpoint of the partition and the head of the log.',
    ['realm', 'partition'],
  );
  private readonly lagSeconds = this.gauge(
    'partition_lag_seconds',
    'Age of the oldest event after the checkpoint of the partition; 0 if it has caught up.',
    ['realm', 'partition'],
  );
  private readonly deadLetters = this.gauge(
    'dead_letter_streams',
    'Streams on the dead-letter list. Use "catalog projections retry" or "skip".',
    ['realm'],
  );

  constructor() {
    this.startAtZero();
    // A gauge without labels begins at 0, which would be wrong in a process that never reads these.
    for (const gauge of [this.ready, this.diskFree, this.diskSize, this.lastBackup]) gauge.remove();
  }

  /**
   * Creates the samples whose labels are known in advance. Prometheus computes increases between two samples, so it
   * would not see the first failure if the sample did not exist before it.
   */
  private startAtZero(): void {
    for (const outcome of IDEMPOTENCY_OUTCOMES) this.idempotent.inc({ outcome }, 0);
    for (const outcome of RENDERING_OUTCOMES) this.renderings.zero({ outcome });
    for (const process of SUPERVISED) this.restarts.inc({ process }, 0);
    for (const realm of REALMS) {
      this.events.inc({ realm }, 0);
      for (const outcome of APPEND_OUTCOMES) this.appends.zero({ realm, outcome });
    }
  }

  private counter(name: string, help: string, labelNames: string[]) {
    return new Counter({ name: `catalog_${name}`, help, labelNames, registers: this.registers });
  }

  private gauge(name: string, help: string, labelNames: string[]) {
    return new Gauge({ name: `catalog_${name}`, help, labelNames, registers: this.registers });
  }

  private histogram(name: string, help: string, labelNames: string[]) {
    const buckets = BUCKETS_S;
    return new Histogram({ name: `catalog_${name}`, help, labelNames, buckets, registers: this.registers });
  }

  processRestarted(process: (typeof SUPERVISED)[number]): void {
    this.restarts.inc({ process });
  }

  requestFinished(sample: { method: string; route: string; status: number; duration_ms: number }): void {
    const method = METHODS.has(sample.method) ? sample.method : 'OTHER';
    const { route, status } = sample;
    this.tally.add(this.requests, `${method} ${route} ${status}`, () => ({ method, route, status }));
    this.durations.observe({ method, route: sample.route }, sample.duration_ms / 1000);
  }

  limiterFellBack(): void {
    this.fallbacks.inc();
  }

  limiterRefused(labels: { area: string; tier: string }): void {
    this.refusals.inc(labels);
  }

  keyClaimed(outcome: IdempotencyOutcome): void {
    this.idempotent.inc({ outcome });
  }

  lockLost(): void {
    this.lostLocks.inc();
  }

  readonly onCache: CacheObserver = (cache, hit) => {
    const result = hit ? 'hit' : 'miss';
    this.tally.add(this.caches, `${cache} ${result}`, () => ({ cache, result }));
  };

  appendFinished(realm: Realm, outcome: AppendOutcome, events: number, duration_ms: number): void {
    this.appends.observe({ realm, outcome }, duration_ms / 1000);
    if (outcome === 'appended') this.events.inc({ realm }, events);
  }

  renderingFinished(outcome: RenderingOutcome, duration_ms: number): void {
    this.renderings.observe({ outcome }, duration_ms / 1000);
  }

  pageViewDropped(): void {
    this.dropped.inc();
  }

  /** Sets the function that returns the number of counted page views that are not in the log yet. */
  setPageViewCount(waiting: () => number): void {
    this.countWaitingPageViews = waiting;
  }

  /** Starts the default metrics of the Node process. Call it once. */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.registers[0]! });
  }

  /** Sets the functions to call at a scrape. */
  setSources(sources: MetricsSources): void {
    this.sources = sources;
  }

  /** Returns the response to a scrape. */
  readonly text = async (): Promise<MetricsText> => {
    const registry = await this.update();
    return { content_type: registry.contentType, body: await registry.metrics() };
  };

  async snapshot(): Promise<MetricsSnapshot> {
    return (await this.update()).getMetricsAsJSON();
  }

  private async update(): Promise<Registry> {
    this.tally.flush();
    this.waiting.set(this.countWaitingPageViews());
    if (this.sources) await this.readSources(this.sources);
    return this.registers[0]!;
  }

  private async readSources(sources: MetricsSources): Promise<void> {
    const [pipelines, ready, disk] = await Promise.all([
      sources.pipelines(),
      sources.ready(),
      sources.disk(),
    ]);
    for (const reading of pipelines) this.setPipelineGauges(reading);
    this.ready.set(Number(ready));
    this.build.set({ version: VERSION }, 1);
    setIfRead(this.diskFree, {}, disk?.free_bytes);
    setIfRead(this.diskSize, {}, disk?.size_bytes);
    setIfRead(this.lastBackup, {}, disk?.backed_up_at_s);
  }

  private setPipelineGauges({
    realm,
    event_store,
    view_store,
    partitions,
    dead_letters,
    processing,
  }: PipelineReading): void {
    this.up.set({ dependency: 'event_store', realm }, Number(event_store));
    this.up.set({ dependency: 'view_store', realm }, Number(view_store));
    setIfRead(this.deadLetters, { realm }, dead_letters);
    setIfRead(this.processing, { realm }, processing);
    partitions.forEach((lag, index) => {
      const partition = { realm, partition: String(index) };
      setIfRead(this.lagEvents, partition, lag?.events);
      this.lagSeconds.set(partition, this.secondsBehind(`${realm} ${index}`, lag));
    });
  }

  /** While the lag cannot be read, adds the time since it was read: an alert must see that it may be that long. */
  private secondsBehind(partition: string, lag: PartitionLag | undefined): number {
    const now_s = performance.now() / 1_000;
    const last = lag ? { seconds: lag.seconds, read_at_s: now_s } : this.last_lags.get(partition);
    const known = last ?? { seconds: 0, read_at_s: now_s };
    this.last_lags.set(partition, known);
    return known.seconds + now_s - known.read_at_s;
  }
}

type Labels = Record<string, string | number>;

interface Count {
  readonly counter: Counter;
  readonly labels: Labels;
  count: number;
}

/** Adds counts up until the next scrape, because a counter with labels takes ten times as long as a map. */
class Tally {
  private readonly counts = new Map<string, Count>();

  /** `key` is unique to the counter and its labels. */
  add(counter: Counter, key: string, labelsOf: () => Labels): void {
    const known = this.counts.get(key);
    if (known) known.count++;
    else this.counts.set(key, { counter, labels: labelsOf(), count: 1 });
  }

  flush(): void {
    for (const { counter, labels, count } of this.counts.values()) counter.inc(labels, count);
    this.counts.clear();
  }
}

/** Sets the gauge. Keeps its last value if the value could not be read, so that an alert still has data. */
function setIfRead(gauge: Gauge, labels: Record<string, string>, value: number | undefined): void {
  if (value !== undefined) gauge.set(labels, value);
}
