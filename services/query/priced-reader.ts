import type { CollectionName } from '../../shared/catalog/documents';
import {
  INACTIVE_PRICE_DOWN,
  INACTIVE_PRICE_UP,
  keysInCurrency,
  NOT_FEATURED,
  type PublicationDocument,
  unpricedStep,
} from '../../shared/catalog/publication/document';
import { priceIn } from '../../shared/catalog/publication/prices';
import { variesIn } from '../../shared/catalog/search/words';
import { compareByOrder, orderOf } from '../../shared/catalog/sorting';
import { type StoredDocument, TextDocument, type ViewDocument } from '../../shared/catalog/stored-document';
import { isSameValue } from '../../shared/kernel/same-value';
import { withMethods } from '../../shared/kernel/with-methods';
import type { DocumentReader } from '../../shared/ports/document-reader';
import {
  isUnitCondition,
  type OutsideCondition,
  type ViewQuery,
  type WordScope,
  type WordSearch,
} from '../../shared/ports/view-store';
import { wordScope } from './read';

/*
 * Lists of publications by their prices in another currency than the first one of the store
 * (docs/decisions/0038-prices-by-currency.md). Publications that have a price in the currency are in a variant of each of their
 * lists, with this price. In a list by price, all others come behind them, in the order of the prices in their own currency.
 */

type Where = ViewQuery['where'];
type Found = StoredDocument<PublicationDocument>;
/** The publications with a price in the currency, or the others. A list is a sequence of at most these two. */
type Run = Where;

/** Returns a reader whose queries, and the keys of the publications that it finds, are about the prices in the currency. */
export function pricedReader(version: DocumentReader, store_id: string, currency: string): DocumentReader {
  const varied = [[{ word: variesIn(currency) }]];

  function runsOf(where: Where, order: ViewQuery['order'] = []): Run[] {
    const { price_up, price_down, price_max, has_discount, ...others } = where;
    const priced = { ...inUnits(where, currency), currency };
    const unpriced = { ...others, currency: { outside: currency } };
    if (isSameValue(price_up, { gte: INACTIVE_PRICE_UP })) return has_discount === 1 ? [] : [unpriced];
    if (price_max === INACTIVE_PRICE_DOWN) return [];
    const is_by_price = order.some(([key]) => unpricedStep(key) !== 0);
    const is_priced = [price_up, price_down, price_max].some((one) => one !== undefined);
    if (is_priced || has_discount === 1) return [priced];
    if (is_by_price) return [priced, unpriced];
    if (has_discount === undefined) return [where];
    return [{ ...others, currency: { outside: currency, or_without: { has_discount: 1 } } }];
  }

  /** Counts the publications outside the variant as the difference of two numbers, because buckets of lists have both. */
  async function countRun({ currency: named, ...others }: Run): Promise<number> {
    if (named === undefined || named === currency)
      return version.count('publications', named ? { ...others, currency } : others);
    const { or_without } = named as OutsideCondition;
    const [all, inside] = await Promise.all([
      version.count('publications', others),
      version.count('publications', { ...others, ...or_without, currency }),
    ]);
    return all - inside;
  }

  async function find(query: ViewQuery): Promise<Found[]> {
    const { varies_in, ...where } = query.where;
    const { visibility } = where as WordScope;
    const scope = { ...wordScope(store_id, 'all'), ...(visibility !== undefined && { visibility }) };
    if (varies_in !== undefined)
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

  async function search({ tiers, ...query }: WordSearch) {
    const { varies_in, ...where } = query.where;
    const asked = {
      ...query,
      tiers: tiers.map((terms) => (varies_in === undefined ? terms : [...terms, ...varied])),
    };
    const runs = runsOf(where, query.order);
    const totals = new Map<Run, number>();
    let is_complete = true;
    const read = async (one: ViewQuery): Promise<Found[]> => {
      const found = await version.search('publications', { ...asked, ...one });
      totals.set(one.where, found.total);
      is_complete &&= found.is_complete;
      return found.documents;
    };
    // In the order of the index, nothing is sorted.
    const newest = { order: orderOf('created_at_desc'), skip: 0, limit: 1 };
    const countIn = async (run: Run): Promise<number> => {
      const { after: _, ...others } = asked;
      if (!totals.has(run)) {
        const found = await version.search('publications', { ...others, ...newest, where: run });
        totals.set(run, found.total);
      }
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
      const after = query.after?.map((value, n) =>
        typeof value === 'number' && isOutside(where) ? value - unpricedStep(order[n]![0]) : value,
      );
      const found = await read({ ...query, ...(after && { after }), where, skip, limit });
      return found.map((one) => seenIn(currency, one));
    };
    let { skip = 0 } = query;
    const page: Found[] = [];
    for (const part of partsOf(query, runs)) {
      const rest = limit - page.length;
      const found =
        part.length === 1
          ? await readRun(part[0]!, skip, rest)
          : (await Promise.all(part.map((run) => readRun(run, 0, skip + rest))))
              .flat()
              .map((one) => ({ one, id: one.id, keys: one.document!.keys }))
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
      const counts = await Promise.all(runsOf(where).map(countRun));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    countWords: async (name, query) => {
      const [where] = runsOf(query.where);
      if (where) return version.countWords(name, { ...query, where });
      return query.prefixes.map(() => ({ counts: [], is_complete: true }));
    },
  });
}

const isOutside = ({ currency }: Run): boolean => typeof currency === 'object';
const isOfSeveral = ({ listing_id }: Where): boolean => typeof listing_id === 'object' && listing_id !== null;

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

function seenIn(currency: string, { document, ...stored }: Found): Found {
  if (!document) return { ...stored, document };
  const seen = { ...document, keys: keysInCurrency(document.keys, currency) };
  const { json } = document;
  // The body of a text is not read.
  const as_text = json && new TextDocument(seen as unknown as ViewDocument, json);
  return { ...stored, document: (as_text as unknown as PublicationDocument | undefined) ?? seen };
}
