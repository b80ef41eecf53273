import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Kills a process in the middle of a put into `where`: a folder, or a MongoDB's address. */
export async function dieWhilePutting(where: string): Promise<void> {
  const script = join(__dirname, 'put-for-ever.js');
  const victim = spawn(process.execPath, [script, where], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(victim, 'exit');
  const putting = await Promise.race([once(victim.stdout, 'data').then(() => true), exited]);
  if (putting !== true) throw new Error('it ended before it was killed');
  victim.kill('SIGKILL');
  await exited;
}
