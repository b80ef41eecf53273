import type { PageCuts } from '../../shared/api/responses/envelopes';
import type { DocumentOf, StoredDocument } from '../../shared/catalog/documents';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { JsonText } from '../../shared/catalog/json-text';
import {
  keysWithoutListings,
  type PublicationDocument,
  placesOf,
} from '../../shared/catalog/publication/document';
import type { Answer, ApiRequest, Presentation } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import { endLongTurn, Semaphore } from '../../shared/kernel/async';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { DocumentPart } from '../../shared/ports/view-store';
import { endOf, type ListPlace } from './list-place';
import { isExpanded, type Presented, partsFor, presentListing, presentPublication } from './present';
import type { ReadQuery } from './read';

/** The most JSON in an answer, in bytes before compression (docs/interface/reads.md#size-of-an-answer). */
const ANSWER_BYTES_MAX = 8_000_000;
/** For the envelope, `meta`, and the collections of 50 items without their `data`. */
const RESERVED_BYTES = 50_000;
/** Answers with more bytes of expansions are made one at a time, to bound memory. */
const LARGE_BYTES = 250_000;
/** The most items whose expansions are read together. MongoDB reads them in one request. */
const READ_TOGETHER_MAX = 8;

const ITEMS = {
  listing: { collection: 'listings', present: presentListing },
  publication: { collection: 'publications', present: presentPublication },
} as const;

type ItemName = keyof typeof ITEMS;
type ItemDocument<Name extends ItemName> = DocumentOf<(typeof ITEMS)[Name]['collection']>;

/** How an item is presented whose expansions were not read. */
const NO_EXPANSIONS = {
  ...{ publications: { public: [], private: [] }, listing: null, listings: [] },
  ...{ media: [], variants: [] },
};

interface PageItem<Document> {
  readonly id: string;
  readonly document: Document;
  readonly resource: JsonText;
}

/** Returns the document parts of a page for `pageItems`, which reads the expansions itself. */
export function partsOfPage(name: ItemName, query: ReadQuery): readonly DocumentPart[] {
  return partsFor(name, { ...query, expand: [] });
}

type StoredPublication = StoredDocument<PublicationDocument>;

/**
 * Returns the publications without the ids of deleted listings, which their keys contain. For `public`, the stored bodies
 * are right. Otherwise looks up the listings that the bodies do not name, because they are private or deleted.
 */
export async function withoutDeletedListings(
  version: DocumentReader,
  page: readonly StoredPublication[],
  { visibility }: Pick<ReadQuery, 'visibility'>,
): Promise<readonly StoredPublication[]> {
  if (visibility === 'public') return page;
  const named = page.flatMap(({ document }) => {
    if (!document) return [];
    const { keys, body } = document;
    const shown = new Set([body.listing_id, ...(body.listing_ids ?? [])]);
    return [...(keys.listing_id === null ? [] : [keys.listing_id]), ...placesOf(keys).keys()].filter(
      (id) => !shown.has(id),
    );
  });
  if (named.length === 0) return page;
  const found = await version.getMany('listings', [...new Set(named)]);
  const existing = new Set(found.filter(({ document }) => document?.keys.store_id).map(({ id }) => id));
  const deleted = new Set(named.filter((id) => !existing.has(id)));
  return page.map((stored) => {
    if (!stored.document || deleted.size === 0) return stored;
    const { keys, body, state, expansions } = stored.document;
    return { ...stored, document: { keys: keysWithoutListings(keys, deleted), body, state, expansions } };
  });
}

export interface PageSource {
  readonly version: DocumentReader;
  readonly as: Presentation;
  readonly request: Pick<ApiRequest, 'assertAwaited' | 'admitItems'>;
}

/**
 * Returns the answer with a page of a list (docs/interface/lists.md#pagination). `found`: the documents from the place on.
 * `keysOf` returns the keys by which an item is sorted.
 */
export async function pageAnswer<Name extends ItemName>(
  source: PageSource,
  name: Name,
  found: readonly StoredDocument<ItemDocument<Name>>[],
  query: ReadQuery,
  place: ListPlace,
  total: number,
  keysOf = (keys: ItemDocument<Name>['keys']): ItemDocument<Name>['keys'] => keys,
): Promise<Answer> {
  const { items, cuts } = await pageItems(source, name, found.slice(0, place.limit), query);
  const page = items.map(({ id, document }) => ({ id, keys: keysOf(document.keys) }));
  const end = { ...endOf(place, page, found.length > items.length), ...cuts };
  const { as } = source;
  return { data: items.map(({ resource }) => resource), meta: pageMeta({ ...place, total }, end), as };
}

/**
 * Returns the items of a page with their expansions, and what was left out to keep the JSON below `ANSWER_BYTES_MAX`.
 * The items come first: all of them fit unless most have the longest texts that are allowed. Expansions fill what
 * is left, in the order of the items. Throws `unavailable` when nobody waits for the answer any more.
 */
