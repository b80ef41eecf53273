import type { Position } from '../../shared/catalog/events/envelope';
import { pause } from '../../shared/kernel/async';
import type { LaneMove } from '../../shared/ports/view-store';
import type { FedVersions } from './fed-versions';

/** How far the lanes are, past their queue. */
export class LaneProgress {
  private readonly fed: FedVersions;

  constructor(fed: FedVersions) {
    this.fed = fed;
  }

  /** True as soon as the lane of the active version is at or past `position`, false after `timeout_ms`. */
  async reached(lane: number, position: Position, timeout_ms: number, signal: AbortSignal): Promise<boolean> {
    const active = await this.fed.active();
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
    for (const { version } of await this.fed.list()) {
      const there = await version.moveOn(moves);
      for (const lane of everywhere) if (!there.includes(lane)) everywhere.delete(lane);
    }
    return everywhere;
  }
}
