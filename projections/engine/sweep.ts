import type { CollectionName, StoredDocument } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import type { ViewVersion } from '../../shared/ports/view-store';
import type { EmbedsOne, ReverseIndex } from '../views/relation';
import type { AnyDocument, MaybeDocument } from '../views/view';
import { decodedOrUndefined } from './decoded';
import { inView } from './errors';
import { applyOwnEvent, updateEmbedIn, updateEmbedOneIn } from './fold';
import { loadWithParents } from './load';
import { pagesOf } from './pages';
import { plans, viewsOf } from './plan';
import { existingOrNull, isListedByField } from './related';
import { embeddingAddressOf, referencesTo } from './reverse-index';
import type { UnitOfWork } from './unit-of-work';

/**
 * A change of one document (the target) that must be copied into many embedding documents. The engine updates the
 * embedding documents first, chunk by chunk, and only then the target. Repeating a sweep, or some of its chunks,
 * changes nothing, because only a newer version replaces an embed.
 */
export interface Sweep {
  readonly collection: CollectionName;
  readonly id: string;
  /** The target after the events. Null if the events delete it. */
  readonly document: MaybeDocument<AnyDocument>;
  /** Number of events that the sweep covers. A PATCH request may append several events at once. */
  readonly length: number;
  /** The `embedsOne` relations through which at least one document embeds the target. */
  readonly embedsOne: readonly EmbedsOne[];
  /** The reverse indexes that may contain references to the target. */
  readonly indexes: readonly ReverseIndex[];
  /** The store of the target. */
  readonly store_id: string;
}

/** Maximum number of events that one sweep covers. */
const LENGTH_MAX = 16;

/**
 * Returns the sweep that the event at `index` needs, or undefined if it needs none. The sweep also covers the events of
 * the same stream that directly follow.
 */
export function sweepFor(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  index: number,
): Sweep | undefined {
  const decoded = decodedOrUndefined(events[index]!);
  // The first view of a category folds the document that has the id of the stream.
  const view = decoded && viewsOf(decoded.category)[0];
  if (!decoded || !view) return undefined;
  const { category, id } = decoded;
  const { collection } = view;
  const before = unit.read(collection, id);
  const embedsOne = before
    ? plans[collection].incomingEmbedsOne.filter((relation) => relation.countEmbeddingDocuments(before) > 0)
    : [];
  // Also with `embedsOne`: the target may turn out to be crowded when its documents are loaded again after the sweep.
  const indexes =
    embedsOne.length > 0 || unit.isCrowded(id)
      ? [...new Set(plans[collection].incomingEmbedsMany.map((relation) => relation.index))]
      : [];
  if (embedsOne.length === 0 && indexes.length === 0) return undefined;

  let document = before;
  let length = 0;
  for (const recorded of events.slice(index, index + LENGTH_MAX)) {
    const next = decodedOrUndefined(recorded);
    if (next?.category !== category || next.id !== id) break;
    try {
      document = applyOwnEvent(view, document, recorded, next);
    } catch {
      // The sweep ends before an event that fails. Folding the event by itself reports the failure.
      break;
    }
    length++;
  }
  if (document === undefined || document === before) return undefined;
  return {
    collection,
    id,
    document,
    length,
    embedsOne,
    indexes,
    store_id: events[index]!.metadata.partition_key,
  };
}

/** Calls `update` with a new unit of work, and writes the documents that `update` changed. */
export type WriteChunk = (update: (unit: UnitOfWork) => unknown) => Promise<void>;

/** Copies the change into all embedding documents of the version. */
export async function runSweep(sweep: Sweep, version: ViewVersion, writeChunk: WriteChunk): Promise<void> {
  const { id, store_id, embedsOne, indexes } = sweep;
  for (const relation of embedsOne)
    for await (const page of pagesOf(version, relation.collection, { [relation.key]: id }))
      await writeChunk((unit) => sweepEmbedsOne(unit, relation, sweep, page));
  for (const index of indexes)
    for await (const page of pagesOf(version, index.collection, referencesTo(index, id, store_id)))
      await writeChunk((unit) => sweepEmbedsMany(unit, sweep, page));
}

/** Updates the documents that embed the target through the relation. */
async function sweepEmbedsOne(
  unit: UnitOfWork,
  relation: EmbedsOne,
  { collection, id, document }: Sweep,
  embedding: readonly StoredDocument[],
): Promise<void> {
  const target = existingOrNull(collection, document);
  for (const stored of embedding) unit.addStored(relation.collection, stored);
  const listed = embedding.filter((stored) => isListedByField(relation.collection, stored.document));
  await loadWithParents(
    unit,
    listed.map((stored) => ({ collection: relation.collection, id: stored.id })),
  );
  for (const stored of embedding) inView(() => updateEmbedOneIn(unit, relation, stored.id, id, target));
}

/** Updates the documents that embed the target according to these references. */
async function sweepEmbedsMany(
  unit: UnitOfWork,
  { collection, id, document }: Sweep,
  references: readonly StoredDocument[],
): Promise<void> {
  const embedding = references.flatMap((reference) =>
    reference.document ? [embeddingAddressOf(reference.document)] : [],
  );
  await loadWithParents(unit, embedding);
  for (const embedding_document of embedding)
    inView(() => updateEmbedIn(unit, embedding_document, collection, id, document));
}
