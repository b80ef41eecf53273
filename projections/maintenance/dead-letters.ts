import { hash } from 'node:crypto';
import type { StreamName } from '../../shared/catalog/events/envelope';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { DeadLetter, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { correctedInPartition } from '../engine/decoded';
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

/** Dead letters with the same cause, and with the same reason apart from ids and numbers. */
export interface DeadLetterGroup {
  /** Eight hexadecimal digits, the same in every process and realm. */
  readonly group: string;
  readonly count: number;
  /** The one that waits since the earliest position of its log. */
  readonly first: DeadLetterInVersion;
}

export interface RetryResult {
  readonly stream: StreamName;
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

/** Returns the group of a dead letter, as `DeadLetterGroup` has it. */
export function groupOf({ cause, reason }: DeadLetter): string {
  const kind = reason.replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/gi, 'ID').replace(/\d+/g, 'N');
  return hash('sha256', `${cause} ${kind}`).slice(0, 8);
}

/** Groups dead letters by the kind of their error. Largest group first. */
export function groupDeadLetters(found: readonly DeadLetterInVersion[]): DeadLetterGroup[] {
  const groups = new Map<string, DeadLetterGroup>();
  for (const letter of found) {
    const group = groupOf(letter);
    const { count, first } = groups.get(group) ?? { count: 0, first: letter };
    groups.set(group, { group, count: count + 1, first: letter.position < first.position ? letter : first });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/** A stream, or the `group` of a `DeadLetterGroup`. */
export type Waiting = { readonly stream: StreamName } | { readonly group: string };

/** Projects the waiting events of these dead letters, in every version that has them. Workers may run. */
export function retry(options: DeadLetterOptions, waiting: Waiting): Promise<RetryResult[]> {
  return inEveryVersion(options, waiting, false);
}

/** Skips the failed events of these dead letters for good, and projects the later waiting events. */
export function skip(options: DeadLetterOptions, waiting: Waiting): Promise<RetryResult[]> {
  return inEveryVersion(options, waiting, true);
}

async function inEveryVersion(
  options: DeadLetterOptions,
  waiting: Waiting,
  skip_first: boolean,
): Promise<RetryResult[]> {
  const results: RetryResult[] = [];
  for (const letter of await deadLetters(options)) {
    if ('stream' in waiting ? letter.stream !== waiting.stream : groupOf(letter) !== waiting.group) continue;
    results.push(await retryInVersion(options, letter, skip_first));
  }
  return results;
}

async function retryInVersion(
  options: DeadLetterOptions,
  dead_letter: DeadLetterInVersion,
  skip_first: boolean,
): Promise<RetryResult> {
  const version = await options.views.open(dead_letter.version);
  await assertMadeFromLog(options.events, version);
  // Skip only the event that is first now. If a later event fails, the operator has to decide again.
  const skipped_revision = skip_first ? dead_letter.revision : undefined;
  const result = await untilRaceIsWon(LOST_RACES_MAX, () =>
    projectWaiting(options, version, dead_letter, skipped_revision),
  );
  return { stream: dead_letter.stream, version: version.version, ...result };
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
): Promise<Omit<RetryResult, 'stream' | 'version'>> {
  const state = await version.partition(partition);
  const current = state.dead_letters.find((letter) => letter.stream === stream);
  // Another retry has projected the waiting events.
  if (!current) return { projected: 0, dead_letter: null };
  const waiting = (
    await correctedInPartition(events, await events.readStream(stream, current.revision))
  ).filter(({ position, revision }) => position <= state.checkpoint && revision !== skipped_revision);
  const run = new PartitionRun(state, { version, partition, poison: 'throw', now: system.now });
  const dead_letter = await run.retry(current, waiting);
  await run.flush(state.checkpoint);
  const projected = dead_letter
    ? waiting.findIndex(({ revision }) => revision === dead_letter.revision)
    : waiting.length;
  return { projected, dead_letter };
}
