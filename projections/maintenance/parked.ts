import type { StreamName } from '../../shared/catalog/events/envelope';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { ParkedStream, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { LostRaceError, PoisonError } from '../engine/errors';
import { projectSpan } from '../engine/project';
import { LaneRun, parkedAt } from '../engine/run';
import { fedVersions } from '../engine/versions';
import { logParked } from '../engine/worker';

export interface ParkedOptions {
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly system: System;
  readonly log: Logger;
}

export interface ParkedInVersion extends ParkedStream {
  readonly version: number;
}

export interface RetryResult {
  readonly version: number;
  /** Waiting events that are projected now. */
  readonly projected: number;
  /** Where the stream stands again, at another event or the same one; null where it is free. */
  readonly parked: ParkedStream | null;
}

const ATTEMPTS_MAX = 200;
const ATTEMPTS_BEFORE_HELP = 10;
const PAUSE_MS_MAX = 50;
/** How long a worker that had read the list of parked streams before may still tell one again. */
const AFTERMATH_MS = 100;

/** The parked streams of every version that is fed. */
export async function parked({ views }: Pick<ParkedOptions, 'views'>): Promise<ParkedInVersion[]> {
  const found: ParkedInVersion[] = [];
  for (const { version } of fedVersions(await views.versions()))
    for (const stream of await (await views.open(version)).parked()) found.push({ ...stream, version });
  return found;
}

/** Projects the stream's waiting events, in every version that has it parked. Works while workers run. */
export function retry(options: ParkedOptions, stream: StreamName): Promise<RetryResult[]> {
  return inEveryVersion(options, stream, false);
}

/** Leaves out the event that the stream is parked at, for good, and projects those that wait behind it. */
export function skip(options: ParkedOptions, stream: StreamName): Promise<RetryResult[]> {
  return inEveryVersion(options, stream, true);
}

async function inEveryVersion(
  options: ParkedOptions,
  stream: StreamName,
  skip_first: boolean,
): Promise<RetryResult[]> {
  const results: RetryResult[] = [];
  for (const { version } of (await parked(options)).filter((entry) => entry.stream === stream))
    results.push(await free(options, await options.views.open(version), stream, skip_first));
  return results;
}

async function free(
  options: ParkedOptions,
  version: ViewVersion,
  stream: StreamName,
  skip_first: boolean,
): Promise<RetryResult> {
  let projected = 0;
  // Skipped is the event that the caller was shown, not one that the stream is parked at later.
  let skipped: number | undefined;
  for (let attempt = 1; ; attempt++) {
    const entry = (await version.parked()).find((parked) => parked.stream === stream);
    if (!entry) return { version: version.version, projected, parked: null };
    if (skip_first) skipped ??= entry.revision;
    try {
      const result = await projectWaiting(options, version, entry, skipped);
      projected += result.projected;
      if (result.parked) return { version: version.version, projected, parked: result.parked };
      await pause(AFTERMATH_MS);
    } catch (error) {
      if (!(error instanceof LostRaceError) || attempt === ATTEMPTS_MAX) throw error;
      // Perhaps a worker died half-way through a batch, and none runs that would do it again.
      if (attempt % ATTEMPTS_BEFORE_HELP === 0) await bringLaneToHead(options, version, entry.lane);
      await pause(Math.random() * Math.min(attempt, PAUSE_MS_MAX));
    }
  }
}

/** As a worker would. */
async function bringLaneToHead(
  { events, views, system, log }: ParkedOptions,
  version: ViewVersion,
  lane: number,
): Promise<void> {
  const head = await events.head();
  const onParked = (parked: ParkedStream): void => logParked(log, version.version, parked);
  const target = { version, lane, lane_count: views.lane_count, events, now: system.now, onParked };
  await projectSpan(target, { prev: head, last: head, events: [] });
}

/**
 * One attempt, from fresh reads. The lane's checkpoint stays where it is; as the write expects it there, no event
 * that came since can be lost. Breaking off anywhere and doing it again projects each event once.
 */
export async function projectWaiting(
  { events, system }: Pick<ParkedOptions, 'events' | 'system'>,
  version: ViewVersion,
  entry: ParkedStream,
  skipped: number | undefined,
): Promise<Omit<RetryResult, 'version'>> {
  const { lane, stream } = entry;
  const { checkpoint, parked } = await version.lane(lane);
  // Another one has freed it, and what the documents knew of its events is let go of.
  if (!parked.some((one) => one.stream === stream)) return { projected: 0, parked: null };
  const waiting = (await events.readStream(stream, entry.revision)).filter(
    ({ position, revision }) => position <= checkpoint && revision !== skipped,
  );
  const run = new LaneRun({
    version,
    lane,
    checkpoint,
    parked,
    poison: 'throw',
    now: system.now,
    late: stream,
  });
  try {
    await run.take(waiting);
  } catch (error) {
    if (!(error instanceof PoisonError)) throw error;
    const index = waiting.findIndex(({ position }) => position === error.position);
    const again = parkedAt(waiting[index]!, lane, error.cause, system.now());
    await run.flush(checkpoint, { park: [again] });
    return { projected: index, parked: again };
  }
  await run.flush(checkpoint, { unpark: [stream] });
  return { projected: waiting.length, parked: null };
}
