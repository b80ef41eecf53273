import type { CollectionName, Key } from '../../shared/catalog/documents';
import {
  INACTIVE_PRICE_DOWN,
  INACTIVE_PRICE_UP,
  keysInCurrency,
  keysInLanguage,
  keysInListings,
  NOT_FEATURED,
  namePrefix,
  type PublicationDocument,
  type PublicationKeys,
  unpricedStep,
} from '../../shared/catalog/publication/document';
import { priceIn } from '../../shared/catalog/publication/prices';
import { variesIn } from '../../shared/catalog/search/words';
import { compareByOrder, orderOf, type SortOrder } from '../../shared/catalog/sorting';
import { type StoredDocument, TextDocument, type ViewDocument } from '../../shared/catalog/stored-document';
import type { ListSortMode } from '../../shared/catalog/vocabulary';
import { isSameValue } from '../../shared/kernel/same-value';
import { withMethods } from '../../shared/kernel/with-methods';
import type { DocumentReader } from '../../shared/ports/document-reader';
import {
  isUnitCondition,
  type OutsideCondition,
  type ViewQuery,
  type WordScope,
  type WordSearch,
  type WordTerms,
} from '../../shared/ports/view-store';
import { wordScope } from './read';

/*
 * Lists of publications by prices in another currency than the base currency of the store, or by titles in another language than
 * that of its default locale (docs/decisions/0038-prices-by-currency.md, 0037-translations.md). A publication that has a price in
 * the currency, or a title in the language, is in a variant of each of its lists. A list by price or by name has two runs: the
 * publications in the variant, and then all others in the order of their own prices or titles.
 */

type Where = ViewQuery['where'];
type Found = StoredDocument<PublicationDocument>;
/** The conditions for the publications of a list that are in its variant, or that are not, or for all of them. */
type Run = Where;

/** How a reader reads a variant of lists (`ListVariants`). */
interface VariantRules {
  readonly kind: 'currency' | 'language';
  readonly variant: string;
  /** The terms that replace the condition `varies_in` of a query. */
  readonly varied?: WordTerms | undefined;
  /** Returns the runs of a list, in their order. */
  runsOf(where: Where, order: SortOrder): Run[];
  /** Returns the keys that put publications of both runs into the order of the list. */
  keysOf(keys: PublicationKeys): PublicationKeys;
  /** Returns the stored value after which a run continues, for a value of `keysOf` in a cursor. */
  storedValueOf(key: string, value: Key, is_outside: boolean): Key;
}

/** Returns a reader that finds publications by their prices in the currency, and gives them keys with these prices. */
export const pricedReader = (version: DocumentReader, store_id: string, currency: string): DocumentReader =>
  variantReader(version, store_id, {
    kind: 'currency',
    variant: currency,
    varied: [[{ word: variesIn(currency) }]],
    keysOf: (keys) => keysInCurrency(keys, currency),
    storedValueOf: (key, value, is_outside) =>
      typeof value === 'number' && is_outside ? value - unpricedStep(key) : value,
    runsOf: (where, order) => {
      const { price_up, price_down, price_max, has_discount, ...others } = where;
      const { price_down: _, ...in_units } = inUnits(where, currency);
      const lowest = price_up ?? price_down;
      const priced = { ...in_units, ...(lowest !== undefined && { price_up: lowest }), currency };
      const unpriced = { ...others, currency: { outside: currency } };
      if (isSameValue(price_up, { gte: INACTIVE_PRICE_UP })) return has_discount === 1 ? [] : [unpriced];
      if (price_max === INACTIVE_PRICE_DOWN) return [];
      const is_by_price = order.some(([key]) => unpricedStep(key) !== 0);
      const is_priced = [price_up, price_down, price_max].some((one) => one !== undefined);
      if (is_priced || has_discount === 1) return [priced];
      if (is_by_price) return [priced, unpriced];
      if (has_discount === undefined) return [where];
      return [{ ...others, currency: { outside: currency, or_without: { has_discount: 1 } } }];
    },
  });

/** Sorts after all names. */
const LAST_NAME = '\u{10ffff}'.repeat(2);

