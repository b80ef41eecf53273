import { join } from 'node:path';

/** Returns the `NODE_OPTIONS` that load these files of `test/support` into a process before its program. */
export const preload = (...names: string[]): string =>
  names.map((name) => `--require ${join(__dirname, `${name}.js`)}`).join(' ');
