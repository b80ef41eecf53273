import type { StoredDocument } from '../../shared/catalog/documents';
import type { JsonObject, Position, StreamName } from '../../shared/catalog/events/envelope';

/*
 * A retry of a dead letter applies late events: the waiting events of the stream, to documents that may already include
 * later events of other streams. For these documents, one position is not enough:
 *
 * - The *log position* is the position of the last event that was applied in log order. A late event does not change
 *   it.
 * - The *stored position* is the position that the compare-and-set compares. Every write must increase it, also the
 *   write of a late event.
 * - The *late positions* say, for each dead-letter stream, up to which position the document includes the events of
 *   that stream. A repeated retry skips events up to this position, so it applies no event twice.
 *
 * Log position and late positions are stored in the `state` of the document. Most documents have no late positions and
 * equal log and stored positions; nothing is added to their state. Views never see these fields.
 */

/** Format of the stored field. The names of the field and of its properties are stored, so they stay. */
interface StoredPositions {
  /** The log position, if it differs from the stored position. */
  readonly at?: string;
  /** The late positions, by stream. */
  readonly late?: Readonly<Record<string, string>>;
}

const FIELD = 'repair';

/** Position up to which a document includes the events of a dead-letter stream, by stream. */
export type LatePositions = ReadonlyMap<StreamName, Position>;

/** Which events a document includes. */
export interface AppliedPositions {
  readonly log_position: Position;
  readonly late_positions: LatePositions;
}

const NONE: LatePositions = new Map();

export function appliedPositionsOf({ position, document }: StoredDocument): AppliedPositions {
  const field = document?.state[FIELD] as StoredPositions | undefined;
  if (!field) return { log_position: position, late_positions: NONE };
  const late = Object.entries(field.late ?? {});
  return {
    log_position: field.at === undefined ? position : BigInt(field.at),
    late_positions: new Map(late.map(([stream, included]) => [stream as StreamName, BigInt(included)])),
  };
}

/** Returns the state to store. `stored_position` is the position that this write stores. */
export function withAppliedPositions(
  state: JsonObject,
  { log_position, late_positions }: AppliedPositions,
  stored_position: Position,
): JsonObject {
  if (log_position === stored_position && late_positions.size === 0) return state;
  const field: JsonObject = {};
  if (log_position !== stored_position) field.at = String(log_position);
  if (late_positions.size > 0)
    field.late = Object.fromEntries(
      [...late_positions].map(([stream, included]) => [stream, String(included)]),
    );
  return { ...state, [FIELD]: field };
}

/** Returns the state as the views made it. */
export function withoutAppliedPositions(state: JsonObject): JsonObject {
  if (!(FIELD in state)) return state;
  const { [FIELD]: _, ...rest } = state;
  return rest;
}
