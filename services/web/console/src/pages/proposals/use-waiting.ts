import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../lib/api';

/** Proposals are not among the changes of the store that the console follows. */
const REFRESH_MS = 30_000;

/** The number of proposals that wait. */
export function useWaiting(): number {
  const { client, may } = useApi();
  const { data = 0 } = useQuery({
    queryKey: ['proposals', 'waiting'],
    enabled: may('read:publications'),
    refetchInterval: REFRESH_MS,
    queryFn: async () =>
      (await client.proposals.list({ status: 'waiting', limit: 1 }).page()).meta.item_count,
  });
  return data;
}
