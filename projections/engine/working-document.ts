import type { CollectionName, ViewDocument } from '../../shared/catalog/documents';
import { type JsonObject, type Position, START } from '../../shared/catalog/events/envelope';
import type { DocumentWrite } from '../../shared/ports/view-store';
import type { AnyDocument, Known } from '../views/view';
import type { List } from './plan';
import { type LatePositions, withRepair } from './repair';

/** One document of a unit of work, in memory. */
export interface WorkingDocument {
  readonly collection: CollectionName;
  readonly id: string;
  /** The position that it is stored with: the compare of the compare-and-set. Null where it is not stored. */
  readonly expected: Position | null;
  /** Of the newest event that is part of it; an event at or before is not applied to it again. */
  readonly position: Position;
  readonly late: LatePositions;
  readonly document: Known<AnyDocument>;
  /** As it is stored. */
  readonly stored: Known<AnyDocument>;
  readonly dirty: boolean;
  /** Lists of entries that must be completed from the stored documents before it is written. */
  readonly incomplete: ReadonlySet<List>;
}

export const COMPLETE: ReadonlySet<List> = new Set();

export const keyOf = ({ collection, id }: WorkingDocument): string => `${collection}/${id}`;

/** One that is not stored. */
export function absent(collection: CollectionName, id: string): WorkingDocument {
  const nothing = {
    expected: null,
    position: START,
    late: new Map(),
    document: undefined,
    stored: undefined,
  };
  return { collection, id, ...nothing, dirty: false, incomplete: COMPLETE };
}

export function incompleteAfter(
  before: WorkingDocument,
  document: Known<AnyDocument>,
  more: readonly List[],
): ReadonlySet<List> {
  if (document === null) return COMPLETE;
  return more.length === 0 ? before.incomplete : new Set([...before.incomplete, ...more]);
}

/** About how much memory the document takes, in characters: a few texts make up nearly all of it. */
export function textOf(document: Known<AnyDocument>): number {
  let length = 0;
  for (const value of Object.values(document?.body ?? {}))
    if (typeof value === 'string') length += value.length;
  return length;
}

export function toWrite(working: WorkingDocument): DocumentWrite {
  const { collection, id, expected, document } = working;
  const position = storedPosition(working);
  if (!document) return { collection, id, expected, position, document: null };
  const state = withRepair(document.state as JsonObject, working, position);
  return { collection, id, expected, position, document: { ...document, state } as ViewDocument };
}

/** As it is once its `toWrite` has landed; `unsettled` lists of entries are to be completed with the next write again. */
export function asWritten(
  working: WorkingDocument,
  unsettled: ReadonlySet<List> = COMPLETE,
): WorkingDocument {
  const { document: stored } = working;
  const again = { dirty: unsettled.size > 0, incomplete: unsettled };
  return { ...working, expected: storedPosition(working), stored, ...again };
}

/** Positions as stored only grow, so that no two writes of a document look alike to a compare-and-set. */
function storedPosition({ expected, position }: WorkingDocument): Position {
  return expected !== null && position <= expected ? expected + 1n : position;
}
