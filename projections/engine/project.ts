import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { pause } from '../../shared/kernel/async';
import type { EventStore } from '../../shared/ports/event-store';
import type { PartitionJob } from '../../shared/ports/job-queue';
import type { DeadLetter, PartitionState, ViewVersion } from '../../shared/ports/view-store';
import { isPoison, LostRaceError, reasonOf, ViewError } from './errors';
import { readLog } from './read-log';
import { PartitionRun } from './run';

/** One partition of one version that events are dispatched to, and what is needed to project it. */
export interface PartitionTarget {
  readonly version: ViewVersion;
  readonly partition: number;
  readonly partition_count: number;
  readonly events: EventStore;
  readonly now: () => number;
  readonly onDeadLetter?: (dead_letter: DeadLetter) => void;
  /** Set by a worker, so that the next job of the partition need not read the state that this job leaves. */
  readonly written?: WrittenCheckpoints;
}

/**
 * The checkpoints that this process has written last, of partitions without dead letters. The state of such a partition
 * is known without reading it: if another process has moved the checkpoint since, the compare-and-set of the next batch
 * fails. Without moving it, nobody can add a dead letter. A partition with dead letters is always read, because a retry
 * may have removed them.
 */
export class WrittenCheckpoints {
  private readonly positions = new WeakMap<ViewVersion, Map<number, Position>>();

  /** Removes and returns the state before the job. Undefined if it is not known that the job follows it. */
  take({ version, partition }: PartitionTarget, job: JobEvents): PartitionState | undefined {
    const positions = this.positions.get(version);
    const checkpoint = positions?.get(partition);
    positions?.delete(partition);
    // A job without events asks whether the stored checkpoint has reached `last`.
    if (checkpoint === undefined || job.events.length === 0) return undefined;
    return checkpoint >= job.prev && checkpoint < job.last ? { checkpoint, dead_letters: [] } : undefined;
  }

  set({ version, partition }: PartitionTarget, checkpoint: Position): void {
    const positions = this.positions.get(version) ?? new Map<number, Position>();
    this.positions.set(version, positions.set(partition, checkpoint));
  }
}

/** The events of a job, without its address. */
export type JobEvents = Pick<PartitionJob, 'prev' | 'last' | 'events'>;

const LOST_RACES_MAX = 20;
const RETRY_PAUSES_MS = [20, 100, 400] as const;

/**
 * Projects the partition up to `job.last`. Does nothing if the checkpoint has already reached `job.last`: the job was
 * delivered again. If the checkpoint is before `job.prev`, an earlier job was lost. Then ignores the events of the job
 * and reads the partition's events from the log.
 *
 * Reads the partition's checkpoint and dead letters before any document, unless `written` knows them. Reason: some
 * documents are only read, for example a media document that a publication begins to embed. They are not written, so no
 * compare-and-set notices if another worker changes them meanwhile. But that worker would also move the checkpoint, and
 * the compare-and-set of the checkpoint then fails. A retry does not move the checkpoint, but it changes the
 * dead-letter list, which is compared, too (`expected_dead_letters`).
 *
 * Throws what the stores throw, and `LostRaceError` if another worker wins 20 times in a row.
 */
export async function projectJob(target: PartitionTarget, job: JobEvents): Promise<void> {
  for (let race = 1; ; race++) {
    try {
      const known = target.written?.take(target, job);
      const state = known ?? (await target.version.partition(target.partition));
      if (state.checkpoint >= job.last) return;
      if (state.checkpoint >= job.prev) await projectEvents(target, state, job.last, job.events);
      else await projectFromLog(target, state, job.last);
      return;
    } catch (error) {
      if (!(error instanceof LostRaceError) || race === LOST_RACES_MAX) throw error;
      await pause(Math.random() * race);
    }
  }
}

async function projectFromLog(target: PartitionTarget, before: PartitionState, to: Position): Promise<void> {
  // The queue may still have jobs from before an older copy of the log was restored. Without this check, such a job would
  // hold up its partition until the log is as long again.
  if (to > (await target.events.head())) return;
  let { checkpoint } = before;
  for await (const batch of readLog(target.events, { after: checkpoint, to })) {
    const events = eventsOfPartition(batch.events, target.partition, target.partition_count);
    const state = checkpoint === before.checkpoint ? before : await stateAt(target, checkpoint);
    await projectEvents(target, state, batch.position, events);
    checkpoint = batch.position;
  }
}

/** Reads the partition's state. Throws `LostRaceError` if its checkpoint is not `checkpoint`. */
async function stateAt(
  { version, partition }: PartitionTarget,
  checkpoint: Position,
): Promise<PartitionState> {
  const state = await version.partition(partition);
  if (state.checkpoint !== checkpoint)
    throw new LostRaceError(`another worker has advanced partition ${partition}`);
  return state;
}

export function eventsOfPartition(
  events: readonly RecordedEvent[],
  partition: number,
  partition_count: number,
): RecordedEvent[] {
  return events.filter(({ metadata }) => partitionOf(metadata.partition_key, partition_count) === partition);
}

async function projectEvents(
  target: PartitionTarget,
  before: PartitionState,
  to: Position,
  batch: readonly RecordedEvent[],
): Promise<void> {
  const { checkpoint: from } = before;
  // Events at or before the checkpoint are redelivered: they are already in the documents.
  const events = batch.filter(({ position }) => position > from);
  let state = before;
  for (const pause_ms of [...RETRY_PAUSES_MS, undefined]) {
    try {
      await runOnce(target, state, to, events);
      return;
    } catch (error) {
      if (!isPoison(error)) throw error;
      if (pause_ms === undefined || error instanceof ViewError)
        return isolate(target, from, to, events, error);
      await pause(pause_ms);
      // Throws if the checkpoint has moved: a sweep of the failed attempt may have flushed some of the events.
      state = await stateAt(target, from);
    }
  }
}

/**
 * Projects the events one by one to find the event that cannot be projected. Moves its stream to the dead-letter list.
 */
async function isolate(
  target: PartitionTarget,
  from: Position,
  to: Position,
  events: readonly RecordedEvent[],
  error: unknown,
): Promise<void> {
  const [event, ...rest] = events;
  if (!event) throw error;
  if (rest.length === 0) return deadLetterFrom(target, from, to, event, error);
  let checkpoint = from;
  for (const next of events) {
    await projectEvents(target, await stateAt(target, checkpoint), next.position, [next]);
    checkpoint = next.position;
  }
  await runOnce(target, await stateAt(target, checkpoint), to, []);
}

async function deadLetterFrom(
  target: PartitionTarget,
  from: Position,
  to: Position,
  event: RecordedEvent,
  error: unknown,
): Promise<void> {
  const run = openRun(target, await stateAt(target, from));
  await run.moveToDeadLetters(
    event,
    new Error(`cannot be ${error instanceof ViewError ? 'projected' : 'written'}: ${reasonOf(error)}`),
  );
  await run.flush(to);
}

async function runOnce(
  target: PartitionTarget,
  state: PartitionState,
  to: Position,
  events: readonly RecordedEvent[],
): Promise<void> {
  const run = openRun(target, state);
  await run.take(events);
  await run.flush(to);
  if (!run.has_dead_letters) target.written?.set(target, to);
}

function openRun(
  { version, partition, now, onDeadLetter }: PartitionTarget,
  { checkpoint, dead_letters }: PartitionState,
): PartitionRun {
  const options = {
    version,
    partition,
    checkpoint,
    dead_letters,
    now,
    ...(onDeadLetter && { onDeadLetter }),
  };
  return new PartitionRun({ ...options, poison: 'dead_letter' });
}
