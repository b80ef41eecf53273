import type { Position } from '../../shared/catalog/events/envelope';
import { pause } from '../../shared/kernel/async';
import { DamagedFileError, NeedsRepairError } from '../../shared/kernel/errors';
import type {
  CheckpointMove,
  VersionInfo,
  VersionStatus,
  ViewStore,
  ViewVersion,
} from '../../shared/ports/view-store';

/**
 * Schema number of the documents that this code makes. Increase it whenever a fold produces different documents: a
 * worker then rebuilds all documents.
 */
export const VIEW_SCHEMA = 25;

/**
 * Schema number of the scratch versions of `verify`. No events are dispatched to them. `verify` drops them at its end.
 */
export const SCRATCH_SCHEMA = 0;

/**
 * Returns whether this code can project events into the version. If not, because other code has created the version,
 * the version can only be read.
 */
export function isProjectable({ schema, keys_differ }: Pick<VersionInfo, 'schema' | 'keys_differ'>): boolean {
  return schema === VIEW_SCHEMA && !keys_differ;
}

/**
 * Returns the versions that new events are dispatched to, with the active version last. Project in this order: the
 * active version is then never ahead of a version that is about to replace it, so a reader that switches never sees an
 * older state. See `docs/architecture.md#invariants`.
 */
export function dispatchedVersions(versions: readonly VersionInfo[]): VersionInfo[] {
  const dispatched = versions.filter((info) => info.status !== 'building' && isProjectable(info));
  return dispatched.sort((a, b) => Number(a.status === 'active') - Number(b.status === 'active'));
}

/** Maximum age of the cached list of versions. */
const CACHED_MS = 100;

/**
 * Time within which every process begins to project events into a version that has become `following`, and within which
 * it begins or ends a pause.
 */
export const FOLLOWING_WITHIN_MS = 2 * CACHED_MS;

/** A version that new events are dispatched to, opened. */
export interface OpenVersion {
  readonly version: ViewVersion;
  readonly status: VersionStatus;
}

/**
 * Opens the versions that new events are dispatched to, and caches their list for 100 ms. Because of the cache, a
 * process may still not project into a version that has just become `following`. A rebuild therefore waits
 * `FOLLOWING_WITHIN_MS` before it activates the version.
 */
export class VersionCache {
  private readonly views: ViewStore;
  private cached: Promise<readonly OpenVersion[]> | undefined;
  private read_at_ms = Number.NEGATIVE_INFINITY;

  constructor(views: ViewStore) {
    this.views = views;
  }

  /**
   * Returns the versions, with the active version last: none while the realm is paused. Leaves out a version that cannot
   * be opened because a file is damaged, so that events are still dispatched to the other versions.
   */
  list(): Promise<readonly OpenVersion[]> {
    if (this.cached && performance.now() - this.read_at_ms < CACHED_MS) return this.cached;
    this.read_at_ms = performance.now();
    const reading = this.read();
    this.cached = reading;
    reading.catch(() => this.invalidate());
    return reading;
  }

  /** Returns the active version. Undefined if there is none, or if this code cannot project events into it. */
  async active(): Promise<ViewVersion | undefined> {
    return (await this.list()).find(({ status }) => status === 'active')?.version;
  }

  /**
   * Waits until the partition's checkpoint in the active version has reached `position`. Returns false if it has not
   * within `timeout_ms`.
   */
  async waitFor(
    partition: number,
    position: Position,
    timeout_ms: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const active = await this.active();
    if (active) return active.waitFor(partition, position, timeout_ms);
    await pause(timeout_ms, signal);
    return false;
  }

  /**
   * Advances the checkpoint of each idle partition from `from` to `to`, in every version that events are dispatched to.
   * Returns the partitions that are at or after `to` in all versions.
   *
   * This needs no job. If a partition has unfinished jobs, its checkpoint is still before `from` and is not advanced.
   * If a worker is writing a batch of the partition, the partition's revision is no longer the one that it has read, and
   * the worker retries the batch.
   */
  async advanceIdle(moves: readonly CheckpointMove[]): Promise<ReadonlySet<number>> {
    const advanced = new Set(moves.map(({ partition }) => partition));
    for (const { version, status } of await this.list()) {
      const advanced_here = await version.advanceIdle(moves).catch((error: unknown) => {
        // Ignore a damaged file of a version that is not active, because readers do not wait for its checkpoints.
        if (status === 'active' || !(error instanceof DamagedFileError)) throw error;
        return moves.map(({ partition }) => partition);
      });
      for (const partition of advanced) if (!advanced_here.includes(partition)) advanced.delete(partition);
    }
    return advanced;
  }

  /** Discards the cached list. */
  invalidate(): void {
    this.cached = undefined;
  }

  private async read(): Promise<readonly OpenVersion[]> {
    const infos = (await this.views.pausedSince()) ? [] : dispatchedVersions(await this.views.versions());
    const versions: OpenVersion[] = [];
    for (const { version: number, status } of infos) {
      const version = await unlessUnusable(this.views.open(number));
      if (version) versions.push({ version, status });
    }
    return versions;
  }
}

/** Resolves to undefined if a file is damaged or belongs to another log. Rejects with any other error. */
export async function unlessUnusable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof NeedsRepairError) return undefined;
    throw error;
  }
}
