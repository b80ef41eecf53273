import { pause } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import { CatalogError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import { type DemoDeps, ensureDemo, type ReadyDemo } from './ensure';
import { uploadDemoPictures } from './upload-pictures';

/** How often a log that cannot be reached yet is tried again. */
const RETRY_MS = 1_000;

/** How long the requests wait until they would find what they ask for. */
const PROJECT_TIMEOUT_MS = 10_000;

/** The service that the demo is made in. */
export interface DemoHost {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly runtime: DemoDeps & { readonly config: Config; readonly log: Logger };
  readonly pipelines: { caughtUp(timeout_ms: number): Promise<boolean> };
}

/**
 * Makes the demo where there is none, and prints four requests to try; on later starts only where its file is. Its
 * pictures are uploaded after that, so that nobody waits for them. For people, so on standard output and not in the
 * log: the keys are in it.
 */
export async function announceDemo(host: DemoHost, signal: AbortSignal): Promise<void> {
  const { runtime } = host;
  const ready = await untilReached(host, signal, 'the demo could not be made', () =>
    ensureDemo(runtime, runtime.config),
  );
  if (!ready) return;
  await announce(host, ready);
  await untilReached(host, signal, "the demo's pictures could not be uploaded", () =>
    uploadDemoPictures(runtime, runtime.config, ready.demo, signal),
  );
}

async function announce({ url, runtime, pipelines }: DemoHost, ready: ReadyDemo): Promise<void> {
  const file = `${runtime.config.DATA_DIR}/demo.json`;
  if (!ready.made) {
    process.stdout.write(`\nThe demo's keys are in ${file}\n\n`);
    return;
  }
  await pipelines.caughtUp(PROJECT_TIMEOUT_MS);
  process.stdout.write(
    `\nA demo store was made; its keys are in ${file} (DEMO=off makes none).\n` +
      `Four requests to try:\n\n${demoRequests(ready, url)}\n`,
  );
}

/** Waits for stores that are not there yet. A service that has other things to do does not go down for want of a demo. */
async function untilReached<Result>(
  { runtime }: DemoHost,
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
    await pause(RETRY_MS, signal);
  }
  return undefined;
}

/** Returns four requests to paste into a shell, at `base_url` (no slash at its end). They need curl and sed. */
export function demoRequests({ demo, listing_id, publication_id }: ReadyDemo, base_url: string): string {
  const tokenOf = (key: string): string =>
    `$(curl -s -X POST ${base_url}/auth/token -H 'X-API-Key: ${key}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;
  const bearer = `-H "Authorization: Bearer $TOKEN"`;
  return [
    '# 1. An API key for a token of 15 minutes',
    `TOKEN=${tokenOf(demo.public_key)}`,
    '',
    '# 2. A listing, featured publications first',
    `curl -s '${base_url}/api/listing/${listing_id}/publications?limit=5' ${bearer}`,
    '',
    '# 3. A publication with its listing',
    `curl -s '${base_url}/api/publication/${publication_id}?expand=listing,media' ${bearer}`,
    '',
    '# 4. A write, with the secret key',
    `curl -s -X PATCH ${base_url}/api/publication/${publication_id} \\`,
    `  -H "Authorization: Bearer ${tokenOf(demo.secret_key)}" \\`,
    `  -H 'Content-Type: application/json' -d '{"price_amount":4500,"quantity_available":30}'`,
    '',
  ].join('\n');
}
