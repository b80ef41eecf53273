import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../lib/api';

/** Numbers of products. */
export interface Counts {
  readonly total: number;
  readonly public: number;
  readonly private: number;
  readonly discounted: number;
  readonly sold_out: number;
  readonly without_media: number;
  readonly without_price: number;
  readonly scheduled: number;
}

const FACETS = ['visibility', 'in_stock', 'has_media', 'has_price', 'scheduled', 'has_discount'];

/** Counts the products with one request. */
export function useCounts() {
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ['publications', 'counts'],
    queryFn: () => client.publications.list({ visibility: 'all', limit: 1, facets: FACETS }).page(),
  });
  const count = (name: string, value: string): number =>
    data?.meta.facets?.find((facet) => facet.name === name)?.values.find((each) => each.value === value)
      ?.count ?? 0;
  const counts: Counts | undefined = data && {
    total: data.meta.item_count,
    public: count('visibility', 'public'),
    private: count('visibility', 'private'),
    discounted: count('has_discount', 'true'),
    sold_out: count('in_stock', 'false'),
    without_media: count('has_media', 'false'),
    without_price: count('has_price', 'false'),
    scheduled: count('scheduled', 'true'),
  };
  return { counts, error, refetch };
}
