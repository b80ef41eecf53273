import { context, DiagLogLevel, diag, isSpanContextValid, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { withTimeout } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { detachMediaTasks, traceJobQueue, traceProjection } from './jobs';
import { requestStage } from './requests';
import type { OtlpProtocol, TraceExporter, TraceSettings } from './settings';
import { traceEventStore, traceView } from './stores';
import type { Tracing } from './tracing';

/** How long a shutdown waits for the receiver of the traces. */
const STOP_MS = 2_000;
/** Minimum time between two log lines about the same problem of the exporter. */
const REPORT_EVERY_MS = 60_000;

/**
 * Starts the SDK and returns the wrappers. The SDK reads the standard variables for the endpoint, the sampler, the
 * batches and the resource itself. Only this folder imports packages of the SDK, and only `start.ts` loads this
 * file. Call it once per process: the tracer and the context manager are global.
 */
export function openTracing(
  { exporters, protocol, reads_traceparent }: TraceSettings,
  service_name: string,
  config: Config,
  log: Logger,
): Tracing {
  reportProblems(log);
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': service_name }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: exporters.map((name) => new BatchSpanProcessor(openExporter(name, protocol))),
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  const event_system = config.EVENTSTORE_URL === undefined ? 'sqlite' : 'eventstoredb';
  const view_system = config.MONGODB_URL === undefined ? 'sqlite' : 'mongodb';
  const queue_system = config.REDIS_URL === undefined ? 'in_process' : 'bullmq';
  return {
    traceRequest: requestStage(reads_traceparent),
    aroundProjection: traceProjection,
    eventStore: (store, realm) => traceEventStore(store, realm, event_system),
    view: (view, realm) => traceView(view, realm, view_system),
    jobQueue: (queue) => traceJobQueue(queue, queue_system),
    mediaTasks: detachMediaTasks,
    logFields: () => {
      const span_context = trace.getActiveSpan()?.spanContext();
      if (span_context === undefined || !isSpanContextValid(span_context)) return {};
      return { trace_id: span_context.traceId, span_id: span_context.spanId };
    },
    stop: () => withTimeout(provider.shutdown().catch(ignore), STOP_MS, ignore),
  };
}

function ignore(): void {}

/** Opens an exporter. Loads only the package of the protocol that is used. */
function openExporter(name: TraceExporter, protocol: OtlpProtocol): SpanExporter {
  if (name === 'console') return new ConsoleSpanExporter();
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? (require('@opentelemetry/exporter-trace-otlp-http') as typeof import('@opentelemetry/exporter-trace-otlp-http'))
      : (require('@opentelemetry/exporter-trace-otlp-proto') as typeof import('@opentelemetry/exporter-trace-otlp-proto'));
  return new OTLPTraceExporter();
}

/**
 * Logs warnings of the SDK and failed exports, each at most once a minute: while the receiver is down, every batch
 * fails.
 */
function reportProblems(log: Logger): void {
  const reported_ms = new Map<string, number>();
  const isDue = (problem: string): boolean => {
    const last_ms = reported_ms.get(problem) ?? Number.NEGATIVE_INFINITY;
    const is_due = performance.now() - last_ms >= REPORT_EVERY_MS;
    if (is_due) reported_ms.set(problem, performance.now());
    return is_due;
  };
  const report = (message: string): void => {
    // Numbers differ in messages about the same problem, such as the number of dropped spans.
    if (isDue(message.replace(/\d+/g, ''))) log.warn(`OpenTelemetry: ${message}`);
  };
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  setGlobalErrorHandler((error) => {
    if (isDue('export')) log.warn({ err: error }, 'traces cannot be exported; requests are not affected');
  });
}
