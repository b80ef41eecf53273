import { once } from 'node:events';
import type { WithRemover } from './global-setup';

/** Jest runs this after the suites that need servers. Resolves when the run's containers are gone. */
export default async function stopServers(): Promise<void> {
  const remover = (globalThis as WithRemover).containerRemover;
  if (!remover || remover.exitCode !== null) return;
  remover.ref();
  const gone = once(remover, 'exit');
  remover.stdin!.end();
  await gone;
}
