import { readTraceConfiguration } from '../../../services/tracing/settings';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const ON = { exporters: ['otlp'], protocol: 'http/protobuf', reads_traceparent: true };

describe('traces are off', () => {
  test.each<[string, Record<string, string>]>([
    ['without any variable', {}],
    ['with an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['with only a service name', { OTEL_SERVICE_NAME: 'shop' }],
    ['without an exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
    ['with a disabled SDK', { ...ENDPOINT, OTEL_SDK_DISABLED: 'True' }],
  ])('%s', (_, environment) => {
    expect(readTraceConfiguration(environment)).toEqual({ settings: undefined, warnings: [] });
  });

  test.each<[string, Record<string, string>, string]>([
    ['gRPC', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'PROTOCOL=grpc is not supported'],
    ['only unknown exporters', { OTEL_TRACES_EXPORTER: 'zipkin' }, 'zipkin is not supported'],
  ])('with %s, and a warning says so', (_, environment, warning) => {
    const { settings, warnings } = readTraceConfiguration(environment);
    expect(settings).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining(warning)]);
  });
});

describe('traces are on', () => {
  test.each<[string, Record<string, string>, object]>([
    ['with an endpoint', ENDPOINT, {}],
    ['with an endpoint for traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector/v1/traces' }, {}],
    ['with an exporter', { OTEL_TRACES_EXPORTER: 'otlp' }, {}],
    ['with two exporters', { OTEL_TRACES_EXPORTER: 'otlp, console' }, { exporters: ['otlp', 'console'] }],
    ['with JSON', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, { protocol: 'http/json' }],
    [
      'with the protocol of traces before that of all signals',
      {
        ...ENDPOINT,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      },
      {},
    ],
    ["with the standard's propagators", { ...ENDPOINT, OTEL_PROPAGATORS: 'tracecontext,baggage' }, {}],
    ['without propagators', { ...ENDPOINT, OTEL_PROPAGATORS: 'none' }, { reads_traceparent: false }],
    ['with a disabled SDK that is not', { ...ENDPOINT, OTEL_SDK_DISABLED: '1' }, {}],
  ])('%s', (_, environment, difference) => {
    const expected = { settings: { ...ON, ...difference }, warnings: [] };
    expect(readTraceConfiguration(environment)).toEqual(expected);
  });

  test('with another propagator, which is ignored with a warning', () => {
    const { settings, warnings } = readTraceConfiguration({
      ...ENDPOINT,
      OTEL_PROPAGATORS: 'tracecontext,b3',
    });
    expect(settings).toEqual(ON);
    expect(warnings).toEqual([expect.stringContaining('b3 is not supported')]);
  });
});
