import { reads } from '../../shared/api/operations/reads';
import type { ListQuery, SearchQuery } from '../../shared/api/requests/reads';
import type { StoredDocument } from '../../shared/catalog/documents';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { countFacets, type Facets } from '../../shared/catalog/publication/facets';
import { featuredIn, listedIn, queryTokens, titleWord, wordsIn } from '../../shared/catalog/search/words';
import { orderOf } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type {
  ViewQuery,
  WordMatch,
  WordScope,
  WordSearch,
  WordSearchResult,
  WordTerms,
} from '../../shared/ports/view-store';
import { facetsOf, type WhereOf } from './facets';
import { filterKeys, labelTerms } from './filters';
import { inflectionsOf } from './inflections';
import { type ListPlace, pageOf, placeOf } from './list-place';
import { withVariants } from './list-reader';
import { sortModeOf } from './lists';
import { pageAnswer, partsOfPage } from './page-items';
import { EXPANSIONS } from './present';
import { presentationOf } from './presentation';
import {
  findById,
  findFilterListing,
  isContainerVisible,
  isItemVisible,
  openForId,
  openStore,
  parseRead,
  type ReadDeps,
  requestedStore,
  requireStore,
  settingsOf,
  visibilitiesOf,
  visibilityKey,
  wordScope,
} from './read';
import {
  comparedWords,
  DEFAULT_LANGUAGE,
  exactTokens,
  joinedTokens,
  namePhrases,
  partsOf,
  type QueryToken,
  searchTiers,
} from './search-terms';
import { typosOf } from './typos';

/** The most publications that a search has. Bounds the cost of a deep page and of the count (docs/interface/search.md). */
const MATCHES_MAX = 5_000;
/** The most related publications (docs/interface/search.md#related). */
const RELATED_MAX = 1_000;
/** Longer queries are only searched for as they are. */
const ATTEMPTED_TOKENS_MAX = 8;
/** How many tokens of a query are taken for two words. Each has up to 74 parts to look up. */
const SPLIT_TOKENS_MAX = 2;
/** Candidates (terms of the store at edit distance 1) that replace one token. */
const CANDIDATES_MAX = 20;

/** Handles `GET /api/store/search`. Sorts by relevance unless the query has a `sort`. */
export async function readSearch(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const parsed = parseRead(reads.searchStore, request, EXPANSIONS.publication);
  const store_id = requestedStore(request);
  const opened = await openStore(deps, request, store_id);
  const [stored, listing] = await Promise.all([
    requireStore(opened, store_id),
    findFilterListing(opened, parsed, store_id),
  ]);
  const as = presentationOf(settingsOf(stored), request);
  const mode = sortModeOfSearch(parsed);
  const { query, version } = withVariants(as, opened, parsed, mode);
  const source = { version, request, as };
  const tokens = queryTokens(query.q);
  const place = placeOf(request, query, 'search', query.sort && orderOf(mode));
  if (listing === null || tokens.length === 0) {
    const counts = await facetsOf(source, query, undefined, 0);
    return { data: [], meta: { ...pageMeta({ ...place, total: 0 }), ...counts }, as };
  }

  const scope = wordScope(store_id, query.visibility);
  const context = { version, store_id, mode };
  const container = query.listing_id === undefined ? {} : { listing_id: query.listing_id };
  const whereOf: WhereOf = async (filtered, facet) => ({
    ...scope,
    ...container,
    ...(await filterKeys(context, filtered, facet)),
  });
  const filter = { scope, where: await whereOf(query) };
  const found = await firstMatching(version, query, place, filter, tokens, (as.locales ?? []).map(wordsIn));
  const { documents, total, terms } = found;
  const counts = await facetsOf(source, query, { scope, whereOf, terms }, total);
  const answer = await pageAnswer(source, 'publication', documents, query, place, total);
  const is_complete = found.is_complete ? {} : { is_complete: false };
  return { ...answer, meta: { ...answer.meta, ...is_complete, ...counts } };
}

