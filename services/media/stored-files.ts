import { reasonOf } from '../../projections/engine/errors';
import { readLog } from '../../projections/engine/read-log';
import { decodeEvent } from '../../shared/catalog/events/codec';
import { parseStreamName, START } from '../../shared/catalog/events/envelope';
import type { Environment } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import { BLOB_AREAS, type BlobArea, type BlobHash, type BlobStore } from '../../shared/ports/blob-store';
import { withCorrections } from '../../shared/ports/corrections';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import type { ViewStore } from '../../shared/ports/view-store';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/*
 * Compares the stored files with the media that name them. A sweep deletes the files that no media uses any more:
 * originals of deleted media and of refused uploads, and their pictures. `findMissingFiles` finds the opposite.
 */

/**
 * Files stay at least this long after they were stored, because the event of their upload or rendering may not be in
 * the log yet. They also stay this long after their media was deleted, because open pages may still load them.
 */
const RETENTION_MS = DAY_MS;

export interface SweepParts {
  readonly system: System;
  readonly events: Readonly<Record<Environment, EventStore>>;
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
}

export interface SweptArea {
  readonly environment: Environment;
  readonly area: BlobArea;
  readonly kept: number;
  /** Files that were deleted, or with `dry_run` would be. */
  readonly deleted: number;
  readonly deleted_bytes: number;
}

interface SweepOptions {
  readonly dry_run: boolean;
  readonly signal: AbortSignal;
}

/**
 * Deletes the files of an environment that were stored more than 24 hours ago and that no media has used for 24 hours.
 *
 * Concurrent uploads are safe. An upload of the same bytes stores them again, which resets their age, and
 * `deleteIfOlder` checks the age at the deletion. The log is read after the time is taken. So if a file is a day old at that
 * time, the log contains the event of its upload.
 */
export async function sweepUnusedFiles(
  { events, blobs, system }: SweepParts,
  environment: Environment,
  { dry_run, signal }: SweepOptions,
): Promise<SweptArea[]> {
  const before_ms = system.now() - RETENTION_MS;
  const isUsed = await readUsedFiles(events[environment], before_ms, signal);
  const swept: SweptArea[] = [];
  for (const area of BLOB_AREAS) {
    const files = blobs[environment][area];
    let [kept, deleted, deleted_bytes] = [0, 0, 0];
    for await (const { hash, size_bytes, stored_at_ms } of files.list()) {
      signal.throwIfAborted();
      const unused = stored_at_ms < before_ms && !isUsed(hash);
      if (unused && (dry_run || (await files.deleteIfOlder(hash, before_ms)))) {
        deleted++;
        deleted_bytes += size_bytes;
      } else kept++;
    }
    swept.push({ environment, area, kept, deleted, deleted_bytes });
  }
  return swept;
}

/**
 * Finds the files that are used: by a media that exists, or by a media that was deleted at `before_ms` (Unix time) or later.
 * The result tells whether a file is among them. Reads the log, because the documents may be behind or miss a dead letter, and a deleted file cannot be restored.
 * Throws if an event of a media cannot be decoded, or `signal` aborts.
 */
async function readUsedFiles(
  events: EventStore,
  before_ms: number,
  signal: AbortSignal,
): Promise<(hash: BlobHash) => boolean> {
  const by_media = new Map<string, number[]>();
  let event_count = 0;
  for await (const batch of readLog(events, { after: START, to: await events.head(), signal })) {
    event_count += batch.events.length;
    for (const recorded of batch.events) {
      const stream = parseStreamName(recorded.stream);
      if (stream?.category !== 'media') continue;
      const [corrected] = await withCorrections(events, [recorded]);
      const event = decodeEvent(corrected!);
      if (event.type === 'MediaUploaded') by_media.set(stream.id, [prefixOf(event.data.hash)]);
      if (event.type === 'MediaProcessed') {
        const { picture, variants } = event.data;
        by_media.get(stream.id)?.push(...[picture, ...variants].map(({ hash }) => prefixOf(hash)));
      }
      const { occurred_at } = recorded.metadata;
      if (event.type === 'MediaDeleted' && Date.parse(occurred_at) < before_ms) by_media.delete(stream.id);
    }
  }
  signal.throwIfAborted();
  // If there are files but no events, EVENTSTORE_URL or EVENTSTORE_NAMESPACE is probably wrong. Keeps all files.
  if (event_count === 0) return () => true;
  const prefixes = new Set([...by_media.values()].flat());
  return (hash) => prefixes.has(prefixOf(hash));
}

