import { type RunningProcess, startProcess } from '../support/processes';

const UNLIMITED = '100000000/1000000000/100000000';
const LIMITS = { RATE_LIMIT_PUBLIC: UNLIMITED, RATE_LIMIT_SECRET: UNLIMITED };

/** A process of the service that refuses no load, and whose log nobody looks at. */
export function startMeasured(
  main: string,
  settings: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  return startProcess(main, { ...settings, ...LIMITS }, { faults_watched: false });
}
