import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { pause } from '../../shared/kernel/async';
import type { EventStore } from '../../shared/ports/event-store';
import type { PartitionJob } from '../../shared/ports/job-queue';
import type { DeadLetter, PartitionState, ViewVersion } from '../../shared/ports/view-store';
import { correctedInPartition } from './decoded';
import { isCausedByEvent, LostRaceError, reasonOf, ViewError } from './errors';
import { readLog } from './read-log';
import { PartitionRun } from './run';

/** One partition of a version, and what is needed to project events into it. */
export interface PartitionTarget {
  readonly version: ViewVersion;
  readonly partition: number;
  readonly partition_count: number;
  readonly events: EventStore;
  readonly now: () => number;
  readonly onDeadLetter?: ((dead_letter: DeadLetter) => void) | undefined;
  /** Ends a long reading of the log early. A later job reads the rest. */
  readonly signal?: AbortSignal | undefined;
}

/** The content of a job, without the realm and partition that it is for. */
export type JobEvents = Pick<PartitionJob, 'prev' | 'last' | 'events'>;

/** Number of lost races in a row after which `projectJob` gives up. */
const LOST_RACES_MAX = 20;
/** The pause after a lost race is random, up to 1 ms per lost race so far and at most this. */
const PAUSE_MS_MAX = 50;

/**
 * Projects the partition up to `job.last`. If the checkpoint has already reached `job.last`, the job was delivered again,
 * and `projectJob` does nothing. If the checkpoint is before `job.prev`, an earlier job was lost. `projectJob` then
 * ignores the events of the job and reads the partition's events from the log.
 *
 * Throws what the stores throw, and `LostRaceError` if other workers win `LOST_RACES_MAX` times in a row.
 */
export function projectJob(target: PartitionTarget, job: JobEvents): Promise<void> {
  return untilRaceIsWon(LOST_RACES_MAX, async () => {
    const state = await target.version.partition(target.partition);
    if (state.checkpoint >= job.prev) await projectEvents(target, state, job.last, job.events);
    else await projectFromLog(target, state.checkpoint, job.last);
  });
}

/**
 * Returns what `project` returns. Calls `project` again after a `LostRaceError`, at most `races_max` times in total.
 * `project` must read the partition again at each call.
 */
export async function untilRaceIsWon<Result>(
  races_max: number,
  project: () => Promise<Result>,
): Promise<Result> {
  for (let race = 1; ; race++)
    try {
      return await project();
    } catch (error) {
      if (!(error instanceof LostRaceError) || race === races_max) throw error;
      await pause(Math.random() * Math.min(race, PAUSE_MS_MAX));
    }
}

async function projectFromLog(target: PartitionTarget, after: Position, to: Position): Promise<void> {
  // A log that was restored from a back-up may end before a job that is still in the queue. Without this check, such a
  // job would hold up its partition until the log is as long again.
  if (to > (await target.events.head())) return;
  for await (const batch of readLog(target.events, { after, to, signal: target.signal })) {
    const events = eventsOfPartition(batch.events, target.partition, target.partition_count);
    await projectEvents(target, await target.version.partition(target.partition), batch.position, events);
  }
}

export function eventsOfPartition(
  events: readonly RecordedEvent[],
  partition: number,
  partition_count: number,
): RecordedEvent[] {
  return events.filter(({ metadata }) => partitionOf(metadata.partition_key, partition_count) === partition);
}

/** Projects the events after the checkpoint of `state` and moves the checkpoint to `to`, unless it has reached `to`. */
async function projectEvents(
  target: PartitionTarget,
  state: PartitionState,
  to: Position,
  events: readonly RecordedEvent[],
): Promise<void> {
  if (state.checkpoint >= to) return;
  try {
    const run = openRun(target, state);
    await run.take(await correctedInPartition(target.events, events));
    await run.flush(to);
  } catch (error) {
    if (!isCausedByEvent(error)) throw error;
    await isolate(target, to, events, error);
  }
}

/**
 * Projects the events one by one to find the event that cannot be projected. Moves its stream to the dead-letter list.
 */
async function isolate(
  target: PartitionTarget,
  to: Position,
  events: readonly RecordedEvent[],
  error: unknown,
): Promise<void> {
  const readState = () => target.version.partition(target.partition);
  if (events.length > 1) {
    for (const event of events) await projectEvents(target, await readState(), event.position, [event]);
    // There are no events between the last event and `to`.
    return projectEvents(target, await readState(), to, []);
  }
  const [event] = events;
  // Without an event, no event is the cause.
  if (!event) throw error;
  const run = openRun(target, await readState());
  const what = error instanceof ViewError ? 'projected' : 'written';
  run.addDeadLetter(event, error, reasonOf(new Error(`cannot be ${what}: ${reasonOf(error)}`)));
  await run.flush(to);
}

const openRun = (target: PartitionTarget, state: PartitionState): PartitionRun =>
  new PartitionRun(state, { ...target, poison: 'dead_letter' });
