import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { environmentWithoutServers } from './own-servers';

/** A process of the service, compiled, as an operator would start it. */
export interface RunningProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it logged of requests that it answered by an internal error. */
  readonly faults: readonly string[];
  /** Sends the signal and waits for the end; the exit code, null after a kill. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const running = new Set<ChildProcess>();

/** For `afterEach`: a failed test leaves no process behind. */
export function endAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Of the log, to tell why a process did not start. */
const LINES_KEPT = 100;
const ROOT = join(__dirname, '..', '..');

/**
 * Starts a compiled main, such as `services/boot/main.js`, and waits until it says where it listens. It uses the servers of
 * `environment` (see `ownNames`), and no others. All that it logs is read, so that it never blocks on a full pipe;
 * where `faults_watched` is false nobody looks at it, which would take its time from what is measured.
 */
export async function startProcess(
  main: string,
  environment: Record<string, string>,
  {
    faults_watched = true,
    node_arguments = [],
  }: { readonly faults_watched?: boolean; readonly node_arguments?: readonly string[] } = {},
): Promise<RunningProcess> {
  const child = spawn(process.execPath, [...node_arguments, join(ROOT, main)], {
    env: {
      ...environmentWithoutServers(),
      PORT: '0',
      WORKER_PORT: '0',
      LOG_LEVEL: 'info',
      DEMO: 'off',
      // However long the log takes to be projected: what is read next is to be all there.
      START_TIMEOUT_S: '3600',
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const faults: string[] = [];
  const reader = createInterface({ input: child.stderr! });
  reader.on('line', (line) => {
    if (line.includes('"msg":"request failed"')) faults.push(line);
  });
  const url = await listeningUrl(reader, main);
  if (!faults_watched) {
    reader.close();
    child.stderr!.resume();
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return { url, child, faults, end };
}

function listeningUrl(reader: Interface, main: string): Promise<string> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    reader.on('line', function look(line) {
      const url = /"url":"(http:[^"]+)"/.exec(line)?.[1];
      if (lines.length < LINES_KEPT) lines.push(line);
      if (url === undefined) return;
      reader.off('line', look);
      resolve(url);
    });
    reader.once('close', () => reject(new Error(`${main} ended before it listened:\n${lines.join('\n')}`)));
  });
}
