import { writes } from '../../shared/api/operations/writes';
import { undoBody } from '../../shared/api/requests/writes';
import { storeAggregate } from '../../shared/catalog/store/store';
import type { Permission } from '../../shared/catalog/vocabulary';
import { requirePermissions } from '../../shared/http/auth';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { load, streamIn } from '../../shared/ports/stream-state';
import { awaitProjection, type RouteDeps, storeForNew, writeContextOf } from './request';
import { undoRun } from './undo';

export const runRoutes = (deps: RouteDeps): Route[] => [
  routeOf(writes.undoRun, (request) => undo(deps, request)),
];

/** Time in which the resources that are being undone end, and in which the answer is made. */
const END_MS = 1_500;

const PERMISSIONS: Readonly<Record<string, Permission>> = {
  listing: 'write:listings',
  media: 'write:media',
  review: 'write:reviews',
  store: 'write:stores',
  webhook: 'write:webhooks',
};

/** Handles `POST /api/runs/:run/undo`. Undoes as much as there is time for. */
async function undo(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const { dry_run = false } = parseBody(undoBody, request.body);
  const { environment } = request.principal;
  const run = request.params.run!;
  const store_id = storeForNew(request, undefined);
  await deps.stores.require(environment, store_id);
  const left_ms = Math.max(0, request.answer_by_ms - END_MS - performance.now());
  const undone = await undoRun(deps, writeContextOf(request), {
    ...{ environment, store_id, run, dry_run },
    signal: AbortSignal.timeout(Math.floor(left_ms)),
    assertKinds: (kinds) =>
      requirePermissions(
        request,
        [...kinds].flatMap((kind) => PERMISSIONS[kind] ?? []),
      ),
  });
  if (!undone) throw new CatalogError('run_not_found');
  const { position, ...report } = undone;
  const store = await load(streamIn(deps, environment, storeAggregate, store_id));
  // The positions of a dry run are not in the log.
  const written = { position: dry_run || position === undefined ? store.position : position };
  const headers = await awaitProjection(deps, request, store_id, written);
  return { data: { run, dry_run, ...report } as unknown as Answer['data'], headers };
}
