import type { CollectionName } from '../../shared/catalog/documents';
import type { Entry, Key } from '../../shared/catalog/stored-document';
import type { Embed, EmbedsMany, EmbedsOne } from '../views/relation';
import type { AnyDocument, Known } from '../views/view';
import { placeEntry, reorderEntries } from './entries';
import { type List, type Parents, plans } from './plan';

/*
 * What a document shows of others, as pure changes of it.
 */

type Fields = Readonly<Record<string, unknown>>;

/** What an event did to a document that others show; null where there is nothing to show. */
export interface Transition {
  readonly before: AnyDocument | null;
  readonly after: AnyDocument | null;
}

/** A document after a change, and the lists in it that only the stored documents can complete. */
export interface Reaction {
  readonly document: Known<AnyDocument>;
  readonly incomplete: readonly List[];
}

const unchanged = (document: Known<AnyDocument>): Reaction => ({ document, incomplete: [] });

/** What the document's own stream says; undefined in a shell, and where there is no document. */
function aggregateOf(collection: CollectionName, document: Known<AnyDocument>): Fields | undefined {
  const { view } = plans[collection];
  if (!document || !view?.aggregate) return undefined;
  return ((document.state as Fields)[view.aggregate] as Fields | null) ?? undefined;
}

/** What others see of the document: null where it is deleted or a shell. */
export function shownOf(collection: CollectionName, document: Known<AnyDocument>): AnyDocument | null {
  if (!document) return null;
  const shell = plans[collection].view?.shell !== undefined && !aggregateOf(collection, document);
  return shell ? null : document;
}

/** The ids that the document lists of those it embeds, whether they exist or not. */
export function idsIn({ in: collection, by }: EmbedsMany, document: Known<AnyDocument>): readonly string[] {
  return (aggregateOf(collection, document)?.[by] as readonly string[] | undefined) ?? NO_IDS;
}

const NO_IDS: readonly string[] = [];

/**
 * The document after an event of its own stream. `before` is what it was, `folded` what its view made of it; `find` looks
 * up those that it begins to embed.
 */
export function afterOwnEvent(
  collection: CollectionName,
  before: Known<AnyDocument>,
  folded: AnyDocument,
  find: (collection: CollectionName, id: string) => Known<AnyDocument>,
): Reaction {
  const plan = plans[collection];
  const said = aggregateOf(collection, before);
  const says = aggregateOf(collection, folded);
  let document = folded;
  for (const relation of plan.embedsOne) {
    const id = (says?.[relation.by] as string | null | undefined) ?? null;
    if (said && said[relation.by] === id) continue;
    document = attach(document, relation, id, id === null ? null : find(relation.of, id));
  }
  for (const relation of plan.embedsMany) {
    if (says?.[relation.by] === said?.[relation.by]) continue;
    const ids = idsIn(relation, document);
    // Most new documents embed nothing, and their views start with an empty list.
    if (ids.length === 0 && !before) continue;
    const embeds = ids.flatMap((id) => embedFor(document, relation, find(relation.of, id)) ?? []);
    document = withExpansion(document, relation.name, embeds);
  }
  const incomplete: List[] = [];
  if (before)
    for (const list of plan.lists) {
      const order = list.relation.order(document);
      if (order === list.relation.order(before)) continue;
      const placed = reorderEntries(entriesOf(document, list), shapeOf(document, list));
      document = withEntries(document, list, placed.list);
      if (placed.incomplete) incomplete.push(list);
    }
  return { document: plan.view?.derive?.(document) ?? document, incomplete };
}

/** One that was deleted, or is another store's, is none. One that has not come yet brings itself in when it comes. */
function attach(
  document: AnyDocument,
  relation: EmbedsOne,
  id: string | null,
  other: Known<AnyDocument>,
): AnyDocument {
  const shown = shownOf(relation.of, other);
  const none = other === null || (shown && !sameStore(shown, document));
  return withEmbed(document, relation, none ? null : id, none || !shown ? null : relation.as(shown));
}

/** The embedding document after the one that it embeds changed, or was deleted (null). */
export function withOne(
  document: AnyDocument,
  relation: EmbedsOne,
  id: string,
  other: AnyDocument | null,
): AnyDocument {
  if (document.keys[relation.by] !== id) return document;
  if (!other) return withEmbed(document, relation, null, null);
  const embed = relation.as(other);
  const known = (document.expansions as Fields)[relation.name] as Embed | null;
  return known && known.version >= embed.version ? document : withEmbed(document, relation, id, embed);
}