/**
 * Returns the sort mode among equally relevant publications, by default newest first. `order` without `sort` has no
 * effect, because nobody wants the least relevant publications first.
 */
const sortModeOfSearch = (query: SearchQuery) => (query.sort ? sortModeOf(query) : 'created_at_desc');

type SearchFilter = Pick<WordSearch, 'scope' | 'where'>;

/** A page, and the terms of the words that all matches have. */
type Matching = WordSearchResult<StoredDocument<PublicationDocument>> & { readonly terms: WordTerms };

/** Up to this number of matches, those follow that are in a listing that the query names. */
const FEW_MATCHES = 50;
/** The most listings that a query names. */
const NAMED_LISTINGS_MAX = 20;

/** Returns the labels of the listings that each token names, alone or with its neighbours. Undefined if there are none. */
async function labelsOfNamed(
  version: DocumentReader,
  { visibility }: SearchQuery,
  store_id: WordScope[string] | undefined,
  tokens: readonly string[],
): Promise<WordMatch[][] | undefined> {
  const phrases = namePhrases(tokens);
  const names = { in: [...new Set(phrases.flatMap((phrase) => phrase.names))] };
  const listings = await version.find('listings', {
    where: { store_id: String(store_id), visibility: visibilityKey(visibility), name_fold: names },
    order: orderOf('name_asc'),
    limit: NAMED_LISTINGS_MAX,
  });
  if (listings.length === 0) return undefined;
  return tokens.map((_, index) => {
    const around = phrases.filter(({ first, end }) => first <= index && index < end);
    const named = listings.filter(({ document }) =>
      around.some((phrase) => phrase.names.includes(String(document?.keys.name_fold))),
    );
    return named.flatMap(({ id }) => [{ word: featuredIn(id) }, { word: listedIn(id) }]);
  });
}

/**
 * Returns the page of the first attempt with a match. The attempts are: the tokens as typed, and with few matches also the
 * listings that they name; with adjacent tokens joined as alternatives; with a token as two words; with terms at edit distance 1 as alternatives. A long query, or one whose words are so frequent that
 * not all publications were looked at, has only the first attempt.
 */
async function firstMatching(
  version: DocumentReader,
  query: SearchQuery,
  place: ListPlace,
  filter: SearchFilter,
  tokens: readonly string[],
  languages: readonly string[],
): Promise<Matching> {
  const words = { version, scope: filter.scope, languages: [...languages, DEFAULT_LANGUAGE] };
  const labels = labelTerms(query);
  const page = {
    ...{ ...filter, ...pageWithin(place, MATCHES_MAX), total_max: MATCHES_MAX },
    order: orderOf(sortModeOfSearch(query)),
    parts: partsOfPage('publication', query),
  };
  const endingsOf = await existingEndings(words, tokens);
  const find = async (
    alternatives: readonly QueryToken[],
    named?: readonly (readonly WordMatch[])[],
    searched = tokens,
  ): Promise<Matching> => {
    const all = searchTiers(searched, alternatives, named, endingsOf, languages);
    // The last tier contains all matches. It is enough for a query with `sort`, which ignores relevance.
    const tiers = (query.sort ? all.slice(-1) : all).map((terms) => [...labels, ...terms]);
    return { ...(await version.search('publications', { ...page, tiers })), terms: all.at(-1)! };
  };
  const exact = exactTokens(tokens);
  let found = await find(exact);
  if (found.is_complete && found.total <= FEW_MATCHES && exact.length <= ATTEMPTED_TOKENS_MAX) {
    const distinct = [...new Set(tokens)];
    const named = await labelsOfNamed(version, query, filter.scope.store_id, distinct);
    if (named) found = await find(exact, named);
  }
  if (found.total > 0 || !found.is_complete || tokens.length > ATTEMPTED_TOKENS_MAX) return found;
  const joined = joinedTokens(tokens);
  const found_joined = joined && (await find(joined));
  if (found_joined && (found_joined.total > 0 || !found_joined.is_complete)) return found_joined;
  const split = await splitTokens(words, tokens);
  const found_split = split && (await find(exactTokens(split), undefined, split));
  if (found_split && found_split.total > 0) return found_split;
  const fuzzy = await fuzzyTokens(words, tokens);
  return fuzzy ? find(fuzzy) : found;
}

