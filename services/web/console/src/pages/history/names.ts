import { useQueries } from '@tanstack/react-query';
import type { Change, Publication } from 'catalog-client';
import { useApi } from '../../lib/api';
import { useStore } from '../../lib/languages';
import { useListings } from '../../lib/listings';

/** Products that one request reads. */
const IDS_MAX = 50;
const LISTING_FIELDS = ['listing_id', 'listing_ids', 'parent_id', 'featured_positions'];

/** The id of the product that a change is about, undefined if it is about something else. */
export const productOf = ({ resource, resource_id, publication_id }: Change): string | undefined =>
  resource === 'variant' ? publication_id : resource === 'publication' ? resource_id : undefined;

/** Reads what changes do not have: the names of variants and listings, and the currencies of products. */
export function useNames(changes: readonly Change[]) {
  const { client } = useApi();
  const ids = [...new Set(changes.flatMap((change) => productOf(change) || []))];
  const parts = Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, n) =>
    ids.slice(n * IDS_MAX, (n + 1) * IDS_MAX),
  );
  const products = useQueries({
    queries: parts.map((part) => ({
      queryKey: ['publications', 'named', part],
      queryFn: async () =>
        (await client.publications.list({ ids: part, visibility: 'all', expand: ['variants'] }).page()).data,
    })),
  }).flatMap(({ data = [] }) => data);
  const { tree } = useListings({
    isEnabled: changes.some(({ changed }) => LISTING_FIELDS.some((field) => field in changed)),
  });
  const { data: store } = useStore();
  // The creation of a product that is deleted now has its currency, too.
  const created = changes.flatMap(({ resource_id, changed: { price_currency } }) =>
    price_currency ? [[resource_id, String(price_currency.after)] as const] : [],
  );
  const currencies = new Map([
    ...created,
    ...products.map(({ id, price_currency }) => [id, price_currency] as const),
  ]);
  const names = new Map([
    ...[...(tree?.byId.values() ?? [])].map(({ id, listing }) => [id, listing.name] as const),
    ...products.flatMap(variantNames),
  ]);
  return {
    currencyOf: (change: Change) => currencies.get(productOf(change) ?? '') ?? store?.currency,
    nameOf: (id: string) => names.get(id),
  };
}

const variantNames = ({ variants }: Publication) =>
  (variants?.data ?? []).map(
    ({ id, option_values }) => [id, Object.values(option_values).join(' / ')] as const,
  );
