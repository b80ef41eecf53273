import { reads } from '../../shared/api/operations/reads';
import type { ListQuery, SearchQuery } from '../../shared/api/requests/reads';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { countFacets, type Facets } from '../../shared/catalog/publication/facets';
import { typedWords } from '../../shared/catalog/search/words';
import { orderOf } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery, WordScope, WordSearch, WordTerms } from '../../shared/ports/view-store';
import { pageOf, priceRange, sortModeOf } from './lists';
import { EXPANSIONS, partsFor, presentPublication } from './present';
import {
  assertActive,
  findById,
  listingAskedFor,
  namedStore,
  openForId,
  openStore,
  parseRead,
  type ReadSides,
  showsContainer,
  showsItem,
  visibilitiesOf,
  visibilityKey,
  wordScope,
} from './read';
import {
  oneEditAway,
  relatedTiers,
  searchTiers,
  type Wanted,
  wantedWords,
  writtenTogether,
} from './search-terms';

/** Mistakes are sought in so many words, and so many words of the store are taken for what was meant by one. */
const MISTAKEN_WORDS_MAX = 8;
const MEANT_WORDS_MAX = 20;

/** `GET /api/store/search`: best first, unless a `sort` is asked for. */
export async function readSearch(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.searchStore, request, EXPANSIONS.publication);
  const store_id = namedStore(request);
  const version = await openStore(sides, request, store_id);
  const [store, listing] = await Promise.all([
    version.get('stores', store_id),
    listingAskedFor(version, query, store_id),
  ]);
  assertActive(store);
  const typed = typedWords(query.q);
  const nothing = { data: [], meta: pageMeta({ ...query, total: 0 }) };
  if (listing === null || typed.length === 0) return nothing;

  const within = scopeOf(query, store_id);
  const found = await fittingTiers(version, within, typed);
  if (!found) return nothing;
  const { skip, limit } = pageOf(query);
  const page = await version.search('publications', {
    ...within,
    // Sorted by something else, how well an item fits does not matter.
    tiers: query.sort ? found.tiers.slice(-1) : found.tiers,
    order: orderOf(modeOf(query)),
    parts: partsFor('publication', query),
    skip,
    // Nothing is looked for past the end.
    limit: Math.max(0, Math.min(limit, found.total - skip)),
  });
  const data = page.flatMap(({ document }) => (document ? [presentPublication(document, query)] : []));
  return { data, meta: pageMeta({ ...query, total: found.total }) };
}

/** What fits equally well comes newest first; `order` alone turns nothing, for the worst first helps nobody. */
const modeOf = (query: SearchQuery) => (query.sort ? sortModeOf(query) : 'created_at_desc');

type Within = Pick<WordSearch, 'scope' | 'where'>;

function scopeOf(query: SearchQuery, store_id: string): Within {
  const scope = wordScope(store_id, query.visibility);
  const price = priceRange(query, modeOf(query));
  if (query.listing_id === undefined) return { scope, where: { ...scope, ...price } };
  return {
    scope,
    where: { listing_id: query.listing_id, visibility: visibilityKey(query.visibility), ...price },
  };
}

/**
 * The tiers by which something is found; where nothing is, with words that may be one, and then with one edit in each
 * longer word.
 */
async function fittingTiers(
  version: DocumentReader,
  within: Within,
  typed: readonly string[],
): Promise<{ readonly tiers: WordSearch['tiers']; readonly total: number } | undefined> {
  const attempts = [
    async () => wantedWords(typed),
    async () => (typed.length <= MISTAKEN_WORDS_MAX ? writtenTogether(typed) : undefined),
    async () => withTypos(version, within.scope, typed),
  ];
  for (const attempt of attempts) {
    const wanted = await attempt();
    if (!wanted) continue;
    const tiers = searchTiers(typed, wanted);
    const total = await version.countWords('publications', { ...within, terms: tiers.at(-1) ?? [] });
    if (total > 0) return { tiers, total };
  }
  return undefined;
}

