import { operations } from './operations';
import type { Method } from './operations/operation';

/**
 * Every path of the interface with its methods, whichever service answers it: what a 405's `Allow` says. HEAD and
 * OPTIONS go with every GET (decisions §9).
 */
export const surface: Readonly<Record<string, readonly Method[]>> = methodsByPath();

function methodsByPath(): Record<string, Method[]> {
  const methods: Record<string, Method[]> = {};
  for (const { path, method } of operations) methods[path] = [...(methods[path] ?? []), method];
  return methods;
}
