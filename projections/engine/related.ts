import type { CollectionName } from '../../shared/catalog/documents';
import { type Entry, EXPANDED_BYTES_MAX, type Key } from '../../shared/catalog/stored-document';
import type { Embed, EmbedsMany, EmbedsOne } from '../views/relation';
import type { AnyDocument, MaybeDocument } from '../views/view';
import { placeEntry, reorderEntries } from './entries';
import { type List, namedIn, type ParentRelation, plans } from './plan';

/*
 * Pure functions that update the embeds, lists and counts of a document. Documents are immutable. If nothing changes, a
 * function returns the same object, so `===` tells whether a document or one of its fields has changed.
 */

type Fields = Readonly<Record<string, unknown>>;

/** A child document before and after an event. Null if it is absent, deleted or a placeholder. */
export interface Transition {
  readonly before: AnyDocument | null;
  readonly after: AnyDocument | null;
}

/** A document after a change. */
export interface ChangeResult {
  readonly document: MaybeDocument<AnyDocument>;
  /** The lists of the document that must be recomputed from the store because of the change. */
  readonly made_stale: readonly List[];
}

/**
 * Returns the state of the document's own aggregate. Returns undefined if the document is absent, deleted or a
 * placeholder.
 */
function aggregateOf(collection: CollectionName, document: MaybeDocument<AnyDocument>): Fields | undefined {
  const { view } = plans[collection];
  if (!document || !view?.aggregate) return undefined;
  return ((document.state as Fields)[view.aggregate] as Fields | null) ?? undefined;
}

/**
 * Returns the document, or null if it is absent, deleted or a placeholder. Other documents do not embed, list or count
 * such a document.
 */
export function existingOrNull(
  collection: CollectionName,
  document: MaybeDocument<AnyDocument>,
): AnyDocument | null {
  if (!document) return null;
  const is_placeholder =
    plans[collection].view?.placeholder !== undefined && !aggregateOf(collection, document);
  return is_placeholder ? null : document;
}

/**
 * Returns the ids of the documents to embed, from a field of the document's aggregate. Documents with these ids may not
 * exist. Returns the same array until the field changes.
 */
export function embeddedIds(
  { collection, field }: Pick<EmbedsMany, 'collection' | 'field'>,
  document: MaybeDocument<AnyDocument>,
): readonly string[] {
  return (aggregateOf(collection, document)?.[field] as readonly string[] | undefined) ?? NO_IDS;
}

/** One array for all documents without ids, so that `===` treats their ids as unchanged. */
const NO_IDS: readonly string[] = [];

/** Returns the ids of the parents that the child names. Parents with these ids may not exist. */
export function parentIdsOf(
  { child, named_in }: Pick<ParentRelation, 'child' | 'named_in'>,
  document: MaybeDocument<AnyDocument>,
): readonly string[] {
  if ('field' in named_in) return embeddedIds({ collection: child, field: named_in.field }, document);
  const id = document?.keys[named_in.key];
  return typeof id === 'string' ? [id] : NO_IDS;
}

/** Whether the parents list the child, and the child names them in a field. */
export const isFieldList = (
  relation: ParentRelation,
): relation is ParentRelation & { readonly named_in: { readonly field: string } } =>
  'field' in relation.named_in && relation.lists.length > 0;

/** Whether another document lists this one, which names it in a field. */
export const isListedByField = (collection: CollectionName, document: MaybeDocument<AnyDocument>): boolean =>
  plans[collection].parents.some(
    (relation) => isFieldList(relation) && parentIdsOf(relation, document).length > 0,
  );

/**
 * Returns the ids of a child's parents before and after its change, which differ if the child was moved. Returns none if
 * the parents only count the child and all counts stay the same. Such parents may not have been loaded.
 */
export function changedParentIds(relation: ParentRelation, { before, after }: Transition): Iterable<string> {
  const old_ids = parentIdsOf(relation, before);
  const new_ids = parentIdsOf(relation, after);
  const changes_no_parent =
    old_ids === new_ids &&
    relation.lists.length === 0 &&
    relation.counts.every(
      ({ facetOf }) => before && after && old_ids.every((id) => facetOf(before, id) === facetOf(after, id)),
    );
  return changes_no_parent ? NO_IDS : new Set([...old_ids, ...new_ids]);
}

/**
 * Returns the document after an event of its own stream, with its embeds and lists updated.
 *
 * @param before The document before the event.
 * @param folded The document that the view returned for the event.
 * @param find Returns a document in memory. The documents that `folded` embeds and `before` does not must be there.
 */
