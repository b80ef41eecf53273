#!/usr/bin/env node
import { exitCodeOf, lineOf } from './invocation';
import { buildProgram } from './program';

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
});

/** Whatever goes wrong is one line on standard error and an exit code, never a stack. */
async function main(): Promise<void> {
  try {
    await buildProgram().parseAsync(process.argv);
  } catch (error) {
    const line = lineOf(error);
    if (line !== undefined) process.stderr.write(`${line}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

void main();
