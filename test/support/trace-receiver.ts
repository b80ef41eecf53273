import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from './wait-for';

type Value = { stringValue?: string; intValue?: number; boolValue?: boolean };
interface JsonSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
  readonly status: { readonly code?: number };
}
interface JsonBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: JsonSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly JsonSpan[] }[];
  }[];
}

/** The kinds of spans, by their numbers in OTLP. */
const KINDS = ['', 'internal', 'server', 'client', 'producer', 'consumer'];

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | undefined;
  readonly links: readonly { readonly trace_id: string; readonly span_id: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly is_error: boolean;
  /** `service.name` of the process. */
  readonly service: unknown;
}

/** `refuses`: responds with 400. `silent`: accepts connections and never responds. */
type Behaviour = 'accepts' | 'refuses' | 'silent';

/** Receives spans as a collector does: OTLP over HTTP. Reads the spans if they are JSON. */
export class TraceReceiver {
  /** Everything that was received, as text. */
  text = '';
  /** How often something was received. */
  requests = 0;
  private readonly received: ReceivedSpan[] = [];
  private readonly server: Server;

  private constructor(behaviour: Behaviour) {
    this.server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      this.requests++;
      if (behaviour === 'silent') return;
      this.text += text;
      const is_json = request.headers['content-type'] === 'application/json';
      if (behaviour === 'accepts' && is_json) this.take(text);
      response.statusCode = behaviour === 'accepts' ? 200 : 400;
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }

  static async start(behaviour: Behaviour = 'accepts'): Promise<TraceReceiver> {
    const receiver = new TraceReceiver(behaviour);
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  /** The variables with which a process sends its spans here, without the usual delay. */
  get settings(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    };
  }

  /** Waits until the trace has a span for each name. Returns all spans of the trace so far. */
  waitForSpans(trace_id: string, names: readonly string[]): Promise<ReceivedSpan[]> {
    return waitFor(
      () => {
        const spans = this.spansOf(trace_id);
        return names.every((name) => spans.some((span) => span.name === name)) && spans;
      },
      { what: `the spans ${names.join(', ')}` },
    );
  }

  spansOf(trace_id: string): ReceivedSpan[] {
    return this.received.filter((span) => span.trace_id === trace_id);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private take(text: string): void {
    for (const { resource, scopeSpans } of (JSON.parse(text) as JsonBody).resourceSpans) {
      const service = valuesOf(resource.attributes)['service.name'];
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.received.push({
          name: span.name,
          kind: KINDS[span.kind]!,
          trace_id: span.traceId,
          span_id: span.spanId,
          parent_id: span.parentSpanId,
          links: (span.links ?? []).map((link) => ({ trace_id: link.traceId, span_id: link.spanId })),
          attributes: valuesOf(span.attributes),
          is_error: span.status.code === 2,
          service,
        });
    }
  }
}

function valuesOf(attributes: JsonSpan['attributes']): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
