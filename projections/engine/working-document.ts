import type { CollectionName, ViewDocument } from '../../shared/catalog/documents';
import { type Position, START } from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import type { DocumentWrite } from '../../shared/ports/view-store';
import type { AnyDocument, MaybeDocument } from '../views/view';
import type { List } from './plan';

/** A document of a unit of work, in memory. */
export interface WorkingDocument {
  readonly collection: CollectionName;
  readonly id: string;
  /** Position at which the document is stored. Undefined if it is not stored. */
  readonly stored_at: Position | undefined;
  readonly document: MaybeDocument<AnyDocument>;
  /** The document as it is in the store. */
  readonly stored: MaybeDocument<AnyDocument>;
  /** Whether the document has unsaved changes. */
  readonly dirty: boolean;
  /** Lists of entries that must be recomputed from the store before the document is written. */
  readonly stale_lists: ReadonlySet<List>;
}

export const NO_LISTS: ReadonlySet<List> = new Set();

/** Returns the working document of an id that is not stored. */
export function absent(collection: CollectionName, id: string): WorkingDocument {
  const nothing = { stored_at: undefined, document: undefined, stored: undefined };
  return { collection, id, ...nothing, dirty: false, stale_lists: NO_LISTS };
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

function lengthOfTexts(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let length = 0;
  for (const name in value) length += lengthOfTexts((value as Readonly<Record<string, unknown>>)[name]);
  return length;
}

/** Returns the write of a document, which must exist or be deleted, in a batch that ends at `checkpoint`. */
export function toWrite(working: WorkingDocument, checkpoint: Position): DocumentWrite {
  const { collection, id, stored_at, document } = working;
  return {
    collection,
    id,
    position: nextPosition(working, checkpoint),
    document: (document ?? null) as ViewDocument | null,
    is_new: stored_at === undefined,
  };
}

/** Returns the working document after its `toWrite` is durable. */
export function afterWrite(working: WorkingDocument, checkpoint: Position): WorkingDocument {
  const { document } = working;
  return { ...working, stored_at: nextPosition(working, checkpoint), stored: document, dirty: false };
}

/** Returns the position to store the document with. Each write must increase it, also one that moves no checkpoint. */
function nextPosition({ stored_at = START }: WorkingDocument, checkpoint: Position): Position {
  return greatest([checkpoint, stored_at + 1n]);
}