/** Returns the first 48 bits of a hash as a number, to save memory. If two files share them, the sweep may keep both. */
const prefixOf = (hash: BlobHash): number => Number.parseInt(hash.slice(0, 12), 16);

const LEASE = 'media-sweep';

interface SweepTimes {
  /** Time before the first attempt to take the lease, so that it does not slow the start, and between two attempts. */
  readonly retry_ms: number;
  /** Time between two sweeps. */
  readonly interval_ms: number;
}

/**
 * Sweeps once a day until `signal` aborts. The process keeps the lease for the day, so that only one process sweeps. If
 * it stops or the sweep fails, it releases the lease, and another process takes it within an hour. After a crash, another
 * process takes the lease when it expires, a day after the sweep.
 */
export async function sweepOnceADay(
  parts: SweepParts & {
    readonly viewStores: Readonly<Record<Environment, Pick<ViewStore, 'lease' | 'release'>>>;
    readonly log: Logger;
  },
  environment: Environment,
  owner: string,
  signal: AbortSignal,
  { retry_ms, interval_ms }: SweepTimes = { retry_ms: HOUR_MS, interval_ms: DAY_MS },
): Promise<void> {
  const { viewStores, log } = parts;
  const views = viewStores[environment];
  await pause(retry_ms, signal);
  while (!signal.aborted) {
    try {
      if (await views.lease(LEASE, owner, interval_ms)) {
        const swept = await sweepUnusedFiles(parts, environment, { dry_run: false, signal });
        const deleted = swept.reduce((sum, area) => sum + area.deleted, 0);
        if (deleted > 0) log.info({ environment, deleted }, 'deleted unused media files');
        await pause(interval_ms, signal);
        continue;
      }
    } catch (error) {
      if (!signal.aborted)
        log.warn({ environment, reason: reasonOf(error) }, 'sweep of unused media files failed; retrying');
      await views.release(LEASE, owner).catch(() => undefined);
    }
    await pause(retry_ms, signal);
  }
  await views.release(LEASE, owner).catch(() => undefined);
}

/** A file that a media names but the blob store does not have. */
export interface MissingFile {
  readonly environment: Environment;
  readonly area: BlobArea;
  readonly hash: BlobHash;
  readonly media_id: string;
}

const PAGE_SIZE = 500;

/** Looks for the files of all media of an environment. Returns the files that are not stored. */
export async function findMissingFiles(
  { views, blobs }: Pick<SweepParts, 'blobs'> & { readonly views: Readonly<Record<Environment, ActiveView>> },
  environment: Environment,
): Promise<MissingFile[]> {
  const missing: MissingFile[] = [];
  const view = await views[environment].current();
  for (let after_id: string | undefined; view; ) {
    const page = await view.scan('media', { ...(after_id && { after_id }), limit: PAGE_SIZE });
    for (const { id: media_id, document } of page) {
      if (!document) continue;
      const { hash, progress } = document.state.media;
      const files: { area: BlobArea; hash: BlobHash }[] = [{ area: 'originals', hash }];
      if (progress.status === 'ready')
        for (const { hash } of [progress.pictures.picture, ...progress.pictures.variants])
          files.push({ area: 'pictures', hash });
      for (const { area, hash } of files)
        if ((await blobs[environment][area].size(hash)) === undefined)
          missing.push({ environment, area, hash, media_id });
    }
    if (page.length < PAGE_SIZE) break;
    after_id = page.at(-1)!.id;
  }
  return missing;
}
