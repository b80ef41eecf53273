import {
  type Attributes,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { TraceRequest } from '../../shared/http/pipeline';
import type { Exchange, HttpRequest } from '../../shared/http/request';
import { hideSecretValues } from '../../shared/kernel/log';
import { readContext, startSpan } from './spans';

/** Probes of orchestrators and scrapers. Their spans would outnumber all others and say nothing. */
const UNTRACED = /^\/(?:health\/|metrics$)/;

/** A client may send any method. Attributes and span names only have these, so that their number stays small. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'];

/**
 * Returns the function that records the span of a request (https://opentelemetry.io/docs/specs/semconv/http/http-spans/).
 * The span continues the trace of the header `traceparent` if `reads_traceparent`. Its attributes contain no query, no
 * header and no address, because these may contain secrets or personal data.
 */
export function requestStage(reads_traceparent: boolean): TraceRequest {
  return (exchange, run) => {
    const { req, res, path } = exchange;
    if (UNTRACED.test(path)) return run();
    const parent = reads_traceparent ? readContext(req.headers) : ROOT_CONTEXT;
    const span = startSpan(
      methodOf(req),
      { kind: SpanKind.SERVER, attributes: attributesOf(exchange) },
      parent,
    );
    const active = trace.setSpan(parent, span);
    // Node emits `close` outside of the request's asynchronous context. The log line of the request is written then.
    context.bind(active, res);
    res.once('close', () => end(span, exchange));
    return context.with(active, run);
  };
}

function methodOf({ method }: HttpRequest): string {
  return METHODS.includes(method) ? method : 'HTTP';
}

function attributesOf({ req, path }: Exchange): Attributes {
  const { method, httpVersion } = req;
  const is_known = METHODS.includes(method);
  return {
    'http.request.method': is_known ? method : '_OTHER',
    ...(is_known ? {} : { 'http.request.method_original': method }),
    'url.path': hideSecretValues(path),
    'url.scheme': 'http',
    'network.protocol.version': httpVersion,
  };
}

function end(span: Span, { req, res, route }: Exchange): void {
  if (route !== undefined) {
    span.updateName(`${methodOf(req)} ${route}`);
    span.setAttribute('http.route', route);
  }
  if (res.headersSent) span.setAttribute('http.response.status_code', res.statusCode);
  if (res.headersSent && res.statusCode >= 500) {
    span.setAttribute('error.type', String(res.statusCode));
    span.setStatus({ code: SpanStatusCode.ERROR });
  } else if (!res.writableFinished) span.setAttribute('error.type', 'aborted');
  span.end();
}
