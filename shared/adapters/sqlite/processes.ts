import { readFileSync } from 'node:fs';

/** Whether a process of this machine still runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !hasEnded(pid);
}

/**
 * A process that ended can still be signalled until whoever started it has asked for its end, which some never do.
 * Linux tells by its state, the letter behind its name; elsewhere it counts as alive.
 */
function hasEnded(pid: number): boolean {
  try {
    return /^ [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1').split(')').at(-1)!);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
