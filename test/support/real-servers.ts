import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import { type SERVER_SETTINGS, serversForTests } from './own-servers';

/** Returns a name that no other test uses, so that tests can share a server. */
export const aName = (): string => `test-${randomBytes(6).toString('hex')}`;

/** Returns the address of a database on the server that no other test uses. */
export function ownDatabase(server: string): URL {
  const url = new URL(server);
  url.pathname = aName();
  return url;
}

/**
 * Defines `stories` if there is a server for the variable: at the address in the environment, or in a container of
 * this run. If not, skips the block and prints which variable is missing.
 */
export function describeOn(
  variable: 'REDIS_URL' | 'MONGODB_URL',
  name: string,
  stories: (url: string) => void,
): void {
  describeOnAll([variable], name, () => stories(serversForTests()[variable]!));
}

/** Same as `describeOn`, for several servers at once. */
export function describeOnAll(
  variables: readonly (typeof SERVER_SETTINGS)[number][],
  name: string,
  stories: () => void,
): void {
  const servers = serversForTests();
  const missing = variables.filter((variable) => !servers[variable]).join(', ');
  if (missing === '') return void describe(name, stories);
  const file = basename(expect.getState().testPath ?? '');
  process.stderr.write(`skipped (no ${missing}): ${file}: ${name}\n`);
  describe.skip(`${name} (skipped: no ${missing})`, () => test('needs a server', () => {}));
}
