import type { CollectionName, ViewDocument } from '../../shared/catalog/documents';
import { type JsonObject, type Position, START } from '../../shared/catalog/events/envelope';
import type { DocumentWrite } from '../../shared/ports/view-store';
import type { AnyDocument, MaybeDocument } from '../views/view';
import { type LatePositions, withAppliedPositions } from './late-events';
import type { List } from './plan';

/** A document of a unit of work, in memory. */
export interface WorkingDocument {
  readonly collection: CollectionName;
  readonly id: string;
  /** Stored position, which the compare-and-set compares. Null if the document is not stored. */
  readonly expected: Position | null;
  /** Position of the last event that was applied in log order (see `late-events.ts`). */
  readonly log_position: Position;
  readonly late_positions: LatePositions;
  readonly document: MaybeDocument<AnyDocument>;
  /** The document as it is in the store. */
  readonly stored: MaybeDocument<AnyDocument>;
  /** Whether the document has unsaved changes. */
  readonly dirty: boolean;
  /** Lists of entries that must be recomputed from the store before the document is written. */
  readonly stale_lists: ReadonlySet<List>;
  /** Number of the last event of the unit of work that changed the document (`setCurrentEvent`), 0 if none has. */
  readonly changed_by: number;
}

export const NO_LISTS: ReadonlySet<List> = new Set();

export const keyOf = ({ collection, id }: WorkingDocument): string => `${collection}/${id}`;

const NO_POSITIONS: LatePositions = new Map();

/** Returns the working document of an id that is not stored. */
export function absent(collection: CollectionName, id: string): WorkingDocument {
  const nothing = {
    expected: null,
    log_position: START,
    late_positions: NO_POSITIONS,
    document: undefined,
    stored: undefined,
  };
  return { collection, id, ...nothing, dirty: false, stale_lists: NO_LISTS, changed_by: 0 };
}

/** Returns the stale lists of `document`: those from before the change, and those that the change made stale. */
export function staleListsAfter(
  before: WorkingDocument,
  document: MaybeDocument<AnyDocument>,
  made_stale: readonly List[],
): ReadonlySet<List> {
  if (document === null) return NO_LISTS;
  return made_stale.length === 0 ? before.stale_lists : new Set([...before.stale_lists, ...made_stale]);
}

/** Returns the approximate size of the document in memory, in characters. Long texts make up nearly all of it. */
export function textLengthOf(document: MaybeDocument<AnyDocument>): number {
  return document ? lengthOfTexts(document.body) + lengthOfTexts(document.expansions) : 0;
}

/** Returns the approximate size of a page of documents, in characters. */
export function textLengthOfPage(page: readonly { readonly document: MaybeDocument<AnyDocument> }[]): number {
  return page.reduce((total, { document }) => total + textLengthOf(document), 0);
}

function lengthOfTexts(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let length = 0;
  for (const name in value) length += lengthOfTexts((value as Readonly<Record<string, unknown>>)[name]);
  return length;
}

export function toWrite(working: WorkingDocument): DocumentWrite {
  const { collection, id, expected, document } = working;
  const position = nextStoredPosition(working);
  if (!document) return { collection, id, expected, position, document: null };
  const state = withAppliedPositions(document.state as JsonObject, working, position);
  return { collection, id, expected, position, document: { ...document, state } as ViewDocument };
}

/**
 * Returns the working document after its `toWrite` is durable. `stale_lists` are the lists that must be recomputed
 * again with the next write.
 */
export function afterWrite(
  working: WorkingDocument,
  stale_lists: ReadonlySet<List> = NO_LISTS,
): WorkingDocument {
  const { document: stored } = working;
  return {
    ...working,
    expected: nextStoredPosition(working),
    stored,
    dirty: stale_lists.size > 0,
    stale_lists,
  };
}

/**
 * Returns the position to store the document with. It is greater than the stored position, so that two writes of a
 * document never have the same position and a compare-and-set cannot mistake one for the other.
 */
function nextStoredPosition({ expected, log_position }: WorkingDocument): Position {
  return expected !== null && log_position <= expected ? expected + 1n : log_position;
}
