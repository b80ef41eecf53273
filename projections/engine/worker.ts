import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { LaneJob } from '../../shared/ports/job-queue';
import type { ParkedStream, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { reasonOf } from './errors';
import { projectSpan } from './project';
import type { FedVersions } from './versions';

export interface WorkerParts {
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly fed: FedVersions;
  readonly system: System;
  readonly log: Logger;
}

/** The job handler: brings one lane of every fed version to the job's end. */
export class Worker {
  private readonly parts: WorkerParts;

  constructor(parts: WorkerParts) {
    this.parts = parts;
  }

  /**
   * Throws where the active version could not be brought on, so that the queue tries the job again. Another version
   * that fails is logged: the gap heals with its next job, and the storefront does not wait for it.
   */
  async handle(job: LaneJob): Promise<void> {
    const { log, fed } = this.parts;
    for (const { version, status } of await fed.list()) {
      try {
        await this.project(version, job);
      } catch (error) {
        // Perhaps it was dropped, or another is the active one by now.
        fed.forget();
        if (status === 'active') throw error;
        log.warn(
          { version: version.version, status, lane: job.lane, reason: reasonOf(error) },
          'a version in waiting fell behind',
        );
      }
    }
  }

  private project(version: ViewVersion, job: LaneJob): Promise<void> {
    const { events, views, system, log } = this.parts;
    const { lane } = job;
    const onParked = (parked: ParkedStream): void => logParked(log, version.version, parked);
    const target = { version, lane, lane_count: views.lane_count, events, now: system.now, onParked };
    return projectSpan(target, job);
  }
}

export function logParked(log: Logger, version: number, parked: ParkedStream): void {
  const { stream, revision, position, reason } = parked;
  log.error(
    { version, stream, revision, position: String(position), reason },
    'parked a stream: an event of it cannot be projected; "projections retry" or "projections skip" frees it',
  );
}
