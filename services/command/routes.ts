import type { CacheObserver } from '../../shared/http/metrics';
import type { Answer, ApiRequest, Route } from '../../shared/http/route';
import { withTimeout } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreDeps } from './execute';
import { listingRoutes } from './listing';
import { mediaRoutes } from './media';
import { publicationRoutes } from './publication';
import { ActiveStores, type MediaDeps, type ProjectionDeps, type RouteDeps } from './request';

/** Returns the routes of all write endpoints (docs/interface.md#write-endpoints). */
export function commandRoutes(
  deps: StoreDeps & ProjectionDeps & MediaDeps & { readonly onCache?: CacheObserver },
): Route[] {
  const shared: RouteDeps = { ...deps, stores: new ActiveStores(deps) };
  const routes = [...publicationRoutes(shared), ...listingRoutes(shared), ...mediaRoutes(shared)];
  return routes.map((route) => ({ ...route, handler: (request) => answerInTime(route, request) }));
}

/**
 * Runs the handler. Rejects with `database_timeout` if it takes too long: a write makes several calls to the stores, and
 * each of them may wait for almost as long as the whole write. The write may still be done afterwards.
 */
function answerInTime({ handler }: Route, request: ApiRequest): Promise<Answer> {
  const left_ms = Math.max(0, request.answer_by_ms - performance.now());
  return withTimeout(handler(request), left_ms, () => {
    throw new CatalogError('database_timeout', { message: 'the write did not end in time' });
  });
}
