import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Realm } from '../../shared/catalog/realm';
import type { CacheObserver, HttpMetrics, IdempotencyOutcome, MetricsText } from '../../shared/http/metrics';
import type { PipelineReading } from './pipeline-reading';

/** In seconds: from a cached read to a write that waits for its projection. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

export type AppendOutcome = 'appended' | 'wrong_revision' | 'failed';

/** What is asked at each scrape. */
export interface MetricsSources {
  readonly pipelines: () => Promise<readonly PipelineReading[]>;
}

/**
 * Everything that this process counts, in the names that `docs/metrics.md` lists. Labels are closed sets: never a key,
 * a token, an id or anything else that a client chooses.
 */
export class ServiceMetrics implements HttpMetrics {
  private readonly registers = [new Registry()];
  private sources: MetricsSources | undefined;
  private viewsWaiting: () => number = () => 0;

  private readonly requests = this.counter('http_requests_total', 'Requests answered.', [
    'method',
    'route',
    'status',
  ]);
  private readonly durations = this.histogram(
    'http_request_duration_seconds',
    'Time to the end of the answer.',
    ['method', 'route'],
  );
  private readonly refusals = this.counter('rate_limit_refusals_total', 'Requests answered 429.', [
    'area',
    'tier',
  ]);
  private readonly fallbacks = this.counter(
    'rate_limit_fallbacks_total',
    'Requests that this process limited on its own, as the shared limiter could not be asked.',
    [],
  );
  private readonly keyed = this.counter(
    'idempotent_requests_total',
    'Writes with an Idempotency-Key, by what the key stood for.',
    ['outcome'],
  );
  private readonly caches = this.counter('cache_lookups_total', 'Look-ups in caches of this process.', [
    'cache',
    'result',
  ]);
  private readonly appends = this.histogram('append_duration_seconds', 'Appends to the log.', [
    'realm',
    'outcome',
  ]);
  private readonly events = this.counter('events_appended_total', 'Events appended to the log.', ['realm']);
  private readonly dropped = this.counter(
    'views_dropped_total',
    'Views that the buffer had no room for.',
    [],
  );
  private readonly waiting = this.gauge('views_waiting', 'Views that are not in the log yet.', []);
  private readonly renderings = this.histogram(
    'media_rendering_seconds',
    'Uploads whose pictures this process made, or tried to.',
    ['outcome'],
  );
  private readonly processing = this.gauge('media_processing', 'Uploads whose pictures are to be made.', [
    'realm',
  ]);
  private readonly up = this.gauge('dependency_up', 'Whether it answers: 1 or 0.', ['dependency', 'realm']);
  private readonly lagEvents = this.gauge(
    'lane_lag_events',
    'Positions of the log that the lane of the active documents is behind.',
    ['realm', 'lane'],
  );
  private readonly lagSeconds = this.gauge(
    'lane_lag_seconds',
    'Age of the oldest event that the lane may not have projected; 0 where it is level with the log.',
    ['realm', 'lane'],
  );
  private readonly parked = this.gauge('parked_streams', 'Streams that wait for a retry or a skip.', [
    'realm',
  ]);

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

  requestFinished(sample: { method: string; route: string; status: number; duration_ms: number }): void {
    const method = METHODS.has(sample.method) ? sample.method : 'OTHER';
    this.requests.inc({ method, route: sample.route, status: sample.status });
    this.durations.observe({ method, route: sample.route }, sample.duration_ms / 1000);
  }

  limiterFellBack(): void {
    this.fallbacks.inc();
  }

  limiterRefused(labels: { area: string; tier: string }): void {
    this.refusals.inc(labels);
  }

  keyClaimed(outcome: IdempotencyOutcome): void {
    this.keyed.inc({ outcome });
  }

  readonly onCache: CacheObserver = (cache, hit) => {
    this.caches.inc({ cache, result: hit ? 'hit' : 'miss' });
  };

  appended(realm: Realm, outcome: AppendOutcome, events: number, duration_ms: number): void {
    this.appends.observe({ realm, outcome }, duration_ms / 1000);
    if (outcome === 'appended') this.events.inc({ realm }, events);
  }

  /** `tried_again`: not the file's fault. */
  rendered(outcome: 'ready' | 'failed' | 'tried_again', duration_ms: number): void {
    this.renderings.observe({ outcome }, duration_ms / 1000);
  }

  viewDropped(): void {
    this.dropped.inc();
  }

  countViews(waiting: () => number): void {
    this.viewsWaiting = waiting;
  }

  /** From here on the process' own numbers are kept, too: memory, CPU, garbage, event loop. Once per process. */
  serve(sources: MetricsSources): void {
    if (this.sources === undefined) collectDefaultMetrics({ register: this.registers[0]! });
    this.sources = sources;
  }

  /** What a scrape is answered with. */
  readonly text = async (): Promise<MetricsText> => {
    this.waiting.set(this.viewsWaiting());
    for (const reading of (await this.sources?.pipelines()) ?? []) this.show(reading);
    const [registry] = this.registers;
    return { content_type: registry!.contentType, body: await registry!.metrics() };
  };

  private show({ realm, event_store, view_store, lanes, parked, processing }: PipelineReading): void {
    this.up.set({ dependency: 'event_store', realm }, Number(event_store));
    this.up.set({ dependency: 'view_store', realm }, Number(view_store));
    // What is not known is not shown, rather than shown as it was once.
    if (parked === undefined) this.parked.remove({ realm });
    else this.parked.set({ realm }, parked);
    if (processing === undefined) this.processing.remove({ realm });
    else this.processing.set({ realm }, processing);
    lanes.forEach((lag, lane) => {
      const labels = { realm, lane: String(lane) };
      if (lag === undefined) {
        this.lagEvents.remove(labels);
        this.lagSeconds.remove(labels);
        return;
      }
      this.lagEvents.set(labels, lag.events);
      this.lagSeconds.set(labels, lag.seconds);
    });
  }
}
