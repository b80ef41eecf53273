import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns the CPU time of a process so far, in microseconds, for all its threads. Undefined if the system does not
 * report it. On a shared machine it says more than the elapsed time.
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

/** Returns the CPU time of a process's main thread so far, in microseconds. Undefined if it is not reported. */
export function mainThreadUs(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  } catch {
    return undefined;
  }
}

/** Returns the id of the child of a process that runs the script. Undefined if there is none, or it is not reported. */
export function childPid(pid: number, script: string): number | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    const found = children.find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(script));
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}

/** Returns the memory of a process in MB: now, and the most since its start. Undefined if it is not reported. */
export function memoryMb(pid: number): { now: number; peak: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mb = (field: string): number =>
      Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]) / 1024;
    return { now: mb('VmRSS'), peak: mb('VmHWM') };
  } catch {
    return undefined;
  }
}
