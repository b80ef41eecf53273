import childProcess from 'node:child_process';
import { existsSync } from 'node:fs';
import Module from 'node:module';

/*
 * Preloaded into a process (`node --require`). While the file `SHARP_BROKEN_FILE` exists, `sharp` cannot be loaded, as if
 * its library for this platform were missing. The rendering process, which gets few environment variables, is preloaded
 * as well.
 */
const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
const load = loader._load;

loader._load = function loadOrFail(this: unknown, request: string, ...rest: unknown[]) {
  if (request === 'sharp' && existsSync(process.env.SHARP_BROKEN_FILE!))
    throw new Error('Could not load the "sharp" module using the linux-x64 runtime');
  return load.call(this, request, ...rest);
};

const { fork } = childProcess;
childProcess.fork = ((module: string, args: readonly string[], options: childProcess.ForkOptions) => {
  const { SHARP_BROKEN_FILE } = process.env;
  return fork(module, args, {
    ...options,
    execArgv: ['--require', __filename],
    env: { ...options.env, SHARP_BROKEN_FILE },
  });
}) as typeof fork;
