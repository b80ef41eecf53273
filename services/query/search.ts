import { reads } from '../../shared/api/operations/reads';
import type { SearchQuery } from '../../shared/api/requests/reads';
import { typedWords } from '../../shared/catalog/search/words';
import { orderOf } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { WordScope, WordSearch } from '../../shared/ports/view-store';
import { pageOf, sortModeOf } from './list-query';
import { listingAskedFor } from './listing-filter';
import { EXPANSIONS, partsFor, presentPublication } from './present';
import { priceRange } from './publication-filters';
import { parseRead } from './read-query';
import { searchTiers, type Wanted, wantedWords, writtenTogether } from './search-terms';
import { assertActive, namedStore, openStore, type ReadSides } from './store-guard';
import { oneEditAway } from './typos';
import { visibilityKey, wordScope } from './visibility';

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