export function afterOwnEvent(
  collection: CollectionName,
  before: MaybeDocument<AnyDocument>,
  folded: AnyDocument,
  find: (collection: CollectionName, id: string) => MaybeDocument<AnyDocument>,
): ChangeResult {
  const plan = plans[collection];
  const old_aggregate = aggregateOf(collection, before);
  const new_aggregate = aggregateOf(collection, folded);
  let document = folded;
  for (const relation of plan.embedsOne) {
    const id = (new_aggregate?.[relation.key] as string | null | undefined) ?? null;
    // The event does not change the target. The embed is therefore up to date.
    if (old_aggregate && old_aggregate[relation.key] === id) continue;
    document = setTarget(document, relation, id, id === null ? null : find(relation.target, id));
  }
  for (const relation of plan.embedsMany) {
    // The same array: the event does not change the ids.
    if (new_aggregate?.[relation.field] === old_aggregate?.[relation.field]) continue;
    const ids = embeddedIds(relation, document);
    // A new document has no embeds yet. This saves a copy for most new documents.
    if (ids.length === 0 && !before) continue;
    const embeds = ids.flatMap((id) => toEmbedOrNull(document, relation, find(relation.target, id)) ?? []);
    document = withExpansion(document, relation.name, embeds);
  }
  const made_stale: List[] = [];
  if (before)
    for (const list of plan.lists) {
      const order = list.relation.orderOf(document);
      if (order === list.relation.orderOf(before)) continue;
      const total = totalOf(document, list);
      const reordered = reorderEntries(entriesOf(document, list), { total, order });
      document = withEntries(document, list, reordered.entries);
      if (reordered.must_recompute) made_stale.push(list);
    }
  return { document: derived(collection, document), made_stale };
}

/**
 * Makes `document` embed `target`, the document with this id. If there is no id, or if `target` belongs to another store,
 * the key and the embed become null. If `target` does not exist yet or is deleted, only the embed becomes null: the key
 * contains the id, so that `target` can be embedded when it is created or restored.
 */
function setTarget(
  document: AnyDocument,
  relation: EmbedsOne,
  id: string | null,
  target: MaybeDocument<AnyDocument>,
): AnyDocument {
  const existing = existingOrNull(relation.target, target);
  if (!existing) return withEmbed(document, relation, id, null);
  if (!isSameStore(existing, document)) return withEmbed(document, relation, null, null);
  return withEmbed(document, relation, id, relation.toEmbed(existing));
}

/**
 * Returns `document` with the embed of the document with this id updated. `target` is that document after its change,
 * or null if it was deleted. Keeps an embed of the same or a newer version, so that a repeated sweep changes nothing.
 */
export function updateEmbedsOne(
  document: AnyDocument,
  relation: EmbedsOne,
  id: string,
  target: AnyDocument | null,
): AnyDocument {
  if (document.keys[relation.key] !== id) return document;
  const embed = target === null ? null : relation.toEmbed(target);
  const current = (document.expansions as Fields)[relation.name] as Embed | null;
  if (embed && current && current.version >= embed.version) return document;
  const changed = withEmbed(document, relation, id, embed);
  return changed === document ? document : derived(relation.collection, changed);
}

function derived(collection: CollectionName, document: AnyDocument): AnyDocument {
  return plans[collection].view?.derive?.(document) ?? document;
}

function withEmbed(
  document: AnyDocument,
  { name, key }: EmbedsOne,
  id: Key,
  embed: Embed | null,
): AnyDocument {
  if (document.keys[key] === id && (document.expansions as Fields)[name] === embed) return document;
  return withExpansion({ ...document, keys: withField(document.keys, key, id) }, name, embed);
}

/**
 * Returns `document` with the embed of the document with this id updated. `target` is that document after it was created,
 * changed or deleted. Keeps an embed of the same or a newer version.
 */
export function updateEmbedsMany(
  document: AnyDocument,
  relation: EmbedsMany,
  id: string,
  target: MaybeDocument<AnyDocument>,
): AnyDocument {
  const ids = embeddedIds(relation, document);
  if (!ids.includes(id)) return document;
  const embeds = (document.expansions as Fields)[relation.name] as readonly Embed[];
  const current = embeds.find((embed) => embed.id === id);
  const after = toEmbedOrNull(document, relation, target);
  if (!current && !after) return document;
  if (current && after && current.version >= after.version) return document;
  const next = ids.flatMap((embedded_id) =>
    embedded_id === id ? (after ?? []) : embeds.filter((embed) => embed.id === embedded_id),
  );
  return derived(relation.collection, withExpansion(document, relation.name, next));
}

/** Returns null if `target` does not exist or belongs to another store. */
function toEmbedOrNull(
  document: AnyDocument,
  relation: EmbedsMany,
  target: MaybeDocument<AnyDocument>,
): Embed | null {
  const existing = existingOrNull(relation.target, target);
  return existing && isSameStore(existing, document) ? relation.toEmbed(existing) : null;
}

/**
 * Whether the parent is of the child's store. The parent may be a placeholder: that of a deleted document has its store in
 * `deleted_in`, and one without a store takes that of its first child.
 */
