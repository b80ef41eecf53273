import { setTimeout as sleep } from 'node:timers/promises';
import { removeContainers } from './containers';

/*
 * node remove-containers.js RUN_ID
 *
 * Waits until its standard input closes, then removes the run's containers. The test run has the other end of the
 * pipe, so the containers are removed even if the run ends by Ctrl-C or SIGKILL.
 */
const PAUSE_MS = 1_000;

async function main(run_id: string): Promise<void> {
  for await (const _chunk of process.stdin);
  // A test process may have started one more just before it ended, so the list must be empty twice in a row.
  for (let empty = 0; empty < 2; ) {
    empty = (await removeContainers(run_id)) === 0 ? empty + 1 : 0;
    if (empty < 2) await sleep(PAUSE_MS);
  }
}

void main(process.argv[2]!);
