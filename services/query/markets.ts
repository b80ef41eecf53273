import { handleSpelling } from '../../shared/catalog/input-rules';
import type { ActiveStore } from '../../shared/catalog/store/document';
import type { Market } from '../../shared/catalog/store/markets';
import { CatalogError } from '../../shared/kernel/errors';

interface MarketQuery {
  readonly market?: string | undefined;
  readonly country?: string | undefined;
}

/**
 * Returns the market that a query names, otherwise the market of its country. Undefined if no market has the country. Throws
 * `invalid_query` for a name that no market of the store has.
 */
export function marketOf(
  { markets = [] }: ActiveStore,
  { market, country }: MarketQuery,
): Market | undefined {
  if (market === undefined) return markets.find(({ countries }) => countries.includes(country ?? ''));
  const handle = handleSpelling(market);
  const found = markets.find((one) => one.handle === handle);
  if (found) return found;
  const constraint = markets.length === 0 ? 'a store with markets' : 'the handle of a market of the store';
  throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'market', constraint }]);
}

/** Returns the query of a list with the currency of its market, unless it names a currency. */
export function inMarket<Query extends MarketQuery & { readonly currency?: string | undefined }>(
  store: ActiveStore,
  query: Query,
): Query {
  const market = marketOf(store, query);
  return market && query.currency === undefined ? { ...query, currency: market.currency } : query;
}
