import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Returns the ids of the processes that a process has started and that still run. */
export function childrenOf(parent_pid: number): number[] {
  // Without a `ps` on Linux, because some tests call this often.
  const listed = `/proc/${parent_pid}/task/${parent_pid}/children`;
  if (existsSync(listed)) return readFileSync(listed, 'utf8').split(' ').filter(Boolean).map(Number);
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' });
  return processes.split('\n').flatMap((line) => {
    const [pid, ppid, state, command] = line.trim().split(/\s+/);
    return Number(ppid) === parent_pid && !state!.startsWith('Z') && command !== 'ps' ? [Number(pid)] : [];
  });
}

/** Returns whether a process runs. A process that ended and was not yet waited for does not run. */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false; // `ps` fails if there is no such process.
  }
}
