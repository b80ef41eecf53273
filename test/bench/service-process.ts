import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningProcess, startProcess } from '../support/processes';

/** Requests per minute, requests per day, and burst (`RATE_LIMIT_PUBLIC`). The service never reaches these limits. */
const UNLIMITED = '100000000/1000000000/100000000';
const LIMITS = {
  RATE_LIMIT_PUBLIC: UNLIMITED,
  RATE_LIMIT_SECRET: UNLIMITED,
  RATE_LIMIT_AUTH: '1000000/1000000',
};

/** A start on a million publications without documents projects all of them first. */
const LISTENS_WITHIN_MS = 3_600_000;

/** The Node options of `npm start`, used for the service and for the baselines. */
export const NODE_ARGUMENTS: readonly string[] = nodeArguments();

function nodeArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(__dirname, '..', '..', '..', 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.split(' ').slice(2, -1);
}

/** Starts a process of the service with rate limits that are never reached. Discards its log. */
export function startServiceUnderTest(
  main: string,
  settings: Readonly<Record<string, string>>,
  node_arguments: readonly string[] = [],
): Promise<RunningProcess> {
  const options = {
    watch_log: false,
    node_arguments: [...NODE_ARGUMENTS, ...node_arguments],
    listens_within_ms: LISTENS_WITHIN_MS,
  };
  return startProcess(main, { ...settings, ...LIMITS }, options);
}
