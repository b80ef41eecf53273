import type { StreamName } from '../../shared/catalog/events/envelope';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { DeadLetter, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { assertMadeFromLog } from '../engine/log-match';
import { untilRaceIsWon } from '../engine/project';
import { PartitionRun } from '../engine/run';
import { dispatchedVersions } from '../engine/versions';

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

/** Number of lost races with workers in a row after which a retry gives up. */
const LOST_RACES_MAX = 200;

/** Returns the dead letters of every version that events are dispatched to. */
export async function deadLetters({
  views,
}: Pick<DeadLetterOptions, 'views'>): Promise<DeadLetterInVersion[]> {
  const found: DeadLetterInVersion[] = [];
  for (const { version } of dispatchedVersions(await views.versions()))
    for (const dead_letter of await (await views.open(version)).deadLetters())
      found.push({ ...dead_letter, version });
  return found;
}

/** Projects the stream's waiting events in every version in which the stream has a dead letter. Workers may run. */
export function retry(options: DeadLetterOptions, stream: StreamName): Promise<RetryResult[]> {
  return inEveryVersion(options, stream, false);
}

/** Skips the stream's failed event for good, and projects the later waiting events. */
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
  const dead_letter = (await version.deadLetters()).find((letter) => letter.stream === stream);
  if (!dead_letter) return { version: version.version, projected: 0, dead_letter: null };
  // Skip only the event that is first now. If a later event fails, the operator has to decide again.
  const skipped_revision = skip_first ? dead_letter.revision : undefined;
  const result = await untilRaceIsWon(LOST_RACES_MAX, () =>
    projectWaiting(options, version, dead_letter, skipped_revision),
  );
  return { version: version.version, ...result };
}

/**
 * Reads the partition and the stream, and projects the waiting events of the dead letter. Does not move the partition's
 * checkpoint: workers project the events after it.
 */
export async function projectWaiting(
  { events, system }: Pick<DeadLetterOptions, 'events' | 'system'>,
  version: ViewVersion,
  { partition, stream }: DeadLetter,
  skipped_revision: number | undefined,
): Promise<Omit<RetryResult, 'version'>> {
  const state = await version.partition(partition);
  const current = state.dead_letters.find((letter) => letter.stream === stream);
  // Another retry has projected the waiting events.
  if (!current) return { projected: 0, dead_letter: null };
  const waiting = (await events.readStream(stream, current.revision)).filter(
    ({ position, revision }) => position <= state.checkpoint && revision !== skipped_revision,
  );
  const run = new PartitionRun(state, { version, partition, poison: 'throw', now: system.now });
  const dead_letter = await run.retry(current, waiting);
  await run.flush(state.checkpoint);
  const projected = dead_letter
    ? waiting.findIndex(({ revision }) => revision === dead_letter.revision)
    : waiting.length;
  return { projected, dead_letter };
}
