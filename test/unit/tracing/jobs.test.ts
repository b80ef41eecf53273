import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { traceJobQueue, traceProjection } from '../../../services/tracing/jobs';
import { InProcessJobQueue } from '../../../shared/adapters/in-process/job-queue';
import type { RecordedEvent } from '../../../shared/catalog/events/envelope';
import type { PartitionJob } from '../../../shared/ports/job-queue';
import { anEvent, aStream } from '../../contract/some-events';
import { waitFor } from '../../support/wait-for';

const exporter = new InMemorySpanExporter();
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});
beforeEach(() => exporter.reset());

const TRACES = ['a', 'b', 'c'].map((digit) => digit.repeat(32));

/** The context of an append: the trace `TRACES[trace]` and the number of the span in it. */
const traceparent = (trace_number: number, span: number): string =>
  `00-${TRACES[trace_number]}-${String(span).padStart(16, '0')}-01`;

function aJob(contexts: readonly (string | undefined)[]): PartitionJob {
  const events = contexts.map((stored, index): RecordedEvent => {
    const { metadata, ...event } = anEvent();
    const position = BigInt(index + 1);
    const with_context = stored === undefined ? metadata : { ...metadata, traceparent: stored };
    return { ...event, metadata: with_context, position, stream: aStream(), revision: 0 };
  });
  return { realm: 'live', partition: 3, prev: 0n, last: BigInt(events.length), events };
}

/** Runs the job on a queue in memory and projects it. `fails`: how many attempts fail before. */
async function run(job: PartitionJob, { fails = 0 } = {}): Promise<ReadableSpan[]> {
  const queue = traceJobQueue(new InProcessJobQueue({ backoffMs: () => 1 }), 'in_process');
  let left = fails;
  let done = false;
  await queue.work((taken) =>
    traceProjection(taken, 1, async () => {
      if (left-- > 0) throw new TypeError('secret text');
      done = true;
    }),
  );
  await queue.enqueue(job);
  await waitFor(() => done);
  await queue.close();
  return exporter.getFinishedSpans();
}

const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan[] =>
  spans.filter((span) => span.name === name);
const linksOf = ({ links }: ReadableSpan): string[] =>
  links.map(({ context: { traceId, spanId } }) => `00-${traceId}-${spanId}-01`);
const parentOf = ({ parentSpanContext: parent }: ReadableSpan): string | undefined =>
  parent && `00-${parent.traceId}-${parent.spanId}-01`;

test('a job without contexts has no spans', async () => {
  expect(await run(aJob([undefined, undefined]))).toEqual([]);
});

test('a job with malformed contexts has no spans', async () => {
  expect(await run(aJob(['', 'nonsense', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`]))).toEqual([]);
});

test('a job with events of one append continues its trace', async () => {
  const append = traceparent(0, 1);
  const spans = await run(aJob([append, append, undefined]));
  const [send] = named(spans, 'send live');
  const [job] = named(spans, 'process live');
  const [projection] = named(spans, 'projection.run');
  expect(spans).toHaveLength(3);
  expect([parentOf(send!), parentOf(job!)]).toEqual([append, append]);
  expect([send!.kind, job!.kind]).toEqual([SpanKind.PRODUCER, SpanKind.CONSUMER]);
  expect(projection!.parentSpanContext!.spanId).toBe(job!.spanContext().spanId);
  expect(spans.flatMap(linksOf)).toEqual([]);
  expect(job!.attributes).toMatchObject({
    'messaging.destination.partition.id': '3',
    'messaging.batch.message_count': 3,
  });
});

test('a job with several appends of one trace continues the trace, and links to the other appends', async () => {
  const spans = await run(aJob([traceparent(0, 1), traceparent(0, 2)]));
  const [job] = named(spans, 'process live');
  expect(parentOf(job!)).toBe(traceparent(0, 1));
  expect(linksOf(job!)).toEqual([traceparent(0, 2)]);
});

test('a job with events of several traces is a trace of its own, linked with a span in each of them', async () => {
  const appends = [traceparent(0, 1), traceparent(1, 2), traceparent(2, 3)];
  const spans = await run(aJob(appends));
  const jobs = named(spans, 'process live');
  const batch = jobs.find((span) => span.parentSpanContext === undefined)!;
  expect(linksOf(batch)).toEqual(appends);
  const others = jobs.filter((span) => span !== batch);
  expect(others.map(parentOf)).toEqual(appends);
  const { traceId, spanId } = batch.spanContext();
  for (const span of others) expect(linksOf(span)).toEqual([`00-${traceId}-${spanId}-01`]);
  const [projection] = named(spans, 'projection.run');
  expect(projection!.parentSpanContext!.spanId).toBe(spanId);
  expect(linksOf(projection!)).toEqual(appends);
  expect(linksOf(named(spans, 'send live')[0]!)).toEqual(appends);
});

test('each attempt of a failing job has spans, with the kind of the error and without its text', async () => {
  const spans = await run(aJob([traceparent(0, 1), traceparent(1, 2)]), { fails: 1 });
  const failed = spans.filter((span) => span.attributes['error.type'] === 'TypeError');
  expect(failed.map(({ name }) => name).sort()).toEqual([
    'process live',
    'process live',
    'process live',
    'projection.run',
  ]);
  expect(
    JSON.stringify(spans.map(({ attributes, events, status }) => [attributes, events, status])),
  ).not.toContain('secret');
});
