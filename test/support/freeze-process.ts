import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { waitFor } from './wait-for';

/**
 * Stops the process with SIGSTOP. Resolves when all its threads have stopped: on a busy machine, a thread may still
 * answer a request that arrives after the signal. Where there is no `/proc`, resolves as soon as the signal is sent.
 */
export async function freezeProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return;
  await waitFor(() => readdirSync(tasks).every((task) => hasStopped(`${tasks}/${task}/stat`)), {
    what: `the threads of process ${pid} to stop`,
  });
}

/** The state is the first field after the name, which is in parentheses and may contain any character. */
function hasStopped(stat_file: string): boolean {
  const stat = readFileSync(stat_file, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
