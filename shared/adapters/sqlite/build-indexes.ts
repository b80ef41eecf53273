import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { IndexProgress } from '../../ports/view-store';

/*
 * Creates the indexes of a large file in other processes, because the single statements take seconds. The words are
 * indexed in a file of their own meanwhile, which needs a second core.
 */

/** Follows the name of the version's file in the names of the files in which words are indexed. */
const WORDS_SUFFIX = '-words';

/**
 * Creates the missing indexes of the documents in `file`. Leaves some of them out if a process fails, for whatever
 * reason. Ends the processes if `signal` aborts.
 */
export async function buildIndexes(
  file: string,
  { onProgress, signal }: { onProgress: (progress: IndexProgress) => void; signal: AbortSignal },
): Promise<void> {
  removeWordFiles(file);
  // A process of an earlier build may still run, so each build has a file of its own.
  const words_file = `${file}${WORDS_SUFFIX}-${randomUUID()}`;
  try {
    await hasSucceeded('index-builder.js', [file, words_file], { onMessage: onProgress, signal });
  } finally {
    rmSync(words_file, { force: true });
  }
}

/**
 * Indexes the words of the documents in `file` in another process. Resolves to `words_file`, or to undefined if the
 * process fails. Ends the process if `signal` aborts.
 */
export async function buildWords(
  file: string,
  words_file: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (await hasSucceeded('word-builder.js', [file, words_file], { signal })) ? words_file : undefined;
}

/** Deletes the indexes of words that ended builds have left beside `file`. */
export function removeWordFiles(file: string): void {
  const folder = dirname(file);
  for (const name of readdirSync(folder))
    if (name.startsWith(basename(file) + WORDS_SUFFIX)) rmSync(join(folder, name), { force: true });
}

interface ProcessOptions {
  readonly signal: AbortSignal;
  readonly onMessage?: (message: IndexProgress) => void;
}

/** Runs a process. Resolves when it has ended, to false if it could not be started. */
function hasSucceeded(script: string, files: readonly string[], options: ProcessOptions): Promise<boolean> {
  return exitCodeOf(script, files, options).then(
    (code) => code === 0,
    () => false,
  );
}

async function exitCodeOf(
  script: string,
  files: readonly string[],
  { signal, onMessage = () => {} }: ProcessOptions,
): Promise<number | null> {
  if (signal.aborted) return null;
  const child = fork(join(__dirname, script), files, {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // Reported below. An error after the end has no effect.
  child.on('error', () => {});
  child.on('message', onMessage);
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop);
  try {
    return ((await once(child, 'exit')) as [number | null])[0];
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Ends this process when the process that started it has ended, after `cleanUp`, and not by a signal: a terminal and some
 * supervisors send signals to all processes of a program. The process that started this one then ends it.
 */
export function endOnlyWithStarter(cleanUp: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
  process.once('disconnect', () => {
    cleanUp();
    process.exit(1);
  });
}