function isSameStore(parent: AnyDocument, child: AnyDocument): boolean {
  const store_id = parent.keys.store_id ?? parent.keys.deleted_in ?? child.keys.store_id;
  return store_id === child.keys.store_id;
}

/**
 * Returns the parent after a child was created, changed, moved or deleted. `before` is the parent before that. A deleted
 * parent (null) stays deleted. An absent parent becomes a placeholder, unless nothing is counted or listed in it.
 */
export function afterChildChange(
  relation: ParentRelation,
  parent_id: string,
  before: MaybeDocument<AnyDocument>,
  child_id: string,
  child: Transition,
): ChangeResult {
  const { counts, lists } = relation;
  const { view } = plans[relation.collection];
  const start = before ?? view?.placeholder;
  if (before === null || !start) return { document: before, made_stale: [] };
  // Null if the document is no child of this parent.
  const asChild = (document: AnyDocument | null): AnyDocument | null =>
    document && isParent(relation, parent_id, start, document) ? document : null;
  const old_child = asChild(child.before);
  const new_child = asChild(child.after);
  let document = start;
  for (const { name, facetOf, add } of counts) {
    const old_facet = old_child && facetOf(old_child, parent_id);
    const new_facet = new_child && facetOf(new_child, parent_id);
    if (old_facet === new_facet) continue;
    let counted = (document.state as Fields)[name];
    if (old_facet !== null) counted = add(counted, old_facet, -1);
    if (new_facet !== null) counted = add(counted, new_facet, 1);
    document = { ...document, state: withField(document.state as Fields, name, counted) };
  }
  const made_stale: List[] = [];
  for (const list of lists) {
    // Of all places in which the list's items name the parent: an item may change from one to another.
    const places = namedIn(list.relation).map((named_in) => ({ ...relation, named_in }));
    const isListed = (item: AnyDocument | null): item is AnyDocument =>
      item !== null &&
      isItemOf(list, item) &&
      places.some((place) => isParent(place, parent_id, start, item));
    if (!isListed(child.before) && !isListed(child.after)) continue;
    const entries = entriesOf(document, list);
    const entry = isListed(child.after) ? entryOf(list, parent_id, child_id, child.after) : null;
    const changed = placeEntry(entries, child_id, entry, {
      max: list.relation.max,
      max_bytes: EXPANDED_BYTES_MAX,
      total_before: totalOf(start, list),
      total: totalOf(document, list),
      order: list.relation.orderOf(document),
    });
    if (changed.entries !== entries) document = withEntries(document, list, changed.entries);
    if (changed.must_recompute) made_stale.push(list);
  }
  // Nothing changed: an absent parent stays absent.
  if (document === start) return { document: before, made_stale };
  return { document: derived(relation.collection, document), made_stale };
}

/** Returns whether the child names this parent. If the child embeds the parent, both must belong to the same store. */
function isParent(
  relation: ParentRelation,
  parent_id: string,
  parent: AnyDocument,
  child: AnyDocument,
): boolean {
  if (!parentIdsOf(relation, child).includes(parent_id)) return false;
  return !('field' in relation.named_in) || isSameStore(parent, child);
}

const isItemOf = ({ visibility }: List, child: AnyDocument): boolean =>
  visibility === null || child.keys.visibility === visibility;

/** Returns the document as an entry of the list of document `parent_id`. */
export function entryOf({ relation }: List, parent_id: string, id: string, document: AnyDocument): Entry {
  const body = relation.entryBody?.(document, parent_id) ?? (document.body as Entry['body']);
  return { id, keys: relation.entryKeys?.(document.keys, parent_id) ?? document.keys, body };
}

function totalOf(document: AnyDocument, { relation, visibility }: List): number {
  return relation.totalOf(document, visibility);
}

/** Returns one list. If `visibility` is null, the expansion is this list. Otherwise it has a list for each visibility. */
function entriesOf({ expansions }: AnyDocument, { relation: { name }, visibility }: List): readonly Entry[] {
  const expansion = (expansions as Fields)[name];
  return (visibility === null ? expansion : (expansion as Fields)[visibility]) as readonly Entry[];
}

export function withEntries(
  document: AnyDocument,
  { relation: { name }, visibility }: List,
  entries: readonly Entry[],
): AnyDocument {
  if (visibility === null) return withExpansion(document, name, entries);
  return withExpansion(
    document,
    name,
    withField((document.expansions as Fields)[name] as Fields, visibility, entries),
  );
}

function withExpansion(document: AnyDocument, name: string, expansion: unknown): AnyDocument {
  return { ...document, expansions: withField(document.expansions as Fields, name, expansion) };
}

/** Returns a copy with one field set. Assigning to a copy is much faster than `{ ...fields, [name]: value }`. */
function withField<Value>(
  fields: Readonly<Record<string, Value>>,
  name: string,
  value: Value,
): Record<string, Value> {
  const copy = { ...fields };
  copy[name] = value;
  return copy;
}
