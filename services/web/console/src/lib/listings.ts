import { useQuery } from '@tanstack/react-query';
import type { CatalogClient, Listing } from 'catalog-client';
import { useMemo } from 'react';
import { useLocale } from '../texts/texts';
import { useApi } from './api';

/** A listing with the listings directly below it, ordered by name. */
export interface ListingNode {
  readonly id: string;
  readonly listing: Listing;
  readonly parent: ListingNode | undefined;
  readonly children: readonly ListingNode[];
}

export const LISTINGS_KEY = ['listings', 'all'];
/** Requests at the same time. */
const PAGES_AT_ONCE = 6;

async function readAll(client: CatalogClient): Promise<Listing[]> {
  const pages = client.listings.list({ visibility: 'all', sort: 'created_at', order: 'asc' });
  const { data, meta } = await pages.page();
  // A listing that moves to another page meanwhile is kept once.
  const byId = new Map(data.map((each) => [each.id, each]));
  for (let next = 2; next <= meta.pagination.total_pages; next += PAGES_AT_ONCE) {
    const last = Math.min(next + PAGES_AT_ONCE - 1, meta.pagination.total_pages);
    const numbers = Array.from({ length: last - next + 1 }, (_, n) => next + n);
    for (const { data } of await Promise.all(numbers.map((number) => pages.page(number))))
      for (const each of data) byId.set(each.id, each);
  }
  return [...byId.values()];
}

/** All listings of the store, public and private, as a tree. */
export function useListings({ isEnabled = true } = {}) {
  const { client } = useApi();
  const locale = useLocale();
  const { data, error, refetch } = useQuery({
    queryKey: LISTINGS_KEY,
    enabled: isEnabled,
    queryFn: () => readAll(client),
  });
  const tree = useMemo(() => data && treeOf(data, locale), [data, locale]);
  return { tree, error, refetch };
}

export interface ListingTree {
  readonly tops: readonly ListingNode[];
  readonly byId: ReadonlyMap<string, ListingNode>;
}

function treeOf(listings: readonly Listing[], locale: string): ListingTree {
  const { compare } = new Intl.Collator(locale, { numeric: true });
  const sorted = listings.toSorted((one, other) => compare(one.name, other.name));
  const byId = new Map<string, { -readonly [Key in keyof ListingNode]: ListingNode[Key] }>(
    sorted.map((listing) => [listing.id, { id: listing.id, listing, parent: undefined, children: [] }]),
  );
  const tops: ListingNode[] = [];
  for (const node of byId.values()) {
    node.parent = byId.get(node.listing.parent_id ?? '');
    ((node.parent?.children ?? tops) as ListingNode[]).push(node);
  }
  return { tops, byId };
}

/** Returns the listing and all listings below it, each before those below it. */
export const withDescendants = (node: ListingNode): ListingNode[] => [
  node,
  ...node.children.flatMap(withDescendants),
];

/** Returns the listings that contain it, from the top, and itself. */
export const pathTo = (node: ListingNode): ListingNode[] =>
  node.parent ? [...pathTo(node.parent), node] : [node];

/** The names from the top to the listing. */
export const pathText = (node: ListingNode): string =>
  pathTo(node)
    .map(({ listing }) => listing.name)
    .join(' › ');
