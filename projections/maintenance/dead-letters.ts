import type { StreamName } from '../../shared/catalog/events/envelope';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { DeadLetter, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { LostRaceError, PoisonError } from '../engine/errors';
import { assertMadeFromLog } from '../engine/log-match';
import { projectJob } from '../engine/project';
import { deadLetterAt, PartitionRun } from '../engine/run';
import { dispatchedVersions } from '../engine/versions';
import { targetIn } from '../engine/worker';

export interface DeadLetterOptions {
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly system: System;
  readonly log: Logger;
}

export interface DeadLetterInVersion extends DeadLetter {
  readonly version: number;
}

export interface RetryResult {
  readonly version: number;
  /** Number of waiting events that were projected. */
  readonly projected: number;
  /**
   * The event of the stream at which the retry stopped: the same event as before, or a later one. Null if the stream
   * left the dead-letter list.
   */
  readonly dead_letter: DeadLetter | null;
}

const ATTEMPTS_MAX = 200;
/** After this many lost races in a row, a retry projects the partition itself. */
const ATTEMPTS_BEFORE_PROJECTING = 10;
const PAUSE_MS_MAX = 50;
/**
 * Time to wait before checking that the stream has left the list. A worker that read the list earlier may add the
 * dead letter again within this time.
 */
const RECHECK_MS = 100;

/** Returns the dead letters of every version that events are dispatched to. */
export async function deadLetters({
  views,
}: Pick<DeadLetterOptions, 'views'>): Promise<DeadLetterInVersion[]> {
  const found: DeadLetterInVersion[] = [];
  for (const { version } of dispatchedVersions(await views.versions()))
    for (const stream of await (await views.open(version)).deadLetters()) found.push({ ...stream, version });
  return found;
}

/** Projects the stream's waiting events in every version that has a dead letter of it. Works while workers run. */
export function retry(options: DeadLetterOptions, stream: StreamName): Promise<RetryResult[]> {
  return inEveryVersion(options, stream, false);
}

/** Leaves out the stream's failed event permanently, and projects the later waiting events. */
export function skip(options: DeadLetterOptions, stream: StreamName): Promise<RetryResult[]> {
  return inEveryVersion(options, stream, true);
}

async function inEveryVersion(
  options: DeadLetterOptions,
  stream: StreamName,
  skip_first: boolean,
): Promise<RetryResult[]> {
  const results: RetryResult[] = [];
  for (const { version } of (await deadLetters(options)).filter((letter) => letter.stream === stream))
    results.push(await retryInVersion(options, await options.views.open(version), stream, skip_first));
  return results;
}

async function retryInVersion(
  options: DeadLetterOptions,
  version: ViewVersion,
  stream: StreamName,
  skip_first: boolean,
): Promise<RetryResult> {
  await assertMadeFromLog(options.events, version);
  let projected = 0;
  // Revision of the event to skip: the event that waits first when the operator calls `skip`. If a later event fails,
  // the operator has to decide about that event.
  let skipped_revision: number | undefined;
  for (let attempt = 1; ; attempt++) {
    const dead_letter = (await version.deadLetters()).find((letter) => letter.stream === stream);
    if (!dead_letter) return { version: version.version, projected, dead_letter: null };
    if (skip_first) skipped_revision ??= dead_letter.revision;
    try {
      const result = await projectWaiting(options, version, dead_letter, skipped_revision);
      projected += result.projected;
      if (result.dead_letter) return { version: version.version, projected, dead_letter: result.dead_letter };
      await pause(RECHECK_MS);
    } catch (error) {
      if (!(error instanceof LostRaceError) || attempt === ATTEMPTS_MAX) throw error;
      // A worker may have crashed while it wrote a batch, so that documents are ahead of the checkpoint. If no other
      // worker runs, nobody else repeats the batch.
      if (attempt % ATTEMPTS_BEFORE_PROJECTING === 0)
        await projectToHead(options, version, dead_letter.partition);
      await pause(Math.random() * Math.min(attempt, PAUSE_MS_MAX));
    }
  }
}

/** Projects the partition up to the head of the log, as a worker does. */
async function projectToHead(
  options: DeadLetterOptions,
  version: ViewVersion,
  partition: number,
): Promise<void> {
  const head = await options.events.head();
  const job = { prev: head, last: head, events: [] };
  await projectJob(targetIn(options, version, partition), job);
}

/**
 * Projects the waiting events of a dead letter, from fresh reads. Does not move the partition's checkpoint. The write
 * compares the checkpoint, so it fails if a worker has moved it: the worker may have left out another event of the
 * stream, which waits too. If the process crashes, the next attempt continues, and no event is applied twice (see
 * `late-events.ts`).
 */
export async function projectWaiting(
  { events, system }: Pick<DeadLetterOptions, 'events' | 'system'>,
  version: ViewVersion,
  waiting_from: DeadLetter,
  skipped_revision: number | undefined,
): Promise<Omit<RetryResult, 'version'>> {
  const { partition, stream } = waiting_from;
  const { checkpoint, dead_letters } = await version.partition(partition);
  // If the stream has left the list, another retry has projected the waiting events. Do not project them again: the
  // documents lose their late positions when the stream leaves the list, so the events would be applied twice.
  if (!dead_letters.some((letter) => letter.stream === stream)) return { projected: 0, dead_letter: null };
  const waiting = (await events.readStream(stream, waiting_from.revision)).filter(
    ({ position, revision }) => position <= checkpoint && revision !== skipped_revision,
  );
  const run = new PartitionRun({
    version,
    partition,
    checkpoint,
    dead_letters,
    poison: 'throw',
    now: system.now,
    retried_stream: stream,
  });
  try {
    await run.take(waiting);
  } catch (error) {
    if (!(error instanceof PoisonError)) throw error;
    const index = waiting.findIndex(({ position }) => position === error.position);
    const dead_letter = deadLetterAt(waiting[index]!, partition, error.cause, system.now());
    await run.flush(checkpoint, { add_dead_letters: [dead_letter] });
    return { projected: index, dead_letter };
  }
  await run.flush(checkpoint, { remove_dead_letters: [stream] });
  return { projected: waiting.length, dead_letter: null };
}
