import { reasonOf } from '../../projections/engine/errors';
import { readLog } from '../../projections/engine/read-log';
import { decodeEvent } from '../../shared/catalog/events/codec';
import { parseStreamName, START } from '../../shared/catalog/events/envelope';
import type { Environment } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import { BLOB_AREAS, type BlobArea, type BlobHash, type BlobStore } from '../../shared/ports/blob-store';
import type { EventStore } from '../../shared/ports/event-store';
import type { ViewStore } from '../../shared/ports/view-store';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * A file that was stored later may belong to an upload or a rendering that is not in the log yet. A file that was
 * referred to later may still be asked for by pages that were sent before.
 */
const KEPT_MS_MIN = DAY_MS;

export interface SweepParts {
  readonly system: System;
  readonly events: Readonly<Record<Environment, EventStore>>;
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
}

export interface SweptArea {
  readonly environment: Environment;
  readonly area: BlobArea;
  readonly kept: number;
  /** With `dry_run`, what would be. */
  readonly deleted: number;
  readonly deleted_bytes: number;
}

interface SweepOptions {
  readonly dry_run: boolean;
  readonly signal: AbortSignal;
}

/**
 * Deletes the files of one environment that were stored more than 24 hours ago and that no media has referred to for 24
 * hours. An upload or a rendering of the same bytes that runs meanwhile stores them again, which makes them young and
 * keeps them. The log is read after the clock: who refers to what is a day old has long been in it.
 */
export async function sweepUnusedFiles(
  { events, blobs, system }: SweepParts,
  environment: Environment,
  { dry_run, signal }: SweepOptions,
): Promise<SweptArea[]> {
  const before_ms = system.now() - KEPT_MS_MIN;
  const isUsed = await referencesIn(events[environment], before_ms, signal);
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
 * Returns whether some media refers to a file, or was deleted at `before_ms` (Unix time) or later. Reads the log, for
 * documents could be behind or have an event parked, and a file that is deleted by mistake is lost. Throws where a
 * media's event cannot be read, or `signal` aborts.
 */
async function referencesIn(
  events: EventStore,
  before_ms: number,
  signal: AbortSignal,
): Promise<(hash: BlobHash) => boolean> {
  const by_media = new Map<string, number[]>();
  let seen = 0;
  for await (const batch of readLog(events, { after: START, to: await events.head(), signal })) {
    seen += batch.events.length;
    for (const recorded of batch.events) {
      const stream = parseStreamName(recorded.stream);
      if (stream?.category !== 'media') continue;
      const event = decodeEvent(recorded);
      if (event.type === 'MediaUploaded') by_media.set(stream.id, [mark(event.data.hash)]);
      if (event.type === 'MediaProcessed') {
        const { picture, variants } = event.data;
        by_media.get(stream.id)?.push(...[picture, ...variants].map(({ hash }) => mark(hash)));
      }
      const { occurred_at } = recorded.metadata;
      if (event.type === 'MediaDeleted' && Date.parse(occurred_at) < before_ms) by_media.delete(stream.id);
    }
  }
  signal.throwIfAborted();
  // Files without any log are another log's: the log's server or its namespace is not what it was.
  if (seen === 0) return () => true;
  const marks = new Set([...by_media.values()].flat());
  return (hash) => marks.has(mark(hash));
}

/** A hash's first 48 bits as a number, so that millions fit in memory. Two hashes that share them are both kept. */
const mark = (hash: BlobHash): number => Number.parseInt(hash.slice(0, 12), 16);

const LEASE = 'media-sweep';

interface SweepTimes {
  /** Until the first look, and between two: a process that just started has other things to do. */
  readonly look_ms: number;
  /** Between two sweeps. */
  readonly rest_ms: number;
}

/**
 * Sweeps once a day for as long as the process runs. Holds the lease for the whole day, so that of several processes
 * one sweeps. If that process is gone or fails, the first one to look in the next hour sweeps.
 */
export async function sweepOnceADay(
  parts: SweepParts & {
    readonly viewStores: Readonly<Record<Environment, Pick<ViewStore, 'lease' | 'release'>>>;
    readonly log: Logger;
  },
  environment: Environment,
  owner: string,
  signal: AbortSignal,
  { look_ms, rest_ms }: SweepTimes = { look_ms: HOUR_MS, rest_ms: DAY_MS },
): Promise<void> {
  const { viewStores, log } = parts;
  const views = viewStores[environment];
  await pause(look_ms, signal);
  while (!signal.aborted) {
    try {
      if (await views.lease(LEASE, owner, rest_ms)) {
        const swept = await sweepUnusedFiles(parts, environment, { dry_run: false, signal });
        const deleted = swept.reduce((sum, area) => sum + area.deleted, 0);
        if (deleted > 0) log.info({ environment, deleted }, 'media files that nobody refers to were deleted');
        await pause(rest_ms, signal);
        continue;
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ environment, reason: reasonOf(error) }, 'media files were not swept');
      await views.release(LEASE, owner).catch(() => undefined);
    }
    await pause(look_ms, signal);
  }
  await views.release(LEASE, owner).catch(() => undefined);
}
