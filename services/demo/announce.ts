import type { Service } from '../all-in-one';
import { ensureDemo } from './ensure';

/** How long the requests wait until they would find what they ask for. */
const PROJECT_TIMEOUT_MS = 10_000;

/**
 * Makes the demo where there is none, and prints four requests to try; on later starts only where its file is. For
 * people, so on standard output and not in the log: the keys are in it.
 */
export async function announceDemo({ url, runtime, pipelines }: Service): Promise<void> {
  const ready = await ensureDemo(runtime, runtime.config).catch((error: unknown) => {
    // A service that has other things to do does not go down for want of a demo.
    runtime.log.warn({ err: error }, 'the demo could not be made; the next start tries again');
  });
  if (!ready) return;
  const file = `${runtime.config.DATA_DIR}/demo.json`;
  if (!ready.made) {
    process.stdout.write(`\nThe demo's keys are in ${file}\n\n`);
    return;
  }
  await pipelines.caughtUp(PROJECT_TIMEOUT_MS);
  process.stdout.write(
    `\nA demo store was made; its keys are in ${file} (DEMO=off makes none).\n` +
      `Four requests to try:\n\n${ready.requests(url)}\n`,
  );
}