function withEmbed(
  document: AnyDocument,
  { name, by }: EmbedsOne,
  id: Key,
  embed: Embed | null,
): AnyDocument {
  if (document.keys[by] === id && (document.expansions as Fields)[name] === embed) return document;
  return withExpansion({ ...document, keys: withField(document.keys, by, id) }, name, embed);
}

/** The embedding document after one of those that it lists came, changed, or was deleted. */
export function withOneOfMany(
  document: AnyDocument,
  relation: EmbedsMany,
  id: string,
  other: Known<AnyDocument>,
): AnyDocument {
  const ids = idsIn(relation, document);
  const embeds = (document.expansions as Fields)[relation.name] as readonly Embed[];
  const known = embeds.find((embed) => embed.id === id);
  const after = embedFor(document, relation, other);
  if (!ids.includes(id) || (after ? known && known.version >= after.version : !known)) return document;
  const next = ids.flatMap((one) =>
    one === id ? (after ?? []) : embeds.filter((embed) => embed.id === one),
  );
  const changed = withExpansion(document, relation.name, next);
  return plans[relation.in].view?.derive?.(changed) ?? changed;
}

/** Null where the other does not exist or is another store's. */
function embedFor(document: AnyDocument, relation: EmbedsMany, other: Known<AnyDocument>): Embed | null {
  const shown = shownOf(relation.of, other);
  return shown && sameStore(shown, document) ? relation.as(shown) : null;
}

const sameStore = (a: AnyDocument, b: AnyDocument): boolean => a.keys.store_id === b.keys.store_id;

/** The parent after one of the documents that it counts or lists came, changed, moved or went. A deleted one stays so. */
export function reactTo(
  { collection, by, counts, lists }: Parents,
  parent_id: string,
  before: Known<AnyDocument>,
  id: string,
  transition: Transition,
): Reaction {
  const { view } = plans[collection];
  const start = before ?? view?.shell;
  if (before === null || !start) return unchanged(before);
  const was = transition.before?.keys[by] === parent_id ? transition.before : null;
  const is = transition.after?.keys[by] === parent_id ? transition.after : null;
  let document = start;
  for (const { name, facet, add } of counts) {
    const left = was && facet(was);
    const joined = is && facet(is);
    if (left === joined) continue;
    let counted = (document.state as Fields)[name];
    if (left !== null) counted = add(counted, left, -1);
    if (joined !== null) counted = add(counted, joined, 1);
    document = { ...document, state: withField(document.state as Fields, name, counted) };
  }
  const incomplete: List[] = [];
  for (const list of lists) {
    const { part } = list;
    const wasIn = was !== null && (part === null || was.keys.visibility === part);
    const isIn = is !== null && (part === null || is.keys.visibility === part);
    if (!wasIn && !isIn) continue;
    const entries = entriesOf(document, list);
    const placed = placeEntry(entries, id, isIn ? entryOf(list, id, is) : null, shapeOf(document, list));
    if (placed.list !== entries) document = withEntries(document, list, placed.list);
    if (placed.incomplete) incomplete.push(list);
  }
  if (document === start) return { document: before, incomplete };
  return { document: view?.derive?.(document) ?? document, incomplete };
}

/** The document as an entry of the list. */
export function entryOf({ relation }: List, id: string, document: AnyDocument): Entry {
  return { id, keys: document.keys, body: relation.as?.(document) ?? (document.body as Entry['body']) };
}

function shapeOf(document: AnyDocument, { relation, part }: List) {
  return { max: relation.max, total: relation.total(document, part), order: relation.order(document) };
}

function entriesOf({ expansions }: AnyDocument, { relation: { name }, part }: List): readonly Entry[] {
  const expansion = (expansions as Fields)[name];
  return (part === null ? expansion : (expansion as Fields)[part]) as readonly Entry[];
}

export function withEntries(
  document: AnyDocument,
  { relation: { name }, part }: List,
  entries: readonly Entry[],
): AnyDocument {
  if (part === null) return withExpansion(document, name, entries);
  return withExpansion(
    document,
    name,
    withField((document.expansions as Fields)[name] as Fields, part, entries),
  );
}

function withExpansion(document: AnyDocument, name: string, expansion: unknown): AnyDocument {
  return { ...document, expansions: withField(document.expansions as Fields, name, expansion) };
}

/** A copy with one field set. An assignment takes a fraction of the time of a computed name in the literal. */
function withField<Value>(
  fields: Readonly<Record<string, Value>>,
  name: string,
  value: Value,
): Record<string, Value> {
  const copy = { ...fields };
  copy[name] = value;
  return copy;
}
