#!/usr/bin/env node
import '../boot/node-version';
import '../boot/preload';
import { exitCodeOf, lineOf } from './invocation';
import { buildProgram } from './program';

// A closed pipe (`| head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
});

/** Runs the command line. Prints a failure as one line on standard error, without a stack, and sets the exit code. */
async function main(): Promise<void> {
  try {
    await buildProgram().parseAsync(process.argv);
  } catch (error) {
    const line = lineOf(error);
    if (line !== undefined) process.stderr.write(`${line}\n`);
    process.exitCode = exitCodeOf(error);
  }
  // A client library may still be busy after its client is closed, for example with looking for a leader.
  process.exit();
}

void main();
