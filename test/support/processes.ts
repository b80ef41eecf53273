import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { environmentWithoutServers, SERVER_SETTINGS } from './own-servers';
import { WAIT_MS_MAX, within } from './wait-for';

/** A process of the compiled service, started as an operator starts it. */
export interface RunningProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Log lines about requests that failed with an internal error. */
  readonly faults: readonly string[];
  /** Log lines of level `warn` and higher. */
  readonly warnings: readonly string[];
  /** All that it has printed so far, on both outputs. Empty without `keep_output`. */
  output(): string;
  /** Sends the signal and waits for the exit. Returns the exit code, null after SIGKILL. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface StartOptions {
  /** Whether to collect `faults` from the log. Default: true. */
  readonly watch_log?: boolean;
  /** Whether to keep everything that it prints. Default: false. */
  readonly keep_output?: boolean;
  /** Arguments for node itself. */
  readonly node_arguments?: readonly string[];
  /**
   * Whether to wait until the all-in-one service has projected what is in the log, so that the next read is complete.
   * Default: true. With servers it does not log this.
   */
  readonly catches_up?: boolean;
  /** A start on a large log takes longer than the default, `WAIT_MS_MAX`. */
  readonly starts_within_ms?: number;
}

const running = new Set<ChildProcess>();

/** Kills all processes that still run. For `afterEach`, because a failed test may leave some behind. */
export function endAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Log lines that are kept, to explain why a process did not start. */
const LINES_KEPT = 100;
const ROOT = join(__dirname, '..', '..');

/**
 * Starts a compiled entry point, such as `services/boot/main.js query`, and waits until it logs its address. It uses the
 * servers of `environment` (see `ownNames`) and no others. Its log is always read, because a full pipe would block
 * the process. `faults_watched: false` discards the log, which costs less CPU in a benchmark.
 */
export async function startProcess(
  main: string,
  environment: Record<string, string>,
  {
    watch_log = true,
    keep_output = false,
    node_arguments = [],
    catches_up = true,
    starts_within_ms = WAIT_MS_MAX,
  }: StartOptions = {},
): Promise<RunningProcess> {
  const child = spawn(process.execPath, [...node_arguments, ...commandOf(main)], {
    env: {
      ...environmentWithoutServers(),
      PORT: '0',
      WORKER_PORT: '0',
      LOG_LEVEL: 'info',
      DEMO: 'off',
      // No limit for the projection of the log at the start.
      START_TIMEOUT_S: '3600',
      ...environment,
    },
    stdio: ['ignore', keep_output ? 'pipe' : 'ignore', 'pipe'],
  });
  const printed: string[] = [];
  if (keep_output)
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk) => printed.push(String(chunk)));
  running.add(child);
  child.once('exit', () => running.delete(child));
  const faults: string[] = [];
  const warnings: string[] = [];
  const reader = createInterface({ input: child.stderr! });
  reader.on('line', (line) => {
    // A log line with a field twice cannot be searched.
    if (line.includes('"msg":"request failed"') || /"realm":.*"realm":/.test(line)) faults.push(line);
    if (/"level":("(warn|error|fatal)"|[456]0)/.test(line)) warnings.push(line);
  });
  const has_servers = SERVER_SETTINGS.some((name) => environment[name] !== undefined);
  const last_line =
    catches_up && main.endsWith('/main.js') && !has_servers
      ? /"msg":"the documents have (not )?caught up/
      : /./;
  const url = await within(startedUrl(reader, main, last_line), `${main} to start`, starts_within_ms);
  if (!watch_log) {
    reader.close();
    child.stderr!.resume();
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill(signal);
    await within(exited, `${main} to exit after ${signal}`);
    return child.exitCode;
  };
  return { url, child, faults, warnings, output: () => printed.join(''), end };
}

/** Returns the file and its arguments. */
function commandOf(main: string): string[] {
  const [file, ...rest] = main.split(' ');
  return [resolve(ROOT, file!), ...rest];
}

/** Returns the address that the process logs. Waits until it has logged `last_line`, too. */
function startedUrl(reader: Interface, main: string, last_line: RegExp): Promise<string> {
  const lines: string[] = [];
  let url: string | undefined;
  let is_last_logged = false;
  return new Promise((resolve, reject) => {
    reader.on('line', function findUrl(line) {
      url ??= /"url":"(http:[^"]+)"/.exec(line)?.[1];
      if (lines.length < LINES_KEPT) lines.push(line);
      is_last_logged ||= last_line.test(line);
      if (url === undefined || !is_last_logged) return;
      reader.off('line', findUrl);
      resolve(url);
    });
    reader.once('close', () =>
      reject(new Error(`${main} ended before it had started:\n${lines.join('\n')}`)),
    );
  });
}
