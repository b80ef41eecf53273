import childProcess from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { CommitRelay } from '../../../services/boot/commit-relay';
import { forkProjectionsAhead } from '../../../services/boot/projection-fork';
import { ProjectionProcess } from '../../../services/boot/projection-process';
import { parseConfig } from '../../../shared/kernel/config';
import { childrenOf } from '../../support/children';
import { waitFor } from '../../support/wait-for';

test('a projection process that could not be started ahead is started again', async () => {
  const { fork } = childProcess;
  const forking = jest
    .spyOn(childProcess, 'fork')
    .mockImplementationOnce((file, files, options) => fork(file, files, { ...options, execPath: '/missing' }))
    .mockImplementationOnce(() => {
      throw new Error('spawn ENOMEM');
    });
  forkProjectionsAhead();
  // The error is emitted while the modules of the service load.
  await nextTurn();
  const failures: string[] = [];
  const log = pino({}, { write: (line) => void failures.push(JSON.parse(line).failure) });
  const projections = new ProjectionProcess({
    ...{ config: parseConfig({}), has_traces: false, log, commits: new CommitRelay(), onDamage: () => {} },
  });
  await waitFor(() => childrenOf(process.pid, 'main-projections.js').length === 1);
  expect(failures).toEqual(['ENOENT', 'spawn ENOMEM']);
  expect(forking).toHaveBeenCalledTimes(3);
  await projections.stop();
});
