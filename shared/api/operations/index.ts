import type { Method, Operation } from './operation';
import { reads } from './reads';
import { service } from './service';
import { tokens } from './tokens';
import { writes } from './writes';

/** All operations of the interface. A process may serve only some of them. */
export const operations: readonly Operation[] = [
  ...Object.values(tokens),
  ...Object.values(reads),
  ...Object.values(writes),
  ...Object.values(service),
];

/** The methods of every path of the interface, for the `Allow` header of a 405. */
export const methodsOfPaths: Readonly<Record<string, readonly Method[]>> = methodsByPath();

function methodsByPath(): Record<string, Method[]> {
  const methods: Record<string, Method[]> = {};
  for (const { path, method } of operations) methods[path] = [...(methods[path] ?? []), method];
  return methods;
}
