import { type Config, ConfigError, parseConfig } from '../../shared/kernel/config';
import { createLogger, type Logger } from '../../shared/kernel/log';

/** How long a process that was asked to stop may take before it is ended. */
const STOP_TIMEOUT_MS = 15_000;

/**
 * The frame of every server process: parses the configuration, starts, stops once on SIGTERM or SIGINT. A wrong
 * configuration or a failed start is one line on standard error and exit code 1.
 */
export async function runProcess(
  name: string,
  start: (config: Config, log: Logger) => Promise<() => Promise<void>>,
): Promise<void> {
  // While it starts there is nothing to finish: whatever was begun, the next start completes.
  let stop = async (): Promise<void> => {};
  onStopSignal(() => stop());
  try {
    const config = parseConfig(process.env);
    const log = createLogger({ level: config.LOG_LEVEL, destination: 2 }).child({ service: name });
    const stopStarted = await start(config, log);
    stop = async () => {
      log.info('stopping');
      await stopStarted();
    };
  } catch (error) {
    const text = error instanceof ConfigError ? error.message : `${name}: ${describe(error)}`;
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
}

function describe(error: unknown): string {
  const { code, message, cause } = error as { code?: string; message?: string; cause?: unknown };
  if (code === 'EADDRINUSE') return `the address is taken by another process (${message})`;
  if (code === 'EACCES') return `not allowed (${message})`;
  const told = [message, cause instanceof Error ? cause.message : undefined].filter(Boolean);
  return told.length > 0 ? told.join(': ') : String(error);
}

/** A second signal, or a stop that takes too long, ends the process at once. */
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
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}
