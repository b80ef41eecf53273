import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningProcess, startProcess } from '../support/processes';

const UNLIMITED = '100000000/1000000000/100000000';
const LIMITS = { RATE_LIMIT_PUBLIC: UNLIMITED, RATE_LIMIT_SECRET: UNLIMITED };

/** What `npm start` gives Node: what is measured runs as it does, and so does what it is compared with. */
export const NODE_ARGUMENTS: readonly string[] = nodeArguments();

function nodeArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(__dirname, '..', '..', '..', 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.split(' ').slice(1, -1);
}

/** A process of the service that refuses no load, and whose log nobody looks at. */
export function startMeasured(
  main: string,
  settings: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  const options = { faults_watched: false, node_arguments: NODE_ARGUMENTS };
  return startProcess(main, { ...settings, ...LIMITS }, options);
}
