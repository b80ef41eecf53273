import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { environmentWithoutServers } from './own-servers';

/** A process of the service, compiled, as an operator would start it. */
export interface RunningProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Sends the signal and waits for the end; the exit code, null after a kill. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const running = new Set<ChildProcess>();

/** For `afterEach`: a failed test leaves no process behind. */
export function endAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

const ROOT = join(__dirname, '..', '..');

/**
 * Starts a compiled main, such as `services/main.js`, and waits until it says where it listens. It uses the servers of
 * `environment` (see `ownNames`), and no others.
 */
export async function startProcess(
  main: string,
  environment: Record<string, string>,
): Promise<RunningProcess> {
  const child = spawn(process.execPath, [join(ROOT, main)], {
    env: { ...environmentWithoutServers(), PORT: '0', LOG_LEVEL: 'info', DEMO: 'off', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const url = await listeningUrl(child, main);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return { url, child, end };
}

async function listeningUrl(child: ChildProcess, main: string): Promise<string> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr! })) {
    lines.push(line);
    const url = /"url":"(http:[^"]+)"/.exec(line)?.[1];
    if (url === undefined) continue;
    // Read on, so that the child never blocks on a full pipe.
    child.stderr!.resume();
    return url;
  }
  throw new Error(`${main} ended before it listened:\n${lines.join('\n')}`);
}
