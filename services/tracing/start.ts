import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import type { openTracing } from './sdk';
import type { TraceConfiguration } from './settings';
import type { Tracing } from './tracing';

/**
 * Starts the traces of a process if its environment asks for them. If they cannot be started, for example because the
 * optional packages are not installed, logs one line and returns undefined: the service works without traces.
 */
export function startTracing(
  { settings, warnings }: TraceConfiguration,
  service_name: string,
  config: Config,
  log: Logger,
): Tracing | undefined {
  for (const warning of warnings) log.warn(warning);
  if (settings === undefined) return undefined;
  try {
    // Loaded only when it is used: the SDK is large, and optional.
    const sdk = require('./sdk') as { readonly openTracing: typeof openTracing };
    const tracing = sdk.openTracing(settings, service_name, config, log);
    log.info({ exporters: settings.exporters }, 'traces are on');
    return tracing;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND')
      log.error(
        'The OTEL_* variables ask for traces, but the optional packages @opentelemetry/* are not installed. Install them with "npm ci", or set OTEL_SDK_DISABLED=true. The service runs without traces.',
      );
    else log.error({ err: error }, 'traces cannot be started; the service runs without them');
    return undefined;
  }
}
