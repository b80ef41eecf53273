import type { Position } from '../../shared/catalog/events/envelope';
import { pause } from '../../shared/kernel/async';
import type {
  LaneMove,
  VersionInfo,
  VersionStatus,
  ViewStore,
  ViewVersion,
} from '../../shared/ports/view-store';

/** Of the documents that this code makes. Raise it with every change of what a fold gives: they are made anew then. */
export const VIEW_SCHEMA = 4;

/** Of the scratch versions that `verify` folds into: never read, never fed, dropped when it ends. */
export const SCRATCH_SCHEMA = 0;

/** Whether events can be folded on into the version's documents. Others stay as they are, and are read, until rebuilt. */
export function isCurrent({ schema, keys_differ }: Pick<VersionInfo, 'schema' | 'keys_differ'>): boolean {
  return schema === VIEW_SCHEMA && !keys_differ;
}

/**
 * The versions that new events go to, the active one last: a reader that changes over to a version just activated
 * never finds it behind.
 */
export function fedVersions(versions: readonly VersionInfo[]): VersionInfo[] {
  const fed = versions.filter((info) => info.status !== 'building' && isCurrent(info));
  return fed.sort((a, b) => Number(a.status === 'active') - Number(b.status === 'active'));
}

/** How old the list may be that events are given out by. */
const KEPT_MS = 100;

/** Within so long after a version has begun to follow, every process gives it what it gives to the active one. */
export const FOLLOWED_WITHIN_MS = 2 * KEPT_MS;

export interface FedVersion {
  readonly version: ViewVersion;
  readonly status: VersionStatus;
}

/**
 * The versions that new events go to, the active one last. Looked up once for all who ask within a while, which a
 * version that begins to follow waits for before it may become the active one.
 */
export class FedVersions {
  private readonly views: ViewStore;
  private readonly opened = new Map<number, ViewVersion>();
  private found: Promise<readonly FedVersion[]> | undefined;
  private asked_at_ms = Number.NEGATIVE_INFINITY;

  constructor(views: ViewStore) {
    this.views = views;
  }

  list(): Promise<readonly FedVersion[]> {
    if (this.found && performance.now() - this.asked_at_ms < KEPT_MS) return this.found;
    this.asked_at_ms = performance.now();
    const looking = this.look();
    this.found = looking;
    looking.catch(() => this.forget());
    return looking;
  }

  /** The active one; undefined while there is none that is fed. */
  async active(): Promise<ViewVersion | undefined> {
    return (await this.list()).find(({ status }) => status === 'active')?.version;
  }

  /** True as soon as the lane of the active version is at or past `position`, false after `timeout_ms`. */
  async reached(lane: number, position: Position, timeout_ms: number, signal: AbortSignal): Promise<boolean> {
    const active = await this.active();
    if (active) return active.waitFor(lane, position, timeout_ms);
    await pause(timeout_ms, signal);
    return false;
  }

  /**
   * Moves on lanes that have no events in between, in every fed version, the active one last; gives those that are
   * there in all of them. It needs no turn of the lane's: that the lane has no events there is so whoever works on it,
   * and one that has a job before it is not moved. A batch that is under way all the same loses its race for the
   * checkpoint and is done again.
   */
  async moveOn(moves: readonly LaneMove[]): Promise<ReadonlySet<number>> {
    const everywhere = new Set(moves.map(({ lane }) => lane));
    for (const { version } of await this.list()) {
      const there = await version.moveOn(moves);
      for (const lane of everywhere) if (!there.includes(lane)) everywhere.delete(lane);
    }
    return everywhere;
  }

  /** Makes the next call look anew. */
  forget(): void {
    this.found = undefined;
  }

  private async look(): Promise<readonly FedVersion[]> {
    const infos = fedVersions(await this.views.versions());
    for (const number of this.opened.keys())
      if (!infos.some(({ version }) => version === number)) this.opened.delete(number);
    const fed: FedVersion[] = [];
    for (const { version: number, status } of infos) {
      const version = this.opened.get(number) ?? (await this.views.open(number));
      this.opened.set(number, version);
      fed.push({ version, status });
    }
    return fed;
  }
}
