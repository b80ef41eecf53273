import { type Config, ConfigError, misspelledSettings, parseConfig } from '../../shared/kernel/config';
import { createLogger, type Logger } from '../../shared/kernel/log';
import {
  Channel,
  type ChildCalls,
  endWithParent,
  onStopSignal,
  type ParentCalls,
} from '../../shared/kernel/processes';
import { readTraceConfiguration } from '../tracing/settings';
import { startTracing } from '../tracing/start';
import type { Tracing } from '../tracing/tracing';

/** How long a graceful shutdown may take before the process exits anyway. */
export const STOP_TIMEOUT_MS = 15_000;

/** The log of a process and its traces. */
interface Observed {
  readonly log: Logger;
  /** Undefined in a process without traces. */
  readonly tracing: Tracing | undefined;
}

/**
 * Runs a server process: parses the configuration, calls `start`, and on SIGTERM or SIGINT calls the function that
 * `start` returned. If the configuration is invalid or `start` fails, prints one line on standard error and exits with 1.
 */
export async function runProcess(
  name: string,
  start: (config: Config, observed: Observed) => Promise<() => Promise<void>>,
): Promise<void> {
  // Until `start` has returned, a stop signal ends the process at once. The next start completes unfinished work.
  let stop = async (): Promise<void> => {};
  stopOnSignal(() => stop());
  try {
    const config = parseConfig(process.env);
    const observed = observe(config, name);
    for (const warning of misspelledSettings(process.env)) observed.log.warn(warning);
    const stopStarted = await start(config, observed);
    stop = async () => {
      observed.log.info('stopping');
      await stopStarted();
      await observed.tracing?.stop();
    };
  } catch (error) {
    const text =
      error instanceof ConfigError
        ? error.message
        : `${name}: ${describeStartError(error, portSetting(name))}`;
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
}

/** What a process needs that another process of the service starts. */
export interface ChildOptions {
  readonly config: Config;
  /** Its name in the log. */
  readonly name: string;
}

/**
 * Runs a process that another process of the service has started. `start` returns the functions that the parent may call,
 * of which `stop` ends the work. If `start` fails, tells the parent why and exits with 1.
 */
export function serveParent<Options extends ChildOptions, Theirs extends object>(
  start: (options: Options, parent: Channel<Theirs>, observed: Observed) => Promise<ChildCalls>,
): void {
  endWithParent();
  const run = async (): Promise<ChildCalls> => {
    const options = (await parent.ask('options', undefined))!;
    const observed = observe(options.config, 'catalog', options.name);
    const calls = await start(options, parent as Channel<object> as Channel<Theirs>, observed);
    const stop = async (): Promise<void> => {
      try {
        await calls.stop();
        await observed.tracing?.stop();
      } finally {
        process.exit(0);
      }
    };
    return { ...calls, stop };
  };
  const running = Promise.resolve().then(run);
  const parent = new Channel<ParentCalls<Options>>(process, running);
  running.catch(async (error) => {
    await parent.ask('failed', describeStartError(error), 1_000);
    process.exit(1);
  });
}

/** Creates the log of a process and starts its traces. `child`: the name of a process that the service has started. */
function observe(config: Config, name: string, child?: string): Observed {
  const traces = readTraceConfiguration(process.env);
  let tracing: Tracing | undefined;
  const fields = traces.settings && { fields: () => tracing?.logFields() ?? {} };
  const names = child === undefined ? { service: name } : { service: name, process: child };
  const log = createLogger({ level: config.LOG_LEVEL, destination: 2, ...fields }).child(names);
  // The service has logged the warnings.
  const configuration = child === undefined ? traces : { ...traces, warnings: [] };
  tracing = startTracing(configuration, name === 'catalog' ? name : `catalog-${name}`, config, log);
  // Processes that this one starts inherit it: they need not try, and log, the same again.
  if (!tracing) process.env.OTEL_SDK_DISABLED = 'true';
  return { log, tracing };
}

/** Calls `stop` on the first signal. Exits at once on the second signal, or when the stop takes too long. */
function stopOnSignal(stop: () => Promise<void>): void {
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
  onStopSignal(handle);
}

/** The fields that Node sets on errors of the operating system. */
interface SystemError {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly message?: string;
  readonly cause?: unknown;
}

/** The setting of the port on which a process listens. */
const portSetting = (name: string): string => (name === 'worker' ? 'WORKER_PORT' : 'PORT');

/** Says why a process cannot start, and what to do about it. */
function describeStartError(error: unknown, setting = 'PORT'): string {
  const { code, syscall, address, hostname, port, message, cause } = error as SystemError;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use. Set another one, such as ${setting}=${Number(port) + 1}.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `Cannot listen on host ${address ?? hostname}. Set HOST to an address of this machine.`;
  if (code === 'ENOTSUP' && syscall === 'listen')
    return 'This operating system does not let several processes listen on one port. Set WORKERS=1.';
  if (code === 'EACCES' && syscall === 'listen')
    return `Not permitted to listen on port ${port}. Set ${setting} to another one.`;
  if (code === 'EACCES') return `Permission denied (${message}).`;
  const messages = [message, cause instanceof Error ? cause.message : undefined].filter(Boolean);
  return messages.length > 0 ? messages.join(': ') : String(error);
}
