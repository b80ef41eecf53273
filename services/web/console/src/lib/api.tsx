import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { CatalogClient, type TokenDescription } from 'catalog-client';
import { createContext, type ReactNode, use, useMemo } from 'react';
import { useTexts } from '../texts/texts';
import { Button } from '../ui/button';
import { EmptyState, ErrorState, Loading } from '../ui/feedback';
import { Page } from '../ui/layout';
import { getToken, signOut } from './session';
import { useStored } from './stored';

/** What every page may use: the client of the interface for the chosen store, and what its key may do. */
export interface Api {
  readonly client: CatalogClient;
  readonly store_id: string;
  /** The stores of the key. */
  readonly stores: readonly string[];
  readonly api_key_id: string;
  /** Whether the writes of the session's key are proposals. */
  readonly needs_confirmation: boolean;
  may(...permissions: TokenDescription['permissions']): boolean;
  chooseStore(id: string): void;
}

const ApiContext = createContext<Api | undefined>(undefined);

export function useApi(): Api {
  const api = use(ApiContext);
  if (!api) throw new Error('useApi needs an ApiProvider');
  return api;
}

const clientOf = (storeId?: string) =>
  new CatalogClient({ baseUrl: location.origin, getToken, consistent: true, ...(storeId && { storeId }) });

const createQueries = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 15_000,
        // The client of the interface has repeated the request already.
        retry: false,
      },
    },
  });

/** Reads what the key may do, and gives it to the pages. Each store has a cache of its own. */
export function ApiProvider({ children }: { readonly children: ReactNode }) {
  const queries = useMemo(createQueries, []);
  return (
    <QueryClientProvider client={queries}>
      <OfStore>{children}</OfStore>
    </QueryClientProvider>
  );
}

/** The key of the session has no store. */
function NoStore() {
  const t = useTexts();
  return (
    <Page title="">
      <EmptyState
        icon="store"
        title={t.session.noStore}
        action={<Button onPress={() => void signOut()}>{t.session.signOut}</Button>}
      />
    </Page>
  );
}

function OfStore({ children }: { readonly children: ReactNode }) {
  const [chosen, chooseStore] = useStored<string>('store', '');
  const own = useMemo(clientOf, []);
  const { data, error, refetch } = useQuery({
    queryKey: ['token'],
    queryFn: () => own.tokens.validate(),
    staleTime: 300_000,
  });
  const store_id = data?.stores.find((id) => id === chosen) ?? data?.stores[0];
  const client = useMemo(() => (store_id ? clientOf(store_id) : undefined), [store_id]);
  const queries = useMemo(createQueries, [store_id]);
  if (error && !data) return <ErrorState error={error} onRetry={refetch} />;
  if (data && !store_id) return <NoStore />;
  if (!data || !client || !store_id)
    return (
      <Page title="">
        <Loading />
      </Page>
    );
  const api: Api = {
    client,
    store_id,
    stores: data.stores,
    api_key_id: data.api_key_id,
    needs_confirmation: data.needs_confirmation,
    may: (...permissions) => permissions.every((each) => data.permissions.includes(each)),
    chooseStore,
  };
  return (
    <ApiContext value={api}>
      <QueryClientProvider client={queries} key={store_id}>
        {children}
      </QueryClientProvider>
    </ApiContext>
  );
}
