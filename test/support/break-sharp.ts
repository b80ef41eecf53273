import { existsSync } from 'node:fs';
import Module from 'node:module';

/*
 * Preloaded into a process (`node --require`). While the file `SHARP_BROKEN_FILE` exists, `sharp` cannot be loaded, as if
 * its library for this platform were missing.
 */
const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
const load = loader._load;

loader._load = function loadOrFail(this: unknown, request: string, ...rest: unknown[]) {
  if (request === 'sharp' && existsSync(process.env.SHARP_BROKEN_FILE!))
    throw new Error('Could not load the "sharp" module using the linux-x64 runtime');
  return load.call(this, request, ...rest);
};
