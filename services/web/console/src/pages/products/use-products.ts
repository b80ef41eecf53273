import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import type { Publication } from 'catalog-client';
import { useApi } from '../../lib/api';
import { type Filters, listOf, PAGE_SIZE } from './query';

/** The rows that are shown, by their index. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads the pages that the range shows, so that one can scroll to the middle of 100,000 products and a change of the store reads
 * only those pages again. While new filters are answered, returns the products of the earlier ones.
 */
export function useProducts(filters: Filters, { first, last }: Range) {
  const { client, may } = useApi();
  const expand = may('read:media') ? (['media', 'variants'] as const) : (['variants'] as const);
  const pageOf = (page: number) => ({
    queryKey: ['publications', 'page', filters, page],
    queryFn: () => listOf(client, filters, { page, limit: PAGE_SIZE, expand }).page(page),
  });
  const start = useQuery({ ...pageOf(1), placeholderData: keepPreviousData });
  const begin = Math.max(2, Math.floor(first / PAGE_SIZE) + 1);
  const end = Math.floor(last / PAGE_SIZE) + 1;
  const pages = Array.from({ length: Math.max(0, end - begin + 1) }, (_, n) => begin + n);
  const others = useQueries({ queries: pages.map(pageOf) });
  const itemAt = (index: number): Publication | undefined => {
    const page = Math.floor(index / PAGE_SIZE) + 1;
    const { data } = (page === 1 ? start : others[pages.indexOf(page)]) ?? {};
    return data?.data[index % PAGE_SIZE];
  };
  const failed = [start, ...others].filter(({ error }) => error);
  return {
    itemAt,
    count: start.data?.meta.item_count ?? 0,
    isLoading: start.isPending,
    isStale: start.isPlaceholderData,
    error: failed[0]?.error,
    retry: () => {
      for (const { refetch } of failed) void refetch();
    },
    /** The first products that match: examples of what the store's products have. */
    examples: start.data?.data ?? [],
  };
}
