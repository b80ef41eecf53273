import { join } from 'node:path';
import { type Config, ConfigError, parseConfig } from '../../shared/kernel/config';
import { createLogger, type Logger } from '../../shared/kernel/log';
import { readTraceConfiguration } from '../tracing/settings';
import { startTracing } from '../tracing/start';
import type { Tracing } from '../tracing/tracing';
import { endLoading } from './loading';
import { markRunning } from './running-processes';
import { describeStartError } from './start-error';

/** The folder of package.json, seen from `dist/services/boot`. */
const ROOT = join(__dirname, '..', '..', '..');

/** How long a graceful shutdown may take before the process exits anyway. */
export const STOP_TIMEOUT_MS = 15_000;

/**
 * Runs a server process: parses the configuration, calls `start`, and on SIGTERM or SIGINT calls the function that
 * `start` returned. If the configuration is invalid or `start` fails, prints one line on standard error and exits with 1.
 */
export async function runProcess(
  name: string,
  start: (config: Config, log: Logger, tracing: Tracing | undefined) => Promise<() => Promise<void>>,
): Promise<void> {
  // Until `start` has returned, a stop signal ends the process at once. The next start completes unfinished work.
  let stop = async (): Promise<void> => {};
  onStopSignal(() => stop());
  markRunning(ROOT);
  try {
    const config = parseConfig(process.env);
    const traces = readTraceConfiguration(process.env);
    let tracing: Tracing | undefined;
    const fields = traces.settings && { fields: () => tracing?.logFields() ?? {} };
    const log = createLogger({ level: config.LOG_LEVEL, destination: 2, ...fields }).child({ service: name });
    tracing = startTracing(traces, name === 'catalog' ? name : `catalog-${name}`, config, log);
    const stopStarted = await start(config, log, tracing);
    stop = async () => {
      log.info('stopping');
      await stopStarted();
      await tracing?.stop();
    };
  } catch (error) {
    const text = error instanceof ConfigError ? error.message : `${name}: ${describeStartError(error)}`;
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
}

/** Calls `stop` on the first signal. Exits at once on the second signal, or when the stop takes too long. */
function onStopSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const handle = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, handle);
    process.off(signal, endLoading);
  }
}
