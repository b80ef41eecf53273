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
 * Lists of publications by their prices in another currency than the first one of the store, or by their titles in another language
 * (docs/decisions/0038-prices-by-currency.md). Publications that have a price in the currency are in a variant of each of their
 * lists, with this price. In a list by price, all others come behind them, in the order of the prices in their own currency. The
 * same holds for the titles in a language.
 */

type Where = ViewQuery['where'];
type Found = StoredDocument<PublicationDocument>;
/** The publications inside or outside a variant of the list. A list is a sequence of at most these two. */
type Run = Where;

/** A variant of lists (`ListVariants`), as a reader shows it. */
interface Shown {
  /** The condition for the publications in the variant. */
  readonly inside: Readonly<Record<string, string>>;
  /** The terms of a query with the condition `varies_in`. */
  readonly varied?: WordTerms | undefined;
  /** Returns the parts of a list. */
  runsOf(where: Where, order: SortOrder): Run[];
  /** Returns the keys by which the publications are sorted. */
  keysOf(keys: PublicationKeys): PublicationKeys;
  /** Returns the place of a value of these keys among the values that the publications inside or outside the variant have. */
  placeOf(key: string, value: Key, is_outside: boolean): Key;
}

/** Returns a reader whose queries, and the keys of the publications that it finds, are about the prices in the currency. */
export const pricedReader = (version: DocumentReader, store_id: string, currency: string): DocumentReader =>
  variantReader(version, store_id, {
    inside: { currency },
    varied: [[{ word: variesIn(currency) }]],
    keysOf: (keys) => keysInCurrency(keys, currency),
    placeOf: (key, value, is_outside) =>
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

/** Returns a reader whose lists by name are about the titles in the language. */
export const namedReader = (
  version: DocumentReader,
  store_id: string,
  language: string,
  mode: ListSortMode,
): DocumentReader =>
  variantReader(version, store_id, {
    inside: { language },
    keysOf: (keys) => keysInLanguage(keys, language, mode),
    placeOf: (key, value, is_outside) => {
      if (key !== 'name_fold') return value;
      const [prefix = '', own] = [String(value)[0], namePrefix(!is_outside, mode)];
      if (prefix === own) return String(value).slice(1);
      return prefix < own ? '' : LAST_NAME;
    },
    runsOf: (where, order) => {
      if (!order.some(([key]) => key === 'name_fold')) return [where];
      return [
        { ...where, language },
        { ...where, language: { outside: language } },
      ];
    },
  });

function variantReader(version: DocumentReader, store_id: string, shown: Shown): DocumentReader {
  const { inside, varied, runsOf } = shown;
  const [[name, variant]] = Object.entries(inside) as [[string, string]];
  const isOutside = (run: Run): boolean => typeof run[name] === 'object';

  /** Counts the publications outside the variant as the difference of two numbers, because buckets of lists have both. */
  async function countRun(run: Run): Promise<number> {
    const { [name]: condition, ...others } = run;
    if (!isOutside(run)) return version.count('publications', run);
    const { or_without } = condition as OutsideCondition;
    const [all, without] = await Promise.all([
      version.count('publications', others),
      version.count('publications', { ...others, ...or_without, ...inside }),
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
      // Lists of several listings cannot be merged with a condition that no list contains.
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
      // To find none outside the variant, a list would be read to its end.
      if (is_outside && (await count(where)) === 0) return [];
      const shifted = query.after?.map((value, n) => shown.placeOf(order[n]![0], value, is_outside)!);
      // All of them have the same rank, so that a list in the order of its index has them.
      const has_one_rank = order[0]?.[0] === 'featured_rank' && where.featured_rank === NOT_FEATURED;
      const after = has_one_rank && shifted && shifted[0] !== NOT_FEATURED ? undefined : shifted;
      const { after: _, ...others } = query;
      // In the variant, `price_down` is `price_up`.
      const there = where[name] === variant ? order.map(inVariant) : order;
      const asked = { ...others, order: there, ...(after && { after }), where, skip, limit };
      const in_index = { order: there.slice(1), ...(after && { after: after.slice(1) }) };
      const found = await read(has_one_rank ? { ...asked, ...in_index } : asked);
      return found.map((one) => seen(one, shown));
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

const inVariant = ([key, direction]: SortOrder[number]): SortOrder[number] => [
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
 * Returns the parts of a list, one after the other. The runs of one part are merged. Featured publications precede all others, so
 * both runs are divided at the last featured one.
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

/** Returns the conditions with a range of prices of one unit in the currency. */
function inUnits({ units, ...where }: Where, currency: string): Where {
  if (!isUnitCondition(units)) return where;
  const { price } = units.unit;
  if (!price) return { ...where, units };
  const range = { gte: priceIn(currency, price.gte), lte: priceIn(currency, price.lte) };
  return { ...where, units: { unit: { ...units.unit, price: range } } };
}

function seen({ document, ...stored }: Found, { keysOf }: Shown): Found {
  if (!document) return { ...stored, document };
  const seen = { ...document, keys: keysOf(document.keys) };
  const { json } = document;
  // A document with the text of its answer is used without its body.
  const as_text = json && new TextDocument(seen as unknown as ViewDocument, json);
  return { ...stored, document: (as_text as unknown as PublicationDocument | undefined) ?? seen };
}
