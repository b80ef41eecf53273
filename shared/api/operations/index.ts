import type { Method, Operation } from './operation';
import { reads } from './reads';
import { service } from './service';
import { tokens } from './tokens';
import { writes } from './writes';

/** The whole interface, whichever process answers it. */
export const operations: readonly Operation[] = [
  ...Object.values(tokens),
  ...Object.values(reads),
  ...Object.values(writes),
  ...Object.values(service),
];

/** Every path of the interface with its methods, whichever service answers it. A 405's `Allow` is made from it. */
export const methodsOfPaths: Readonly<Record<string, readonly Method[]>> = methodsByPath();

function methodsByPath(): Record<string, Method[]> {
  const methods: Record<string, Method[]> = {};
  for (const { path, method } of operations) methods[path] = [...(methods[path] ?? []), method];
  return methods;
}
