/** How spans are exported. */
export interface TraceSettings {
  /** At least one. */
  readonly exporters: readonly TraceExporter[];
  readonly protocol: OtlpProtocol;
  /** Whether the `traceparent` of a request is used (`OTEL_PROPAGATORS` contains `tracecontext`). */
  readonly reads_traceparent: boolean;
}

export type TraceExporter = 'otlp' | 'console';
export type OtlpProtocol = 'http/protobuf' | 'http/json';

/** The part of the standard environment variables that decides whether there are traces. */
export interface TraceConfiguration {
  /** Undefined: no traces. */
  readonly settings: TraceSettings | undefined;
  /** What the variables ask for and this service cannot do. */
  readonly warnings: readonly string[];
}

/** Propagators that need no warning: the used one, the other one of the standard's default, and none at all. */
const PROPAGATORS = ['tracecontext', 'baggage', 'none'];

/**
 * Reads whether the environment asks for traces, without loading any package
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Traces are on if
 * `OTEL_TRACES_EXPORTER` names an exporter, or if it is unset and an OTLP endpoint is set. The standard's default is an
 * exporter to localhost; here it is none, so that a service without configuration exports nothing. The SDK reads all
 * other variables itself.
 */
export function readTraceConfiguration(
  environment: Readonly<Record<string, string | undefined>>,
): TraceConfiguration {
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined;
  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return { settings: undefined, warnings: [] };
  const warnings: string[] = [];
  const exporters = exportersOf(read, warnings);
  const protocol =
    read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? read('OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'http/protobuf';
  const is_supported = protocol === 'http/protobuf' || protocol === 'http/json';
  if (exporters.includes('otlp') && !is_supported)
    warnings.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL=${protocol} is not supported. Set http/protobuf or http/json, and the collector's HTTP endpoint (usually port 4318). No traces are exported.`,
    );
  if (exporters.length === 0 || !is_supported) return { settings: undefined, warnings };
  const propagators = listOf(read('OTEL_PROPAGATORS') ?? 'tracecontext');
  for (const name of propagators)
    if (!PROPAGATORS.includes(name))
      warnings.push(`OTEL_PROPAGATORS: ${name} is not supported and is ignored. Only tracecontext is used.`);
  const reads_traceparent = propagators.includes('tracecontext');
  return { settings: { exporters, protocol, reads_traceparent }, warnings };
}

function exportersOf(read: (name: string) => string | undefined, warnings: string[]): TraceExporter[] {
  const has_endpoint =
    read('OTEL_EXPORTER_OTLP_ENDPOINT') !== undefined ||
    read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== undefined;
  const names = listOf(read('OTEL_TRACES_EXPORTER') ?? (has_endpoint ? 'otlp' : 'none'));
  const exporters: TraceExporter[] = [];
  for (const name of new Set(names)) {
    if (name === 'otlp' || name === 'console') exporters.push(name);
    else if (name !== 'none')
      warnings.push(
        `OTEL_TRACES_EXPORTER: ${name} is not supported and is ignored. Set otlp, console or none.`,
      );
  }
  return exporters;
}

function listOf(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}