/** Returns a reader whose lists by name are in the order of the titles in the language. */
export const namedReader = (
  version: DocumentReader,
  store_id: string,
  language: string,
  mode: ListSortMode,
): DocumentReader =>
  variantReader(version, store_id, {
    kind: 'language',
    variant: language,
    keysOf: (keys) => keysInLanguage(keys, language, mode),
    storedValueOf: (key, value, is_outside) => {
      if (key !== 'name_fold') return value;
      const name = String(value);
      const prefix = namePrefix(!is_outside, mode);
      if (name.startsWith(prefix)) return name.slice(prefix.length);
      return name < prefix ? '' : LAST_NAME;
    },
    runsOf: (where, order) => {
      if (!order.some(([key]) => key === 'name_fold')) return [where];
      return [
        { ...where, language },
        { ...where, language: { outside: language } },
      ];
    },
  });

function variantReader(version: DocumentReader, store_id: string, rules: VariantRules): DocumentReader {
  const { kind, variant, varied, runsOf } = rules;
  const isOutside = (run: Run): boolean => typeof run[kind] === 'object';

  /** Counts the publications outside the variant as the difference of two numbers, because buckets of lists have both. */
  async function countRun(run: Run): Promise<number> {
    const { [kind]: condition, ...others } = run;
    if (!isOutside(run)) return version.count('publications', run);
    const { or_without } = condition as OutsideCondition;
    const [all, without] = await Promise.all([
      version.count('publications', others),
      version.count('publications', { ...others, ...or_without, [kind]: variant }),
    ]);
    return all - without;
  }

  async function find(query: ViewQuery): Promise<Found[]> {
    const { varies_in, ...where } = query.where;
    const { visibility } = where as WordScope;
    const scope = { ...wordScope(store_id, 'all'), ...(visibility !== undefined && { visibility }) };
    if (varies_in !== undefined && varied)
      return (await search({ ...query, scope, where, tiers: [varied], is_exhaustive: true })).documents;
    return pageOf(query, runsOf(query.where, query.order), countRun, async (asked) => {
      // A list of several listings cannot be merged if it excludes a variant. A search reads it instead.
      if (!isOfSeveral(asked.where) || !isOutside(asked.where)) return version.find('publications', asked);
      const found = await version.search('publications', {
        ...asked,
        scope,
        tiers: [[]],
        is_exhaustive: true,
      });
      return found.documents;
    });
  }

  async function search(query: WordSearch) {
    const { varies_in, ...conditions } = query.where;
    const where = varied ? conditions : query.where;
    const { after: _, tiers, ...others } = query;
    const more = varies_in === undefined ? [] : (varied ?? []);
    const of_runs = { ...others, tiers: tiers.map((terms) => [...terms, ...more]) };
    const runs = runsOf(where, query.order);
    const totals = new Map<Run, number>();
    let is_complete = true;
    const read = async (asked: ViewQuery): Promise<Found[]> => {
      const found = await version.search('publications', { ...of_runs, ...asked });
      totals.set(asked.where, found.total);
      is_complete &&= found.is_complete;
      return found.documents;
    };
    // The index is in this order, so the search sorts nothing.
    const newest = { order: orderOf('created_at_desc'), skip: 0, limit: 1 };
    const countIn = async (run: Run): Promise<number> => {
      if (!totals.has(run)) await read({ ...newest, where: run });
      return totals.get(run)!;
    };
    const { skip = 0, total_max = Number.POSITIVE_INFINITY } = query;
    const limit = Math.max(0, Math.min(query.limit, total_max - skip));
    const documents = await pageOf({ ...query, where, limit }, runs, countIn, read);
    const counts = await Promise.all(runs.map(countIn));
    const total = counts.reduce((sum, count) => sum + count, 0);
    return { documents, total: Math.min(total, total_max), is_complete };
  }

  /** Reads a page of the sequence of runs. */
  async function pageOf(
    query: ViewQuery,
    runs: readonly Run[],
    count: (run: Run) => Promise<number>,
    read: (query: ViewQuery) => Promise<Found[]>,
  ): Promise<Found[]> {
    const { order, limit } = query;
    const readRun = async (where: Run, skip: number, limit: number): Promise<Found[]> => {
      const is_outside = isOutside(where);
      // If nothing is outside the variant, a read would pass over the whole list to find that out.
      if (is_outside && (await count(where)) === 0) return [];
      const shifted = query.after?.map((value, n) => rules.storedValueOf(order[n]![0], value, is_outside)!);
      // Publications that are not featured have one rank. Without it, the order is one that an index has.
      const has_one_rank = order[0]?.[0] === 'featured_rank' && where.featured_rank === NOT_FEATURED;
      const first = has_one_rank ? 1 : 0;
      // After a cursor at a featured publication, a run of others begins at its start.
      const after = has_one_rank && shifted?.[0] !== NOT_FEATURED ? undefined : shifted?.slice(first);
      const { after: _, ...others } = query;
      const run_order = (where[kind] === variant ? order.map(keyInVariant) : order).slice(first);
      const found = await read({ ...others, order: run_order, ...(after && { after }), where, skip, limit });
      return found.map((one) => withKeysOf(rules, one));
    };
    const listing_ids = listingsIn(query.where);
    const inLists = (keys: PublicationKeys) => (listing_ids ? keysInListings(keys, listing_ids) : keys);
    let { skip = 0 } = query;
    const page: Found[] = [];
    for (const part of partsOf(query, runs)) {
      const rest = limit - page.length;
      const found =
        part.length === 1
          ? await readRun(part[0]!, skip, rest)
          : (await Promise.all(part.map((run) => readRun(run, 0, skip + rest))))
              .flat()
              .map((one) => ({ one, id: one.id, keys: inLists(one.document!.keys) }))
              .sort((a, b) => compareByOrder(order, a, b))
              .slice(skip, skip + rest)
              .map(({ one }) => one);
      page.push(...found);
      if (page.length === limit) break;
      if (found.length > 0) skip = 0;
      else if (skip > 0) for (const run of part) skip = Math.max(0, skip - (await count(run)));
    }
    return page;
  }

  const isOf = (name: CollectionName): boolean => name === 'publications';
  return withMethods(version, {
    find: ((name: CollectionName, query: ViewQuery) =>
      isOf(name) ? find(query) : version.find(name, query)) as DocumentReader['find'],
    search: ((name: CollectionName, query: WordSearch) =>
      isOf(name) ? search(query) : version.search(name, query)) as DocumentReader['search'],
    count: async (name, where) => {
      if (!isOf(name)) return version.count(name, where);
      const counts = await Promise.all(runsOf(where, []).map(countRun));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    countWords: async (name, query) => {
      const [where] = runsOf(query.where, []);
      if (where) return version.countWords(name, { ...query, where });
      return query.prefixes.map(() => ({ counts: [], is_complete: true }));
    },
  });
}

/** A variant has no `price_down`: its prices are active, so `price_down` is `price_up`. */
const keyInVariant = ([key, direction]: SortOrder[number]): SortOrder[number] => [
  key === 'price_down' ? 'price_up' : key,
  direction,
];

const isOfSeveral = (where: Where): boolean => (listingsIn(where)?.length ?? 0) > 1;

/** Returns the listings that the conditions name. */
function listingsIn({ listing_id }: Where): readonly string[] | undefined {
  if (typeof listing_id === 'string') return [listing_id];
  return (listing_id as { in?: readonly string[] } | undefined)?.in;
}

/**
 * Divides the runs of a list into parts that are read one after the other. The runs of one part are merged. Featured publications
 * of both runs precede all others, so they are a part of their own.
 */
function partsOf({ where, order }: ViewQuery, runs: readonly Run[]): (readonly Run[])[] {
  if (runs.length < 2 || order[0]?.[0] !== 'featured_rank') return runs.map((run) => [run]);
  // Only the merge of lists of several listings finds the first position that a publication has in them.
  if (isOfSeveral(where)) return [runs];
  const wanted = where.featured_rank;
  const featured = { featured_rank: { lte: NOT_FEATURED - 1 } };
  return [
    ...(wanted === NOT_FEATURED ? [] : [runs.map((run) => ({ ...run, ...featured }))]),
    ...(wanted === undefined || wanted === NOT_FEATURED
      ? runs.map((run) => [{ ...run, featured_rank: NOT_FEATURED }])
      : []),
  ];
}

/** Returns the conditions with the range of prices of one unit in the currency (`priceIn`). */
function inUnits({ units, ...where }: Where, currency: string): Where {
  if (!isUnitCondition(units)) return where;
  const { price } = units.unit;
  if (!price) return { ...where, units };
  const range = { gte: priceIn(currency, price.gte), lte: priceIn(currency, price.lte) };
  return { ...where, units: { unit: { ...units.unit, price: range } } };
}

function withKeysOf({ keysOf }: VariantRules, { document, ...stored }: Found): Found {
  if (!document) return { ...stored, document };
  const changed = { ...document, keys: keysOf(document.keys) };
  const { json } = document;
  // A document that has the text of its answer is used without its body.
  const as_text = json && new TextDocument(changed as unknown as ViewDocument, json);
  return { ...stored, document: (as_text as unknown as PublicationDocument | undefined) ?? changed };
}
