import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { pause } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { EventStore } from '../../shared/ports/event-store';
import type { LaneState, ParkedStream, ViewVersion } from '../../shared/ports/view-store';
import { LostRaceError, reasonOf } from './errors';
import { readLog } from './read-log';
import { LaneRun } from './run';

/** One lane of one live version, and what is needed to go on with it. */
export interface LaneTarget {
  readonly version: ViewVersion;
  readonly lane: number;
  readonly lane_count: number;
  readonly events: EventStore;
  readonly now: () => number;
  readonly onParked?: (parked: ParkedStream) => void;
}

/** The lane's events in (prev, last]. */
export interface LaneSpan {
  readonly prev: Position;
  readonly last: Position;
  readonly events: readonly RecordedEvent[];
}

const LOST_RACES_MAX = 20;
const RETRY_PAUSES_MS = [20, 100, 400] as const;

/**
 * Brings the lane's checkpoint to `span.last` or beyond. The lane's state is read before every document: a document
 * that is only looked at, such as a picture that is brought in, is guarded by nothing but that the checkpoint, which
 * was read before it, still stands when the batch ends, and an event of a stream that was retried since must not be
 * folded into what the stream was before. Where the checkpoint is before `prev`, a job was lost, and
 * the events from the checkpoint on are read from the log instead. Throws what the stores throw, and
 * `LostRaceError` where another keeps working on the lane.
 */
export async function projectSpan(target: LaneTarget, span: LaneSpan): Promise<void> {
  for (let race = 1; ; race++) {
    try {
      const state = await target.version.lane(target.lane);
      if (state.checkpoint >= span.last) return;
      if (state.checkpoint >= span.prev) await projectEvents(target, state, span.last, span.events);
      else await projectFromLog(target, state, span.last);
      return;
    } catch (error) {
      if (!(error instanceof LostRaceError) || race === LOST_RACES_MAX) throw error;
      await pause(Math.random() * race);
    }
  }
}

async function projectFromLog(target: LaneTarget, before: LaneState, to: Position): Promise<void> {
  let { checkpoint } = before;
  for await (const batch of readLog(target.events, { after: checkpoint, to })) {
    const events = eventsOfLane(batch.events, target.lane, target.lane_count);
    const state = checkpoint === before.checkpoint ? before : await stateAt(target, checkpoint);
    await projectEvents(target, state, batch.position, events);
    checkpoint = batch.position;
  }
}

/** The lane's state now; it must stand where it was left. */
async function stateAt({ version, lane }: LaneTarget, checkpoint: Position): Promise<LaneState> {
  const state = await version.lane(lane);
  if (state.checkpoint !== checkpoint) throw new LostRaceError(`lane ${lane} moved meanwhile`);
  return state;
}

export function eventsOfLane(
  events: readonly RecordedEvent[],
  lane: number,
  lane_count: number,
): RecordedEvent[] {
  return events.filter(({ metadata }) => laneOf(metadata.partition_key, lane_count) === lane);
}

async function projectEvents(
  target: LaneTarget,
  before: LaneState,
  to: Position,
  given: readonly RecordedEvent[],
): Promise<void> {
  const { checkpoint: from } = before;
  const events = given.filter(({ position }) => position > from);
  let state = before;
  for (const pause_ms of [...RETRY_PAUSES_MS, undefined]) {
    try {
      await runOnce(target, state, to, events);
      return;
    } catch (error) {
      if (!mayBePoison(error)) throw error;
      if (pause_ms === undefined) return isolate(target, from, to, events, error);
      await pause(pause_ms);
      // What was swept on the way moved the checkpoint.
      state = await stateAt(target, from);
    }
  }
}

/** A store that cannot be reached, or another at work, says nothing about the events. */
function mayBePoison(error: unknown): boolean {
  return !(error instanceof LostRaceError || error instanceof CatalogError);
}

/** The documents could not be written: one event after the other, to find the one that is to blame and park it. */
async function isolate(
  target: LaneTarget,
  from: Position,
  to: Position,
  events: readonly RecordedEvent[],
  error: unknown,
): Promise<void> {
  const [event, ...rest] = events;
  if (!event) throw error;
  if (rest.length === 0) return parkAt(target, from, to, event, error);
  let checkpoint = from;
  for (const next of events) {
    await projectEvents(target, await stateAt(target, checkpoint), next.position, [next]);
    checkpoint = next.position;
  }
  await runOnce(target, await stateAt(target, checkpoint), to, []);
}

async function parkAt(
  target: LaneTarget,
  from: Position,
  to: Position,
  event: RecordedEvent,
  error: unknown,
): Promise<void> {
  const run = openRun(target, await stateAt(target, from));
  await run.park(event, new Error(`cannot be written: ${reasonOf(error)}`));
  await run.flush(to);
}

async function runOnce(
  target: LaneTarget,
  state: LaneState,
  to: Position,
  events: readonly RecordedEvent[],
): Promise<void> {
  const run = openRun(target, state);
  await run.take(events);
  await run.flush(to);
}

function openRun({ version, lane, now, onParked }: LaneTarget, { checkpoint, parked }: LaneState): LaneRun {
  const options = { version, lane, checkpoint, parked, now, ...(onParked && { onParked }) };
  return new LaneRun({ ...options, poison: 'park' });
}
