import type { Operation } from './operation';
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
