import type { Logger } from '../shared/kernel/log';
import type { System } from '../shared/kernel/system';
import type { EventStore } from '../shared/ports/event-store';
import type { LaneJob } from '../shared/ports/job-queue';
import type { ParkedStream, VersionInfo, ViewStore, ViewVersion } from '../shared/ports/view-store';
import { reasonOf } from './errors';
import { NextLook } from './next-look';
import { projectSpan } from './project';
import { fedVersions } from './view-schema';

export interface WorkerParts {
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly system: System;
  readonly log: Logger;
}

/** The job handler: brings one lane of every fed version to the job's end. */
export class Worker {
  private readonly parts: WorkerParts;
  private readonly opened = new Map<number, ViewVersion>();
  /** Of all lanes that this process works on. */
  private readonly versions: NextLook<readonly VersionInfo[]>;

  constructor(parts: WorkerParts) {
    this.parts = parts;
    this.versions = new NextLook(() => parts.views.versions());
  }

  /**
   * Throws where the active version could not be brought on, so that the queue tries the job again. Another version
   * that fails is logged: the gap heals with its next job, and the storefront does not wait for it.
   */
  async handle(job: LaneJob): Promise<void> {
    const { log } = this.parts;
    const fed = fedVersions(await this.versions.ask());
    this.closeDropped(new Set(fed.map(({ version }) => version)));
    for (const { version, status } of fed) {
      try {
        await this.project(version, job);
      } catch (error) {
        if (status === 'active') throw error;
        log.warn(
          { version, status, lane: job.lane, reason: reasonOf(error) },
          'a version in waiting fell behind',
        );
      }
    }
  }

  private async project(number: number, job: LaneJob): Promise<void> {
    const { events, views, system, log } = this.parts;
    const version = this.opened.get(number) ?? (await views.open(number));
    this.opened.set(number, version);
    const { lane } = job;
    const onParked = (parked: ParkedStream): void => logParked(log, number, parked);
    await projectSpan(
      { version, lane, lane_count: views.lane_count, events, now: system.now, onParked },
      job,
    );
  }

  private closeDropped(fed: ReadonlySet<number>): void {
    for (const number of this.opened.keys()) if (!fed.has(number)) this.opened.delete(number);
  }
}

export function logParked(log: Logger, version: number, parked: ParkedStream): void {
  const { stream, revision, position, reason } = parked;
  log.error(
    { version, stream, revision, position: String(position), reason },
    'parked a stream: an event of it cannot be projected; "projections retry" or "projections skip" frees it',
  );
}
