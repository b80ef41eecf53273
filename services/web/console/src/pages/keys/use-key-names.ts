import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../lib/api';
import { ALL_PERMISSIONS } from './permissions';

/** The names of the secret keys, by their ids. None if the session's key may not manage keys. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const { client, may, needs_confirmation } = useApi();
  const { data: keys = [] } = useQuery({
    queryKey: ['keys'],
    enabled: may(...ALL_PERMISSIONS) && !needs_confirmation,
    queryFn: () => client.keys.list().all(),
  });
  return new Map(keys.filter(({ type }) => type === 'secret').map(({ id, name }) => [id, name]));
}