/** The words of publications in some languages, each named by what its terms begin with. */
interface StoreWords {
  readonly version: DocumentReader;
  readonly scope: WordScope;
  readonly languages: readonly string[];
}

/** Returns the matches that some publication has, at most `limit` of them in each language. */
async function matchesIn(
  { version, scope, languages }: StoreWords,
  matches: readonly WordMatch[],
  limit: number,
): Promise<WordMatch[]> {
  const found: WordMatch[] = [];
  for (const language of languages) {
    const asked = matches.map((match) => ({ ...match, word: language + match.word }));
    for (const match of await version.matchingWords('publications', { scope, matches: asked, limit }))
      found.push({ ...match, word: match.word.slice(language.length) });
  }
  return found;
}

/** Returns a function that returns those forms of a token with another ending that are words of the store. */
async function existingEndings(
  words: StoreWords,
  tokens: readonly string[],
): Promise<(token: string) => readonly string[]> {
  const existing = await existingWords(words, tokens.flatMap(inflectionsOf));
  return (token) => inflectionsOf(token).filter((form) => existing.has(form));
}

/** Returns those of the words that publications have. */
async function existingWords(words: StoreWords, asked: readonly string[]): Promise<ReadonlySet<string>> {
  if (asked.length === 0) return new Set();
  const matches = [...new Set(asked)].map((word) => ({ word }));
  const found = await matchesIn(words, matches, matches.length);
  return new Set(found.map(({ word }) => word));
}

/**
 * Returns the tokens, with two words of titles of the store instead of each token that is no word of the store: `airfryer`
 * is `air`, `fryer`. Returns undefined if there is no such token.
 */
async function splitTokens(words: StoreWords, tokens: readonly string[]): Promise<string[] | undefined> {
  const known = await existingWords(words, tokens);
  const unknown = tokens.filter((token) => !known.has(token)).slice(0, SPLIT_TOKENS_MAX);
  const in_titles = await existingWords(words, unknown.flatMap(partsOf).flat().map(titleWord));
  const isInTitle = (word: string): boolean => in_titles.has(titleWord(word));
  const split = tokens.flatMap((token) => {
    const parts = unknown.includes(token) && partsOf(token).find((each) => each.every(isInTitle));
    return parts || [token];
  });
  return split.length > tokens.length ? split : undefined;
}

/**
 * Returns the tokens with the candidates for each: the store's terms at edit distance 1. Returns undefined if
 * typo tolerance applies to no token.
 */
async function fuzzyTokens(store: StoreWords, tokens: readonly string[]): Promise<QueryToken[] | undefined> {
  const alternatives = exactTokens(tokens);
  const typos = typosOf(alternatives, store.languages.length);
  for (const { token, matches } of typos) {
    const { words, prefixes } = alternatives[token]!;
    const candidates = await matchesIn(store, matches, CANDIDATES_MAX);
    const candidateWords = (is_prefix: boolean) =>
      candidates.filter(({ prefix }) => (prefix === true) === is_prefix).map(({ word }) => word);
    alternatives[token] = {
      words: [...words, ...candidateWords(false)],
      prefixes: [...prefixes, ...candidateWords(true)],
    };
  }
  return typos.length === 0 ? undefined : alternatives;
}

/** One section of the related publications: its filter and its number of publications. */
interface Section {
  readonly where: ViewQuery['where'];
  readonly total: number;
}

/**
 * Handles `GET /api/publication/:id/related`. Returns all other publications of the store, the most similar first:
 * those of the same listing before the rest, each sorted by the number of shared words, then newest first, or oldest first with
 * `order=asc` (docs/interface/search.md#related).
 */
