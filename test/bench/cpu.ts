import { readdirSync, readFileSync } from 'node:fs';

/**
 * Microseconds of CPU that a process has used so far, all its threads; undefined where the system does not tell. On a
 * machine that others use as well, it says more than the time that went by.
 */
export function cpuUs(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
    return times.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1000;
  } catch {
    return undefined;
  }
}
