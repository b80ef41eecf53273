import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { within } from './wait-for';

/** Kills a process while it puts a blob into `where`: a folder, or a MongoDB URL. */
export async function dieWhilePutting(where: string): Promise<void> {
  const script = join(__dirname, 'put-for-ever.js');
  const victim = spawn(process.execPath, [script, where], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(victim, 'exit');
  const first = Promise.race([once(victim.stdout, 'data').then(() => true), exited]);
  const putting = await within(first, 'the process to put its first bytes');
  if (putting !== true) throw new Error('it ended before it was killed');
  victim.kill('SIGKILL');
  await within(exited, 'the killed process to exit');
}
