import type { Environment } from '../../shared/catalog/realm';
import { BLOB_AREAS, type BlobArea, type BlobStore } from '../../shared/ports/blob-store';
import type { Runtime } from '../boot/runtime';
import { type References, referencesIn } from './references';

/**
 * What was stored later may belong to an upload or a rendering that is not in the log yet, and what a media referred to
 * later may still be asked for.
 */
const KEPT_MS_MIN = 24 * 3_600_000;

export interface SweptArea {
  readonly environment: Environment;
  readonly area: BlobArea;
  readonly kept: number;
  /** With `dry_run`, what would be. */
  readonly deleted: number;
  readonly deleted_bytes: number;
}

export interface SweepOptions {
  readonly dry_run: boolean;
  readonly signal: AbortSignal;
}

/**
 * Deletes the bytes of one environment that no media has referred to for 24 hours and that were stored before. An upload
 * or a rendering of the same bytes that runs meanwhile keeps them: it stores them again, and so makes them young.
 * The log is read after the clock: who refers to what is a day old has long been in it.
 */
export async function sweepMedia(
  { events, blobs, system }: Pick<Runtime, 'events' | 'blobs' | 'system'>,
  environment: Environment,
  options: SweepOptions,
): Promise<SweptArea[]> {
  const before_ms = system.now() - KEPT_MS_MIN;
  const references = await referencesIn(events[environment], before_ms, options.signal);
  const swept: SweptArea[] = [];
  for (const area of BLOB_AREAS) {
    const counts = await sweepArea(blobs[environment][area], references, before_ms, options);
    swept.push({ environment, area, ...counts });
  }
  return swept;
}

async function sweepArea(
  blobs: BlobStore,
  references: References,
  before_ms: number,
  { dry_run, signal }: SweepOptions,
) {
  let kept = 0;
  let deleted = 0;
  let deleted_bytes = 0;
  for await (const { hash, size_bytes, stored_at_ms } of blobs.list()) {
    signal.throwIfAborted();
    const unused = stored_at_ms < before_ms && !references.has(hash);
    if (unused && (dry_run || (await blobs.deleteIfOlder(hash, before_ms)))) {
      deleted++;
      deleted_bytes += size_bytes;
    } else kept++;
  }
  return { kept, deleted, deleted_bytes };
}
