import { reads } from '../../shared/api/operations/reads';
import { RESTORABLE_MS } from '../../shared/catalog/field-aggregate';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import { presentAsOf } from './history';
import { pageOf } from './lists';
import { assertActive, openStore, type ReadDeps, requestedStore, requireSecretKey } from './read';

type ReadHandler = (deps: ReadDeps, request: ApiRequest) => Promise<Answer>;

const KINDS = {
  publication: { operation: reads.listPublications, collection: 'publications' },
  listing: { operation: reads.listListings, collection: 'listings' },
} as const;

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
  const { page, limit } = parseQuery(operation.query, request.query);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const after = new Date(deps.now() - RESTORABLE_MS).toISOString();
  const where = { deleted_in: store_id, deleted_at: { after } };
  const [store, total, found] = await Promise.all([
    version.get('stores', store_id),
    version.count(collection, where),
    version.find(collection, {
      where,
      order: [
        ['deleted_at', 'desc'],
        ['id', 'desc'],
      ],
      parts: ['state'],
      ...pageOf({ page, limit }),
    }),
  ]);
  assertActive(store);
  const data = found.flatMap(({ document }) => {
    const { resource, deleted_at = '' } = document?.state.deleted ?? {};
    return resource ? [{ ...presentAsOf(kind, resource, WITHOUT_EXPANSIONS), deleted_at }] : [];
  });
  return { data, meta: pageMeta({ page, limit, total }) };
}
