import type { CollectionName } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { type Decoded, decodedOrUndefined } from './decoded';
import { plans, talliesOf, viewsOf } from './plan';
import { embeddedIds, isFieldList, parentIdsOf } from './related';
import { type EmbeddingAddress, referenceId, referencesTo } from './reverse-index';
import type { UnitOfWork } from './unit-of-work';

type Ids = Map<CollectionName, Set<string>>;

/** A document of an event's own stream that other documents may embed. */
interface Embeddable {
  readonly collection: CollectionName;
  readonly id: string;
  /** The store of its stream. The document itself does not name its store if it is deleted or does not exist yet. */
  readonly store_id: string;
}

/** The ids of the documents that a batch of events names. */
interface NamedIds {
  readonly all: Ids;
  /**
   * Documents that the events may change: the own documents, their parents, and those to which tallies add. The
   * remaining documents in `all` are only read, because they may belong to another partition.
   */
  readonly changing: Ids;
  /** Documents of the events' own streams. */
  readonly own: Ids;
  /** Own documents that other documents may embed, by id. */
  readonly embeddable: Map<string, Embeddable>;
}

/**
 * Loads every document that folding these events may read, in three rounds: the documents that the events name, the
 * documents that embed these or that these embed, and the parents of both. If more than `embedding_max` documents embed
 * a document, marks that document as crowded and does not load the embedding documents. Skips events that cannot be
 * decoded.
 */
export async function loadDocumentsOf(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  embedding_max: number,
): Promise<void> {
  const named: NamedIds = { all: new Map(), changing: new Map(), own: new Map(), embeddable: new Map() };
  for (const event of events) {
    const decoded = decodedOrUndefined(event);
    if (decoded) addIdsOf(event.metadata.partition_key, decoded, named);
  }
  const { all, changing, own, embeddable } = named;
  await loadAll(unit, all);
  const embedding = await findEmbeddingDocuments(unit, [...embeddable.values()], embedding_max);
  for (const { collection, id } of embedding) addId(changing, collection, id);
  await Promise.all([loadAll(unit, changing), loadAll(unit, embeddedBy(unit, own))]);
  await loadParents(unit, changing);
}

/** Returns how many documents the event changes at most, without their parents and the documents that embed them. */
export function countDocumentsOf(event: RecordedEvent): number {
  const decoded = decodedOrUndefined(event);
  const tallied = decoded ? talliedIds(decoded).length : 0;
  return Math.max(tallied, 1);
}

/** Returns the documents of other streams to which the event adds. */
function talliedIds({ category, event }: Decoded): EmbeddingAddress[] {
  return talliesOf(category).flatMap(({ collection, numbersOf }) =>
    Object.keys(numbersOf(event)).map((id) => ({ collection, id })),
  );
}

/** Loads the embedding documents and their parents. */
export async function loadWithParents(
  unit: UnitOfWork,
  embedding: readonly EmbeddingAddress[],
): Promise<void> {
  const changing: Ids = new Map();
  for (const { collection, id } of embedding) addId(changing, collection, id);
  await loadAll(unit, changing);
  await loadParents(unit, changing);
}

/**
 * Adds the documents that the event names: the documents of its own stream, and the documents whose ids are in the
 * fields of the declared relations. `store_id`: the store of the event.
 */