export async function readRelated(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const parsed = parseRead(reads.listRelatedPublications, request, EXPANSIONS.publication);
  const opened = await openForId(deps, request, 'publications');
  const { document: publication, store } = await findById(deps, request, opened, 'publications', {
    visibility: parsed.visibility,
    isVisible: isContainerVisible,
    parts: ['words'],
  });
  const as = presentationOf(store, request);
  const { query, version } = withVariants(as, opened, parsed, sortModeOf(parsed));
  const sections = firstMatches(await sectionsOf(version, query, publication, store.id));
  const words = query.sort ? undefined : comparedWords(publication.words ?? []);
  const place = placeOf(request, query, 'related', query.sort && orderOf(sortModeOf(query)));
  const page = await readPage(version, query, place, store.id, sections, words);
  const total = sections.reduce((sum, section) => sum + section.total, 0);
  return pageAnswer({ version, request, as }, 'publication', page, query, place, total);
}

/**
 * Returns the same listing's other publications, then the rest of the store. Returns a single section if the query has
 * a `sort`, or if the publication's listing is not visible, because a private listing must not influence the order.
 */
async function sectionsOf(
  version: DocumentReader,
  query: ListQuery,
  publication: PublicationDocument,
  store_id: string,
): Promise<Section[]> {
  const { listing_id, visibility } = publication.keys;
  const { id } = publication.body;
  const in_listing = listing_id === null || query.sort ? {} : { listing_id: String(listing_id) };
  const [store, listing] = await Promise.all([
    requireStore(version, store_id),
    findFilterListing(version, { ...query, ...in_listing }, store_id),
  ]);
  // The counts include the publication itself if the filter shows it.
  const own_count = isItemVisible(query.visibility, visibility) ? 1 : 0;
  const countOthers = (facets: Facets): number =>
    countFacets(facets, visibilitiesOf(query.visibility)) - own_count;
  const all = countOthers(store.state.facets);
  const where = { visibility: visibilityKey(query.visibility), id: { not: id } };
  if (!listing) return [{ where: { store_id, ...where }, total: all }];
  const in_same_listing = countOthers(listing.facets);
  return [
    { where: { ...in_listing, ...where }, total: in_same_listing },
    { where: { store_id, ...where, listing_id: { not: String(listing_id) } }, total: all - in_same_listing },
  ];
}

/** Returns what reads the page of a list of at most `items_max`, which ends there on pages of a cursor as well. */
function pageWithin(place: ListPlace, items_max: number) {
  const page = pageOf(place);
  return page.after ? { ...page, limit: Math.min(page.limit, Math.max(0, items_max - place.before)) } : page;
}

/** Returns the sections with as many publications as a list has at most, the first ones first. */
function firstMatches(sections: readonly Section[]): Section[] {
  let remaining = RELATED_MAX;
  return sections.map(({ where, total }) => {
    const kept = Math.min(total, remaining);
    remaining -= kept;
    return { where, total: kept };
  });
}

/** Returns a page of the concatenated sections. Without words, sorts each section by the query. Uses their totals, so that no documents are counted. */
async function readPage(
  version: DocumentReader,
  query: ListQuery,
  place: ListPlace,
  store_id: string,
  sections: readonly Section[],
  words: readonly string[] | undefined,
): Promise<StoredDocument<PublicationDocument>[]> {
  const found: StoredDocument<PublicationDocument>[] = [];
  let { skip, ...page } = pageWithin(place, RELATED_MAX);
  for (const { where, total } of sections) {
    const limit = Math.min(page.limit - found.length, total - skip);
    if (limit > 0) {
      const asked = {
        ...{ ...page, where, skip, limit },
        order: orderOf(sortModeOf(query)),
        parts: partsOfPage('publication', query),
      };
      const scope = wordScope(store_id, query.visibility);
      const documents = words
        ? await version.related('publications', { ...asked, scope, words })
        : await version.find('publications', asked);
      found.push(...documents);
    }
    skip = Math.max(0, skip - total);
  }
  return found;
}
