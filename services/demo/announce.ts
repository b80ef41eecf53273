import { setTimeout as sleep } from 'node:timers/promises';
import { CatalogError } from '../../shared/kernel/errors';
import type { Service } from '../boot/all-in-one';
import { ensureDemo, type ReadyDemo } from './ensure';
import { uploadDemoPictures } from './upload-pictures';

/** How often a log that cannot be reached yet is tried again. */
const RETRY_MS = 1_000;

/** How long the requests wait until they would find what they ask for. */
const PROJECT_TIMEOUT_MS = 10_000;

/**
 * Makes the demo where there is none, and prints four requests to try; on later starts only where its file is. Its
 * pictures are uploaded after that, so that nobody waits for them. For people, so on standard output and not in the
 * log: the keys are in it.
 */
export async function announceDemo(service: Service, signal: AbortSignal): Promise<void> {
  const { runtime } = service;
  const ready = await untilReached(service, signal, 'the demo could not be made', () =>
    ensureDemo(runtime, runtime.config),
  );
  if (!ready) return;
  await announce(service, ready);
  await untilReached(service, signal, "the demo's pictures could not be uploaded", () =>
    uploadDemoPictures(runtime, runtime.config, ready.demo, signal),
  );
}

async function announce({ url, runtime, pipelines }: Service, ready: ReadyDemo): Promise<void> {
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

/** Waits for stores that are not there yet. A service that has other things to do does not go down for want of a demo. */
async function untilReached<Result>(
  { runtime }: Service,
  signal: AbortSignal,
  trouble: string,
  make: () => Promise<Result>,
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await make();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof CatalogError && error.condition === 'unavailable')) {
        runtime.log.warn({ err: error }, `${trouble}; the next start tries again`);
        return undefined;
      }
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