function addIdsOf(store_id: string, decoded: Decoded, named: NamedIds): void {
  const { category, id: stream_id, event } = decoded;
  const { all, changing, own, embeddable } = named;
  for (const { collection, id } of talliedIds(decoded))
    for (const ids of [all, changing]) addId(ids, collection, id);
  const data = event.data as Readonly<Record<string, unknown>>;
  for (const { collection, idOf } of viewsOf(category)) {
    const id = idOf ? idOf(event) : stream_id;
    if (id === undefined) continue;
    const plan = plans[collection];
    for (const ids of [all, changing, own]) addId(ids, collection, id);
    for (const relation of plan.parents)
      for (const ids of [all, changing])
        if ('key' in relation.named_in) addId(ids, relation.collection, data[relation.named_in.key]);
        else if (isFieldList(relation))
          for (const parent_id of listIn(data[relation.named_in.field]))
            addId(ids, relation.collection, parent_id);
    for (const { target, key } of plan.embedsOne) addId(all, target, data[key]);
    for (const { target, field, index } of plan.embedsMany)
      for (const target_id of listIn(data[field])) {
        addId(all, target, target_id);
        addId(all, index.collection, referenceId(String(target_id), id));
      }
    if (plan.incomingEmbedsMany.length > 0) embeddable.set(id, { collection, id, store_id });
  }
}

/**
 * Returns the ids of the documents that these documents embed before the events, because they may count these documents,
 * and of the references to them.
 */
function embeddedBy(unit: UnitOfWork, own: Ids): Ids {
  const embedded: Ids = new Map();
  for (const [collection, ids] of own)
    for (const relation of plans[collection].embedsMany)
      for (const id of ids)
        for (const target_id of embeddedIds(relation, unit.read(collection, id))) {
          addId(embedded, relation.target, target_id);
          addId(embedded, relation.index.collection, referenceId(target_id, id));
        }
  return embedded;
}

/** More than the references to any document. */
const REFERENCES_MAX = 10_000_000;

/**
 * Returns the documents that embed these. Returns none for a crowded document. A document that does not exist yet is
 * never crowded: when it is created, it counts the documents that embed it. Uses a reference in memory rather than the
 * stored one, because the one in memory may have unsaved changes.
 */
async function findEmbeddingDocuments(
  unit: UnitOfWork,
  embeddable: readonly Embeddable[],
  embedding_max: number,
): Promise<EmbeddingAddress[]> {
  const found = await Promise.all(
    embeddable.map(async ({ collection, id, store_id }) => {
      const max = unit.read(collection, id) === undefined ? REFERENCES_MAX : embedding_max;
      for (const index of new Set(plans[collection].incomingEmbedsMany.map((relation) => relation.index))) {
        const where = referencesTo(index, id, store_id);
        const references = await unit.version.scan(index.collection, { where, limit: max + 1 });
        if (references.length > max) unit.markCrowded(id);
        else
          for (const reference of references)
            if (!unit.isLoaded(index.collection, reference.id)) unit.addStored(index.collection, reference);
      }
      return unit.isCrowded(id) ? [] : unit.embeddingDocumentsOf(id);
    }),
  );
  return found.flat();
}

/**
 * Loads the parents of the documents, then the parents of these parents, and so on: also those of a parent that was loaded
 * for another reason.
 */
async function loadParents(unit: UnitOfWork, children: Ids): Promise<void> {
  const visited: Ids = new Map();
  for (let round = children; round.size > 0; ) {
    const next: Ids = new Map();
    // Of parents that only count, in a field, those whose counts change are loaded as documents that are embedded.
    for (const [collection, ids] of round)
      for (const relation of plans[collection].parents)
        for (const id of 'key' in relation.named_in || isFieldList(relation) ? ids : [])
          for (const parent_id of parentIdsOf(relation, unit.read(collection, id)))
            if (!visited.get(relation.collection)?.has(parent_id))
              for (const found of [visited, next]) addId(found, relation.collection, parent_id);
    await loadAll(unit, next);
    round = next;
  }
}

async function loadAll(unit: UnitOfWork, ids: Ids): Promise<void> {
  await Promise.all(
    [...ids].map(([collection, ids_of_collection]) => unit.load(collection, ids_of_collection)),
  );
}

/** Returns the ids in a field of an event, which may lack it. */
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Adds the id. Ignores a value that is not a string, such as an empty field of an event. */
function addId(ids: Ids, collection: CollectionName, id: unknown): void {
  if (typeof id !== 'string') return;
  const set = ids.get(collection);
  if (set) set.add(id);
  else ids.set(collection, new Set([id]));
}