export async function pageItems<Name extends ItemName>(
  { version, request }: PageSource,
  name: Name,
  page: readonly StoredDocument<ItemDocument<Name>>[],
  query: ReadQuery,
): Promise<{ items: readonly PageItem<ItemDocument<Name>>[]; cuts: PageCuts }> {
  const present = ITEMS[name].present as (document: ItemDocument<Name>, query: ReadQuery) => Presented;
  const shown =
    name === 'publication'
      ? await withoutDeletedListings(version, page as readonly StoredPublication[], query)
      : page;
  const found = (shown as typeof page).flatMap(({ id, document }) => (document ? [{ id, document }] : []));
  let bytes_left = ANSWER_BYTES_MAX - RESERVED_BYTES;
  const items: PageItem<ItemDocument<Name>>[] = [];
  for (const { id, document } of found) {
    const resource = textOf(present(document, { ...query, expand: [] }));
    bytes_left -= bytesOf(resource);
    if (bytes_left < 0) break;
    items.push({ id, document, resource });
  }
  const omitted = found.length - items.length;
  const omitted_items = omitted === 0 ? {} : { omitted_items: omitted };
  if (!isExpanded(name, query)) return { items, cuts: omitted_items };

  const expanded: PageItem<ItemDocument<Name>>[] = [];
  /** What was read of the next items. */
  const ahead: (StoredDocument<ItemDocument<ItemName>> | undefined)[] = [];
  let is_full = false;
  let shortened = 0;
  let count = 0;
  let largest_bytes = 0;
  const readMore = async (): Promise<void> => {
    // The size of the next items is unknown. So their number grows slowly, and fits the largest item so far.
    const fitting = Math.floor(LARGE_BYTES / largest_bytes);
    count = Math.max(1, Math.min(count * 2, READ_TOGETHER_MAX, fitting));
    const next = items.slice(expanded.length, expanded.length + count);
    const { collection } = ITEMS[name];
    ahead.push(...(await Promise.all(next.map(({ id }) => version.get(collection, id, ['expansions'])))));
  };
  /** Returns false, and adds nothing, if the next item needs more than `bytes_max`. */
  const expandNext = async (bytes_max: number): Promise<boolean> => {
    await endLongTurn();
    request.assertAwaited();
    const { id, document, resource } = items[expanded.length]!;
    if (!is_full && ahead.length === 0) await readMore();
    const stored = is_full ? undefined : ahead.shift();
    const { keys, body, state } = document;
    const expansions = stored?.document?.expansions ?? NO_EXPANSIONS;
    const complete = present({ keys, body, state, expansions } as ItemDocument<Name>, query) as JsonObject;
    let text = textOf(complete);
    const added = bytesOf(text) - bytesOf(resource);
    largest_bytes = Math.max(largest_bytes, added);
    if (added > bytes_max) {
      ahead.length = 0;
      return false;
    }
    is_full ||= added > bytes_left;
    if (is_full) {
      shortened++;
      text = textOf(shorten(complete, bytes_left));
      bytes_left = 0;
    } else bytes_left -= added;
    expanded.push({ id, document, resource: text });
    return true;
  };
  const large_below = bytes_left - LARGE_BYTES;
  while (expanded.length < items.length && (await expandNext(bytes_left - large_below)));
  if (expanded.length < items.length)
    await large_answers.run(async () => {
      while (expanded.length < items.length) await expandNext(Number.POSITIVE_INFINITY);
    });
  return {
    items: expanded,
    cuts: { ...omitted_items, ...(shortened > 0 && { shortened_items: shortened }) },
  };
}

const large_answers = new Semaphore(1);

/** Returns the resource with as many expanded items as fit into `bytes_max`. */
function shorten(resource: JsonObject, bytes_max: number): JsonObject {
  let bytes_left = bytes_max;
  const fits = (value: JsonValue): boolean => {
    bytes_left -= bytesOf(textOf(value)) + 1;
    return bytes_left >= 0;
  };
  const { publications, media, listing, variants, ...bare } = resource;
  const shortened: Record<string, JsonValue> = bare;
  if (publications !== undefined) shortened.publications = first(publications as JsonObject, fits);
  if (listing !== undefined && fits(listing)) shortened.listing = listing;
  if (media !== undefined) shortened.media = first(media as JsonObject, fits);
  if (variants !== undefined) shortened.variants = first(variants as JsonObject, fits);
  return shortened;
}

/** Returns the expanded collection with its first items that fit. */
function first(collection: JsonObject, fits: (item: JsonValue) => boolean): JsonObject {
  const items = collection.data as JsonValue[];
  const end = items.findIndex((item) => !fits(item));
  if (end === -1) return collection;
  return { ...collection, data: items.slice(0, end), has_more: true };
}

const textOf = (value: Presented | JsonValue): JsonText =>
  value instanceof JsonText ? value : new JsonText(JSON.stringify(value));

const bytesOf = ({ text }: JsonText): number => Buffer.byteLength(text);
