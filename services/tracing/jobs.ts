import {
  type Attributes,
  type Context,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  trace,
} from '@opentelemetry/api';
import type { AroundProjection } from '../../projections/engine/worker';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import type { JobQueue, PartitionJob } from '../../shared/ports/job-queue';
import type { MediaTaskQueue } from '../../shared/ports/media-tasks';
import { contextWith, inSpan, linksTo, readContext, setFailed, startSpan } from './spans';

/**
 * The contexts that the events of a job were appended in, by trace: one list for each trace, without duplicates. Events
 * that were appended without a sampled span have none.
 */
type Traces = readonly (readonly SpanContext[])[];

function tracesOf(events: readonly RecordedEvent[]): Traces {
  const traces = new Map<string, Map<string, SpanContext>>();
  for (const { metadata } of events) {
    if (metadata.traceparent === undefined) continue;
    const span_context = trace.getSpanContext(readContext(metadata));
    if (span_context === undefined) continue;
    const spans = traces.get(span_context.traceId) ?? new Map<string, SpanContext>();
    traces.set(span_context.traceId, spans.set(span_context.spanId, span_context));
  }
  return [...traces.values()].map((spans) => [...spans.values()]);
}

/**
 * Returns where the span of work on these events belongs. Events of one trace: the span continues that trace, and links
 * to its further appends. Events of several traces: the span begins a trace of its own, with a link to each append.
 */
function originOf([first, ...others]: Traces): { readonly parent: Context; readonly links: Link[] } {
  if (others.length > 0) return { parent: ROOT_CONTEXT, links: linksTo([first!, ...others].flat()) };
  const [append, ...more] = first!;
  return { parent: contextWith(append!), links: linksTo(more) };
}

/**
 * Wraps the job queues of a realm (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/). A job with
 * events of sampled traces has a producer span when it is added and a consumer span for each run of its handler. `system`
 * is the kind of the queue.
 */
export function traceJobQueue(queue: JobQueue, system: string): JobQueue {
  return {
    enqueue: (job) => {
      const traces = tracesOf(job.events);
      if (traces.length === 0) return queue.enqueue(job);
      const { parent, links } = originOf(traces);
      const options = { kind: SpanKind.PRODUCER, links, attributes: attributesOf(job, 'send', system) };
      return inSpan(`send ${job.realm}`, options, () => queue.enqueue(job), parent);
    },
    depth: (partition) => queue.depth(partition),
    work: (handler) => queue.work((job) => runInSpan(job, system, handler)),
    close: () => queue.close(),
  };
}

type Handler = Parameters<JobQueue['work']>[0];

async function runInSpan(job: PartitionJob, system: string, handler: Handler): Promise<void> {
  const traces = tracesOf(job.events);
  // A queue in memory may run the handler in the context of whatever added a job.
  if (traces.length === 0) return context.with(ROOT_CONTEXT, handler, undefined, job);
  const { parent, links } = originOf(traces);
  const options = { kind: SpanKind.CONSUMER, links, attributes: attributesOf(job, 'process', system) };
  await inSpan(
    `process ${job.realm}`,
    options,
    (span) => runInEachTrace(traces, span, options.attributes, () => handler(job)),
    parent,
  );
}

/**
 * Runs a job with events of several traces. Each trace gets a span of the same time, so that it shows when its events
 * were projected. It links to `job_span`, the span of the whole job.
 */
async function runInEachTrace(
  traces: Traces,
  job_span: Span,
  attributes: Attributes,
  run: () => Promise<void>,
): Promise<void> {
  if (traces.length === 1) return run();
  const name = `process ${attributes['catalog.realm']}`;
  const spans = traces.map(([append, ...more]) => {
    const links = linksTo([job_span.spanContext(), ...more]);
    return startSpan(name, { kind: SpanKind.CONSUMER, links, attributes }, contextWith(append!));
  });
  try {
    await run();
  } catch (error) {
    for (const span of spans) setFailed(span, error);
    throw error;
  } finally {
    for (const span of spans) span.end();
  }
}

function attributesOf(job: PartitionJob, operation: 'send' | 'process', system: string): Attributes {
  return {
    'messaging.system': system,
    'messaging.destination.name': job.realm,
    'messaging.destination.partition.id': String(job.partition),
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.batch.message_count': job.events.length,
    'catalog.realm': job.realm,
  };
}

/** Records a span for each projection of a job with traces into a version, as a child of the span of the job. */
export const traceProjection: AroundProjection = (job, version, project) => {
  if (trace.getActiveSpan() === undefined) return project();
  const traces = tracesOf(job.events);
  const links = traces.length > 1 ? linksTo(traces.flat()) : [];
  const attributes = {
    'catalog.realm': job.realm,
    'catalog.partition': job.partition,
    'catalog.view_version': version,
    'catalog.event.count': job.events.length,
  };
  return inSpan('projection.run', { links, attributes }, project);
};

/**
 * Wraps the queue of media tasks, so that a task runs outside of any trace. A queue in memory would run it in the context
 * of a request that added a task.
 */
export function detachMediaTasks(queue: MediaTaskQueue): MediaTaskQueue {
  return {
    add: (task) => queue.add(task),
    work: (handler, concurrency) =>
      queue.work((...call) => context.with(ROOT_CONTEXT, handler, undefined, ...call), concurrency),
    close: () => queue.close(),
  };
}
