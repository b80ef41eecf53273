import { reads } from '../../shared/api/operations/reads';
import { RESTORABLE_MS } from '../../shared/catalog/field-aggregate';
import { publicationResource } from '../../shared/catalog/publication/publication';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import { pageOf } from './lists';
import { assertActive, openStore, type ReadDeps, requestedStore, requireSecretKey } from './read';

type ReadHandler = (deps: ReadDeps, request: ApiRequest) => Promise<Answer>;

/** Returns the handler of `GET /api/publications`. `read` handles every other `visibility` than `deleted`. */
export const orDeleted =
  (read: ReadHandler): ReadHandler =>
  (deps, request) =>
    (request.query.visibility?.[0] === 'deleted' ? readDeleted : read)(deps, request);

/**
 * Returns the publications that can be restored, as they were. What they refer to may have been deleted as well.
 */
async function readDeleted(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'visibility=deleted');
  const { page, limit } = parseQuery(reads.listPublications.query, request.query);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const after = new Date(deps.now() - RESTORABLE_MS).toISOString();
  const where = { deleted_in: store_id, deleted_at: { after } };
  const [store, total, found] = await Promise.all([
    version.get('stores', store_id),
    version.count('publications', where),
    version.find('publications', {
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
    return resource ? [{ ...publicationResource(resource, resource, undefined), deleted_at }] : [];
  });
  return { data, meta: pageMeta({ page, limit, total }) };
}
