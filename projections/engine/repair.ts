import type { StoredDocument } from '../../shared/catalog/documents';
import type { JsonObject, Position, StreamName } from '../../shared/catalog/events/envelope';

/**
 * What a document carries, hidden in its `state`, while streams that touch it are parked or were a moment ago.
 *
 * A parked stream's events are folded late, when the document already has a later position. `late` says how far each
 * such stream is part of the document, so that a repeated retry does nothing twice. As `late` events do not move
 * the document's place in the log, but every write must change its stored position (the compare-and-set rests on
 * that), `at` keeps the place where the stored position had to run ahead of it.
 */
export interface Repair {
  readonly at?: string;
  readonly late?: Readonly<Record<string, string>>;
}

const FIELD = 'repair';

export type LatePositions = ReadonlyMap<StreamName, Position>;

/** Where in the log the document stands, and how far its late streams are part of it. */
export interface Standing {
  readonly position: Position;
  readonly late: LatePositions;
}

const NONE_LATE: LatePositions = new Map();

export function standingOf({ position, document }: StoredDocument): Standing {
  const repair = document?.state[FIELD] as Repair | undefined;
  if (!repair) return { position, late: NONE_LATE };
  const late = Object.entries(repair.late ?? {});
  return {
    position: repair.at === undefined ? position : BigInt(repair.at),
    late: new Map(late.map(([stream, at]) => [stream as StreamName, BigInt(at)])),
  };
}

/** The state to store; `stored` is the position it is stored with. */
export function withRepair(state: JsonObject, { position, late }: Standing, stored: Position): JsonObject {
  if (position === stored && late.size === 0) return state;
  const repair: JsonObject = {};
  if (position !== stored) repair.at = String(position);
  if (late.size > 0) repair.late = Object.fromEntries([...late].map(([stream, at]) => [stream, String(at)]));
  return { ...state, [FIELD]: repair };
}

/** The state that the views know. */
export function withoutRepair(state: JsonObject): JsonObject {
  if (!(FIELD in state)) return state;
  const { [FIELD]: _, ...rest } = state;
  return rest;
}
