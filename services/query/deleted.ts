import { reads } from '../../shared/api/operations/reads';
import { RESTORABLE_MS } from '../../shared/catalog/field-aggregate';
import type { SortOrder } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { presentAsOf } from './history';
import { bodiesAnswer, pageOf, placeOf } from './list-place';
import { presentationOf } from './presentation';
import {
  openStore,
  type ReadDeps,
  type ReadHandler,
  requestedStore,
  requireSecretKey,
  requireStore,
  settingsOf,
} from './read';

const KINDS = {
  publication: { operation: reads.listPublications, collection: 'publications' },
  listing: { operation: reads.listListings, collection: 'listings' },
} as const;

export const DELETED_LAST_FIRST: SortOrder = [
  ['deleted_at', 'desc'],
  ['id', 'desc'],
];

const WITHOUT_EXPANSIONS = { visibility: 'all', expand: [] } as const;

/** Returns the handler of a list. `read` handles every other `visibility` than `deleted`. */
export const orDeleted =
  (kind: keyof typeof KINDS, read: ReadHandler): ReadHandler =>
  (deps, request) =>
    request.query.visibility?.[0] === 'deleted' ? readDeleted(deps, request, kind) : read(deps, request);

/** Returns the resources that can be restored, as they were. What they refer to may have been deleted as well. */
async function readDeleted(deps: ReadDeps, request: ApiRequest, kind: keyof typeof KINDS): Promise<Answer> {
  const { operation, collection } = KINDS[kind];
  requireSecretKey(request, 'visibility=deleted');
  const { page, limit, cursor } = parseQuery(operation.query, request.query);
  const store_id = requestedStore(request);
  const place = placeOf(request, { page, limit, cursor }, `deleted ${collection}`, DELETED_LAST_FIRST);
  const version = await openStore(deps, request, store_id);
  const after = new Date(deps.now() - RESTORABLE_MS).toISOString();
  const where = { deleted_in: store_id, deleted_at: { after } };
  const [store, total, found] = await Promise.all([
    requireStore(version, store_id),
    version.count(collection, where),
    version.find(collection, {
      ...{ where, order: DELETED_LAST_FIRST, parts: ['state'] },
      ...pageOf(place),
    }),
  ]);
  const { data: _, meta } = bodiesAnswer(place, found, total);
  const data = found.slice(0, limit).flatMap(({ document }) => {
    const { resource, deleted_at = '' } = document?.state.deleted ?? {};
    return resource ? [{ ...presentAsOf(kind, resource, WITHOUT_EXPANSIONS), deleted_at }] : [];
  });
  return { data, meta, as: presentationOf(settingsOf(store), request) };
}
