import type { CacheObserver } from '../../shared/http/metrics';
import type { Route } from '../../shared/http/route';
import { ActiveStores } from './active-stores';
import type { StoreDeps } from './context';
import { listingRoutes } from './listing/routes';
import { mediaRoutes } from './media/routes';
import { publicationRoutes } from './publication/routes';
import type { MediaDeps, RouteDeps } from './route-deps';
import type { SettleDeps } from './settle';

/** Every write endpoint of the interface (spec, "Write endpoints"). */
export function commandRoutes(
  deps: StoreDeps & SettleDeps & MediaDeps & { readonly onCache?: CacheObserver },
): Route[] {
  const shared: RouteDeps = { ...deps, stores: new ActiveStores(deps) };
  return [...publicationRoutes(shared), ...listingRoutes(shared), ...mediaRoutes(shared)];
}