/** What the words may have been meant as, of what the store has; undefined where that adds nothing. */
async function withTypos(
  version: DocumentReader,
  scope: WordScope,
  typed: readonly string[],
): Promise<Wanted[] | undefined> {
  const wanted = wantedWords(typed);
  let added = 0;
  for (const [index, { words, beginnings }] of wanted.entries()) {
    const similar = words.flatMap(oneEditAway);
    if (similar.length === 0) continue;
    if (++added > MISTAKEN_WORDS_MAX) break;
    const matches = [
      ...similar.map((one) => ({ word: one })),
      ...(beginnings.length > 0 ? similar.map((one) => ({ word: one, prefix: true as const })) : []),
    ];
    const known = await version.knownWords('publications', { scope, matches, limit: MEANT_WORDS_MAX });
    const found = (begun: boolean) =>
      known.filter(({ prefix }) => (prefix === true) === begun).map((match) => match.word);
    wanted[index] = { words: [...words, ...found(false)], beginnings: [...beginnings, ...found(true)] };
  }
  return added === 0 ? undefined : wanted;
}

/** A part of the sequence, with how many are in it. */
interface Section {
  readonly where: ViewQuery['where'];
  readonly total: number;
}

/**
 * `GET /api/publication/:id/related`: all others of the store, nearest first: those of the same listing, then the
 * rest; within each those that share more words, then the newest (decisions §5).
 */
export async function readRelated(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listRelatedPublications, request, EXPANSIONS.publication);
  const version = await openForId(sides, request, 'publications');
  const publication = await findById(sides, request, version, 'publications', {
    visibility: query.visibility,
    shows: showsContainer,
    parts: ['words'],
  });
  const store_id = String(publication.keys.store_id);
  const sections = await sectionsOf(version, query, publication, store_id);
  const tiers = query.sort ? [[]] : relatedTiers(publication.words ?? []);
  const page = await readAcross(version, query, store_id, sections, tiers);
  const total = sections.reduce((sum, section) => sum + section.total, 0);
  return {
    data: page.map((document) => presentPublication(document, query)),
    meta: pageMeta({ ...query, total }),
  };
}

/** Sorted by something else, nearness does not matter. A hidden listing brings nobody together. */
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
    version.get('stores', store_id, ['state']),
    listingAskedFor(version, { ...query, ...in_listing }, store_id),
  ]);
  const itself = showsItem(query.visibility, visibility) ? 1 : 0;
  const others = (facets: Facets): number => countFacets(facets, visibilitiesOf(query.visibility)) - itself;
  const all = others(assertActive(store).state.facets);
  const where = { visibility: visibilityKey(query.visibility), id: { not: id } };
  if (!listing) return [{ where: { store_id, ...where }, total: all }];
  const near = others(listing.facets);
  return [
    { where: { ...in_listing, ...where }, total: near },
    { where: { store_id, ...where, listing_id: { not: String(listing_id) } }, total: all - near },
  ];
}

/** The page of the sections one after the other. Their totals are maintained counts, so nothing is counted. */
async function readAcross(
  version: DocumentReader,
  query: ListQuery,
  store_id: string,
  sections: readonly Section[],
  tiers: readonly WordTerms[],
): Promise<PublicationDocument[]> {
  const found: PublicationDocument[] = [];
  let { skip } = pageOf(query);
  for (const { where, total } of sections) {
    const limit = Math.min(query.limit - found.length, total - skip);
    if (limit > 0) {
      const page = await version.search('publications', {
        scope: wordScope(store_id, query.visibility),
        ...{ where, tiers, skip, limit },
        order: orderOf(query.sort ? sortModeOf(query) : 'created_at_desc'),
        parts: partsFor('publication', query),
      });
      found.push(...page.flatMap(({ document }) => (document ? [document] : [])));
    }
    skip = Math.max(0, skip - total);
  }
  return found;
}
