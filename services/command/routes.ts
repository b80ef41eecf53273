import type { CacheObserver } from '../../shared/http/metrics';
import type { Route } from '../../shared/http/route';
import { batchRoute } from './batch';
import { featuredRoutes } from './featured';
import { type KeyDeps, keyRoutes } from './keys';
import { listPriceRoutes } from './list-prices';
import { listings } from './listing';
import { mediaRoutes } from './media';
import { publications } from './publication';
import { ActiveStores, type RouteDeps } from './request';
import { revertRoutes } from './revert';
import { reviewRoutes } from './review';
import { runRoutes } from './runs';
import { storeRoutes } from './store';
import { variantRoutes } from './variant';
import { webhookRoutes } from './webhook';

/** Returns the routes of all write endpoints (docs/interface/README.md#endpoints). */
export function commandRoutes(
  deps: Omit<RouteDeps, 'stores'> & KeyDeps & { readonly onCache?: CacheObserver },
): Route[] {
  const shared: RouteDeps & KeyDeps = { ...deps, stores: new ActiveStores(deps) };
  return [
    ...publications.routes(shared),
    batchRoute(shared),
    ...listings.routes(shared),
    ...featuredRoutes(shared),
    ...revertRoutes(shared),
    ...runRoutes(shared),
    ...mediaRoutes(shared),
    ...storeRoutes(shared),
    ...reviewRoutes(shared),
    ...variantRoutes(shared),
    ...webhookRoutes(shared),
    ...keyRoutes(shared),
    ...listPriceRoutes(shared),
  ];
}
