import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { PartitionJob } from '../../shared/ports/job-queue';
import type { DeadLetter, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { logRetried } from './errors';
import { type PartitionTarget, projectJob } from './project';
import type { VersionCache } from './versions';

/** Runs `project`, which projects `job` into a version, once. Settles as it does. */
export type AroundProjection = (
  job: PartitionJob,
  version: number,
  project: () => Promise<void>,
) => Promise<void>;

export interface WorkerParts {
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly versions: VersionCache;
  readonly system: System;
  readonly log: Logger;
  /** Called for each projection of a job, in a process with traces. */
  readonly aroundProjection?: AroundProjection | undefined;
  /** See `PartitionTarget`. */
  readonly signal?: AbortSignal | undefined;
}

/** Job handler: projects one partition's job into every version that events are dispatched to. */
export class Worker {
  private readonly parts: WorkerParts;

  constructor(parts: WorkerParts) {
    this.parts = parts;
  }

  /**
   * Projects the job. If it fails for the active version, throws, so that the queue retries the job. If it fails for
   * another version, logs the error and continues: readers do not use that version, and its next job detects the gap.
   */
  async handle(job: PartitionJob): Promise<void> {
    const { log, versions } = this.parts;
    for (const { version, status } of await versions.list()) {
      try {
        await this.project(version, job);
      } catch (error) {
        // The cached list may be outdated: the version may have been dropped, or another version may be active now.
        versions.invalidate();
        if (status === 'active') throw error;
        logRetried(
          log,
          error,
          { version: version.version, status, partition: job.partition },
          'projecting into an inactive version failed; its next job reads the gap from the log',
        );
      }
    }
  }

  private project(version: ViewVersion, job: PartitionJob): Promise<void> {
    const target = targetIn(this.parts, version, job.partition);
    const project = (): Promise<void> => projectJob(target, job);
    const { aroundProjection } = this.parts;
    return aroundProjection ? aroundProjection(job, version.version, project) : project();
  }
}

/** Returns one partition of a version as `projectJob` needs it. Logs every stream that moves to the dead-letter list. */
export function targetIn(
  { events, views, system, log, signal }: Omit<WorkerParts, 'versions' | 'aroundProjection'>,
  version: ViewVersion,
  partition: number,
): PartitionTarget {
  return {
    version,
    partition,
    partition_count: views.partition_count,
    events,
    now: system.now,
    signal,
    onDeadLetter: (dead_letter) => logDeadLetter(log, version.version, dead_letter),
  };
}

/** Logs that a stream was moved to the dead-letter list. */
export function logDeadLetter(log: Logger, version: number, dead_letter: DeadLetter): void {
  const { stream, revision, position, reason, cause } = dead_letter;
  log.error(
    { version, stream, revision, position: String(position), reason, cause },
    'event failed to project; stream moved to the dead-letter list (use "projections retry" or "projections skip")',
  );
}
