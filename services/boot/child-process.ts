import type { ChildProcess } from 'node:child_process';
import { getSystemErrorName } from 'node:util';
import { backoff, pause } from '../../shared/kernel/async';

const restartMs = backoff(100, 10_000);
/** A process that ran for this long had no problem with its start, so the next restart is fast again. */
const COUNTS_AS_STARTED_MS = 60_000;

/** Resolves when the process has ended or could not be started, with the reason. */
export function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    // Without a `pid`, it could not be started. Then the code is the number of the error.
    const onExit = (code: number | null, signal: string | null): void =>
      resolve(signal ?? (child.pid === undefined ? getSystemErrorName(code!) : `exit code ${code}`));
    const { exitCode, signalCode } = child;
    if (exitCode !== null || signalCode !== null) onExit(exitCode, signalCode);
    else
      child.once('exit', onExit).once('error', (error) => {
        if (child.pid === undefined) resolve(error.message);
      });
  });
}

/**
 * Calls `runOnce`, which resolves to the reason when its process has ended, again after each crash, until `signal`
 * aborts. The first restart is after 100 ms, each further one after twice as long, up to 10 s.
 */
export async function keepRunning(
  runOnce: () => Promise<string>,
  signal: AbortSignal,
  onCrash: (crash: { readonly failure: string; readonly restart_in_ms: number }) => void,
): Promise<void> {
  for (let crashes = 1; !signal.aborted; crashes++) {
    const started_at_ms = performance.now();
    const failure = await runOnce().catch((error: Error) => error.message);
    if (signal.aborted) return;
    if (performance.now() - started_at_ms > COUNTS_AS_STARTED_MS) crashes = 1;
    const restart_in_ms = restartMs(crashes);
    onCrash({ failure, restart_in_ms });
    await pause(restart_in_ms, signal);
  }
}
