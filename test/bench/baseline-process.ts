import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NODE_ARGUMENTS } from './service-process';

/** Starts a baseline of this folder and waits until it prints its port. */
export async function startBaseline(
  script: string,
  args: readonly (string | number)[],
): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, join(__dirname, script), ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { url: `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`, child };
}
