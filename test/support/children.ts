import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { waitFor } from './wait-for';

/** The roles of the processes that the service starts. */
export type Role = 'render' | 'projections' | 'http' | 'maintenance';

/**
 * Returns the ids of the processes that a process has started and that still run. With `role`, only of those with
 * this one.
 */
export function childrenOf(parent_pid: number, role?: Role): number[] {
  // Without a `ps` on Linux, because some tests call this often.
  const listed = `/proc/${parent_pid}/task/${parent_pid}/children`;
  if (existsSync(listed)) {
    const pids = readFileSync(listed, 'utf8').split(' ').filter(Boolean).map(Number);
    return role === undefined ? pids : pids.filter((pid) => commandOf(pid).split('\0').includes(role));
  }
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' });
  return processes.split('\n').flatMap((line) => {
    const [pid, ppid, state, command, ...options] = line.trim().split(/\s+/);
    if (Number(ppid) !== parent_pid || state!.startsWith('Z') || command === 'ps') return [];
    return role === undefined || options.includes(role) ? [Number(pid)] : [];
  });
}

/** Returns an empty text if the process has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** Returns whether a process runs. A process that ended and was not yet waited for does not run. */
export function isRunning(pid: number): boolean {
  try {
    // Linux shows the state after the name of the program, which is in parentheses.
    const state =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!
        : execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false; // There is no such process.
  }
}

/** Waits until a process uses so much memory that it decodes the large picture of a test. */
export async function waitUntilDecoding(pid: number): Promise<void> {
  await waitFor(() => residentMib(pid) > 200, { what: `process ${pid} to decode` });
}

/**
 * Returns the resident memory of a process in MiB, 0 if the process has ended. On Linux without a `ps` per sample,
 * which cost a third of the CPU.
 */
export function residentMib(pid: number): number {
  if (process.platform !== 'linux')
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
  try {
    const [, kib = 0] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) / 1024;
  } catch {
    return 0;
  }
}
