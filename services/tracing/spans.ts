import {
  type Attributes,
  type Context,
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { CatalogError } from '../../shared/kernel/errors';

const w3c = new W3CTraceContextPropagator();
const tracer = trace.getTracer('catalog-service');

/** The context of a span as text (https://www.w3.org/TR/trace-context/). Its fields have the names of the headers. */
export interface StoredContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Starts a span. The caller must end it. */
export function startSpan(name: string, options: SpanOptions, parent: Context): Span {
  return tracer.startSpan(name, options, parent);
}

/** Runs `work` in a new span, by default a child of the current one. Settles as `work` does. */
export async function inSpan<Result>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<Result>,
  parent: Context = context.active(),
): Promise<Result> {
  const span = startSpan(name, options, parent);
  try {
    return await context.with(trace.setSpan(parent, span), work, undefined, span);
  } catch (error) {
    setFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Marks the span as failed, by the kind of the error alone: its message may contain addresses or data. */
export function setFailed(span: Span, error: unknown): void {
  const type =
    error instanceof CatalogError ? error.condition : error instanceof Error ? error.name : 'unknown';
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Returns the context of the span for `readContext`, empty if the span is not sampled. */
export function writeContext(span: Span): StoredContext {
  const span_context = span.spanContext();
  if ((span_context.traceFlags & TraceFlags.SAMPLED) === 0) return {};
  const carrier: { traceparent?: string; tracestate?: string } = {};
  w3c.inject(trace.setSpanContext(ROOT_CONTEXT, span_context), carrier, defaultTextMapSetter);
  return carrier;
}

/** Returns the context that the headers or the metadata contain, `ROOT_CONTEXT` if there is none or it is malformed. */
export function readContext(carrier: object): Context {
  return w3c.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter);
}

export function contextWith(span_context: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, span_context);
}

export function linksTo(span_contexts: readonly SpanContext[], attributes: Attributes = {}): Link[] {
  return span_contexts.map((linked) => ({ context: linked, attributes }));
}
