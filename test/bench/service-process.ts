import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type RunningProcess, type StartOptions, startProcess } from '../support/processes';

/** Requests per minute, requests per day, and burst (`RATE_LIMIT_PUBLIC`). The service never reaches these limits. */
const UNLIMITED = '100000000/1000000000/100000000';
const LIMITS = {
  RATE_LIMIT_PUBLIC: UNLIMITED,
  RATE_LIMIT_SECRET: UNLIMITED,
  RATE_LIMIT_AUTH: '1000000/1000000',
};

/** A start on a million publications without documents projects all of them first. */
const LISTENS_WITHIN_MS = 3_600_000;

const ROOT = join(__dirname, '..', '..', '..');

/** The Node options of `npm start`, used for the service and for the baselines. */
export const NODE_ARGUMENTS: readonly string[] = nodeArguments(ROOT);

function nodeArguments(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const words = scripts.start.split(' ');
  return words.slice(words.indexOf('node') + 1, -1);
}

/**
 * Starts a process of the service with rate limits that are never reached, and waits until it listens. Discards its log.
 * `root`: the built tree to start it from, by default this one.
 */
export function startServiceUnderTest(
  main: string,
  settings: Readonly<Record<string, string>>,
  node_arguments: readonly string[] = [],
  root = ROOT,
): Promise<RunningProcess> {
  const options: StartOptions = {
    watch_log: false,
    node_arguments: [...nodeArguments(root), ...node_arguments],
    catches_up: false,
    starts_within_ms: LISTENS_WITHIN_MS,
  };
  const from_here = relative(join(ROOT, 'dist'), join(root, 'dist', main));
  return startProcess(from_here, { ...settings, ...LIMITS }, options);
}
