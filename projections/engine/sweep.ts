import type { CollectionName, StoredDocument } from '../../shared/catalog/documents';
import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { PageSize } from '../../shared/kernel/async';
import type { ViewQuery } from '../../shared/ports/view-store';
import type { EmbedsOne, ReverseIndex } from '../views/relation';
import type { AnyDocument, MaybeDocument } from '../views/view';
import { decodedOrUndefined } from './decoded';
import { inView } from './errors';
import { applyOwnEvent, updateEmbedIn } from './fold';
import { loadWithParents } from './load';
import { plans, viewsOf } from './plan';
import { existingOrNull, updateEmbedsOne } from './related';
import { embeddingAddressOf, referencesTo } from './reverse-index';
import type { UnitOfWork } from './unit-of-work';
import { textLengthOfPage } from './working-document';

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
  /** Position of the last event that the sweep covers. */
  readonly last: Position;
  /** Number of events that the sweep covers. A PATCH request may append several events at once. */
  readonly length: number;
  /** The `embedsOne` relations through which at least one document embeds the target. */
  readonly embedsOne: readonly EmbedsOne[];
  /** If the target is crowded: the reverse indexes that contain references to it. */
  readonly indexes: readonly ReverseIndex[];
  /** The store of the target. */
  readonly store_id: string;
}

/** Number of documents per chunk. */
const CHUNK_SIZE = 500;
/** Maximum size of a chunk, in characters. One document may be larger. */
const CHUNK_LENGTH_MAX = 16_000_000;

/** Maximum number of events that one sweep covers. */
const LENGTH_MAX = 16;

/**
 * Returns the sweep that the event at `index` needs, or undefined. The sweep also covers the events of the same stream
 * that directly follow.
 */
export function sweepFor(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  index: number,
): Sweep | undefined {
  const decoded = decodedOrUndefined(events[index]!);
  const view = decoded && viewsOf(decoded.category)[0];
  if (!decoded || !view) return undefined;
  const { category, id } = decoded;
  const { collection } = view;
  const before = unit.read(collection, id);
  const embedsOne = before
    ? plans[collection].incomingEmbedsOne.filter((relation) => relation.countEmbeddingDocuments(before) > 0)
    : [];
  const indexes = unit.isCrowded(id)
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
    ...{ collection, id, document, length, embedsOne, indexes },
    last: events[index + length - 1]!.position,
    store_id: events[index]!.metadata.partition_key,
  };
}

/** Calls `fold` with a new unit of work, writes the documents that `fold` changed, and returns what `fold` returned. */
export type WriteChunk = (fold: (unit: UnitOfWork) => Promise<StoredDocument[]>) => Promise<StoredDocument[]>;

/** Copies the change into all embedding documents. */
export async function runSweep(sweep: Sweep, writeChunk: WriteChunk): Promise<void> {
  for (const relation of sweep.embedsOne)
    await forEachPage((page) => writeChunk((unit) => sweepEmbedsOne(unit, relation, sweep, page)));
  for (const index of sweep.indexes)
    await forEachPage((page) => writeChunk((unit) => sweepEmbedsMany(unit, index, sweep, page)));
}

type Page = { readonly after_id?: string; readonly limit: number };

/** Calls `handle` for each page of documents, in order of id. `handle` returns the documents of the page. */
async function forEachPage(handle: (page: Page) => Promise<StoredDocument[]>): Promise<void> {
  const page_size = new PageSize({ items_max: CHUNK_SIZE, length_max: CHUNK_LENGTH_MAX });
  for (let after_id: string | undefined; ; ) {
    const limit = page_size.items;
    const documents = await handle({ limit, ...(after_id === undefined ? {} : { after_id }) });
    after_id = documents.at(-1)?.id;
    if (documents.length < limit || after_id === undefined) return;
    page_size.report(documents.length, textLengthOfPage(documents));
  }
}

/** Updates one page of the documents that embed the target through the relation. Returns the page. */
async function sweepEmbedsOne(
  unit: UnitOfWork,
  relation: EmbedsOne,
  { collection, id, document, last }: Sweep,
  page: Page,
): Promise<StoredDocument[]> {
  const where: ViewQuery['where'] = { [relation.key]: id };
  const embedding = await unit.version.scan(relation.collection, { where, ...page });
  const target = existingOrNull(collection, document);
  unit.setCurrentEvent(last);
  for (const stored of embedding) {
    unit.addStored(relation.collection, stored);
    const before = unit.read(relation.collection, stored.id);
    if (!before) continue;
    unit.set(
      relation.collection,
      stored.id,
      inView(() => updateEmbedsOne(before, relation, id, target)),
    );
  }
  return embedding;
}

/** Updates the documents that embed the target according to one page of references. Returns the page. */
async function sweepEmbedsMany(
  unit: UnitOfWork,
  index: ReverseIndex,
  { collection, id, document, last, store_id }: Sweep,
  page: Page,
): Promise<StoredDocument[]> {
  const references = await unit.version.scan(index.collection, {
    where: referencesTo(index, id, store_id),
    ...page,
  });
  const embedding = references.flatMap((reference) =>
    reference.document ? [embeddingAddressOf(reference.document)] : [],
  );
  await loadWithParents(unit, embedding);
  unit.setCurrentEvent(last);
  for (const embedding_document of embedding)
    inView(() => updateEmbedIn(unit, embedding_document, collection, id, document));
  return references;
}
