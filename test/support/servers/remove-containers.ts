import { setTimeout as sleep } from 'node:timers/promises';
import { removeContainers } from './containers';

/*
 * node remove-containers.js RUN_ID
 *
 * Waits until its standard input ends, then removes the run's containers. The test run holds the other end of it, so the
 * containers go however the run ends: by itself, by Ctrl-C or by SIGKILL.
 */
const PAUSE_MS = 1_000;

async function main(run_id: string): Promise<void> {
  for await (const _chunk of process.stdin);
  // A test process may have asked for one more just before its end, so none must be found twice in a row.
  for (let empty = 0; empty < 2; ) {
    empty = (await removeContainers(run_id)) === 0 ? empty + 1 : 0;
    if (empty < 2) await sleep(PAUSE_MS);
  }
}

void main(process.argv[2]!);
