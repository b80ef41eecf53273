import { pause } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import { isOutage } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import { localUrl } from '../../shared/kernel/server-url';
import { findMedia } from '../command/references';
import { type DemoDeps, ensureDemo, type ReadyDemo } from './ensure';
import { uploadDemoPictures, type WaitForPictures } from './upload-pictures';

/** Time between two attempts to reach the log. */
const RETRY_MS = 1_000;

/** How long a new demo waits for its documents before it counts as ready. */
const PROJECT_TIMEOUT_MS = 10_000;

/** How often to look whether a picture is made, which takes a quarter of a second. */
const LOOK_EVERY_MS = 100;
/** After this time the next picture is uploaded: perhaps no process renders. */
const RENDER_MS_MAX = 10_000;

/** The service that the demo is created in. */
export interface DemoHost {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly runtime: DemoDeps & { readonly config: Config; readonly log: Logger };
  readonly pipelines: { caughtUp(timeout_ms: number): Promise<boolean> };
}

/**
 * Creates the demo in an empty data folder and prints four example requests. On later starts prints only the path of
 * `demo.json`. Calls `onReady` when the data of the demo can be read, or when there will be no demo. Uploads the pictures
 * afterwards, so that the requests appear without delay. The requests contain API keys, so they are only printed to a
 * terminal: other output, such as that of a container, is often collected.
 */
export async function startDemo(host: DemoHost, signal: AbortSignal, onReady: () => void): Promise<void> {
  const { url, runtime, pipelines } = host;
  const ready = await retryWhileUnavailable(host, signal, 'failed to create the demo store', () =>
    ensureDemo(runtime, runtime.config),
  );
  if (ready?.is_new) await pipelines.caughtUp(PROJECT_TIMEOUT_MS);
  onReady();
  if (!ready) return;
  process.stdout.write(announcement(ready, runtime.config, url));
  await retryWhileUnavailable(host, signal, 'failed to upload the pictures of the demo store', () =>
    uploadDemoPictures(runtime, runtime.config, ready.demo, signal, untilRendered(runtime, signal)),
  );
}

/** Returns a function that waits until the pictures of an upload are made or have failed, at most `RENDER_MS_MAX`. */
function untilRendered(deps: DemoDeps, signal: AbortSignal): WaitForPictures {
  return async (environment, id) => {
    const isProcessing = async (): Promise<boolean> =>
      (await findMedia(deps, environment, id))?.progress.status === 'processing';
    const deadline_ms = performance.now() + RENDER_MS_MAX;
    while (!signal.aborted && performance.now() < deadline_ms && (await isProcessing()))
      await pause(LOOK_EVERY_MS, signal);
  };
}

/** Returns the text to print at a start: the example requests if the demo is new, and where its keys are. */
function announcement(ready: ReadyDemo, config: Config, url: string): string {
  const file = `${config.DATA_DIR}/demo.json`;
  const address = localUrl(url);
  const console_line =
    config.CONSOLE === 'off'
      ? ''
      : `\nThe console for merchants: ${address}/console. Sign in with ${signInKey(ready)}.`;
  const docs = `Open the shop: ${address}${console_line}\nThe interface is described at ${address}/docs, where you can send requests.`;
  if (!ready.is_new) return `\nThe API keys of the demo store are in ${file}.\n${docs}\n\n`;
  const requests = process.stdout.isTTY
    ? `Requests to try:\n\n${demoRequests(ready, address)}`
    : `"catalog demo create" prints requests to try.\n`;
  return `\nCreated a demo store. Its API keys are in ${file}. Set DEMO=off to start without one.\n${docs}\n${requests}\n`;
}

/** Says which key signs in. Shows it only on a terminal (see `startDemo`). */
const signInKey = ({ demo }: ReadyDemo): string =>
  process.stdout.isTTY ? `the secret key ${demo.secret_key}` : '"secret_key" of that file';

/**
 * Runs `work`, and repeats it while a store is unavailable. Logs any other error and returns undefined: the service
 * keeps running without a demo.
 */
async function retryWhileUnavailable<Result>(
  { runtime }: DemoHost,
  signal: AbortSignal,
  failure: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isOutage(error)) {
        runtime.log.warn({ err: error }, `${failure}; the next start retries`);
        return undefined;
      }
    }
    await pause(RETRY_MS, signal);
  }
  return undefined;
}

/** Returns four requests to paste into a terminal with curl and sed. `base_url` has no trailing slash. */
export function demoRequests({ demo, listing_id, publication_id }: ReadyDemo, base_url: string): string {
  const tokenOf = (key: string): string =>
    `$(curl -s -X POST ${base_url}/auth/token -H 'X-API-Key: ${key}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;
  const bearer = `-H "Authorization: Bearer $TOKEN"`;
  return [
    '# 1. Exchange an API key for a token that is valid for 15 minutes',
    `TOKEN=${tokenOf(demo.public_key)}`,
    '',
    '# 2. Read the publications of a listing, featured ones first',
    `curl -s '${base_url}/api/listing/${listing_id}/publications?limit=5' ${bearer}`,
    '',
    '# 3. Read a publication with its listing and media',
    `curl -s '${base_url}/api/publication/${publication_id}?expand=listing,media' ${bearer}`,
    '',
    '# 4. Change the price and stock of a publication, with the secret key',
    `curl -s -X PATCH ${base_url}/api/publication/${publication_id} \\`,
    `  -H "Authorization: Bearer ${tokenOf(demo.secret_key)}" \\`,
    `  -H 'Content-Type: application/json' -d '{"price_amount":4500,"quantity_available":30}'`,
    '',
  ].join('\n');
}
