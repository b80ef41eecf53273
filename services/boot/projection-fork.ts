import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

let forked_ahead: ChildProcess | undefined;

/**
 * Starts the program of the projection process before it is needed, so that its modules load at the same time as those of
 * the service. It does nothing until the service sends `start`.
 */
export function forkProjectionsAhead(): void {
  try {
    forked_ahead = forkProgram();
  } catch {
    // `forkProjections` tries again and reports it.
  }
}

/**
 * Returns the program that was started ahead, the first time, or starts it. It may have ended already. If it could not be
 * started, it has no `pid`. Throws some of the errors of the operating system.
 */
export function forkProjections(): ChildProcess {
  const program = forked_ahead ?? forkProgram();
  forked_ahead = undefined;
  return program;
}

function forkProgram(): ChildProcess {
  const program = fork(join(__dirname, 'main-projections.js'), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // Without a listener, an error would end the service. Nobody else listens yet to a program that is started ahead.
  program.on('error', () => {});
  return program;
}
