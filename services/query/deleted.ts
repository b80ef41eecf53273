import { reads } from '../../shared/api/operations/reads';
import { RESTORABLE_MS } from '../../shared/catalog/field-aggregate';
import { listingResource } from '../../shared/catalog/listing/listing';
import { publicationResource } from '../../shared/catalog/publication/publication';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery } from '../../shared/ports/view-store';
import { pageOf } from './lists';
import { assertActive, openStore, type ReadDeps, requestedStore, requireSecretKey } from './read';

type ReadHandler = (deps: ReadDeps, request: ApiRequest) => Promise<Answer>;

/** What was deleted, as it was. What it refers to may have been deleted as well. */
const KINDS = {
  publication: {
    operation: reads.listPublications,
    collection: 'publications',
    read: async (version: DocumentReader, asked: ViewQuery) =>
      (await version.find('publications', asked)).flatMap(({ document }) => {
        const { resource, deleted_at } = document?.state.deleted ?? {};
        return resource ? [{ ...publicationResource(resource, resource, undefined), deleted_at }] : [];
      }),
  },
  listing: {
    operation: reads.listListings,
    collection: 'listings',
    read: async (version: DocumentReader, asked: ViewQuery) =>
      (await version.find('listings', asked)).flatMap(({ document }) => {
        const { resource, deleted_at } = document?.state.deleted ?? {};
        return resource
          ? [{ ...listingResource(resource), media_ids: [...resource.media_ids], deleted_at }]
          : [];
      }),
  },
} as const;

/** Returns the handler of a list. `read` handles every other `visibility` than `deleted`. */
export const orDeleted =
  (kind: keyof typeof KINDS, read: ReadHandler): ReadHandler =>
  (deps, request) =>
    request.query.visibility?.[0] === 'deleted' ? readDeleted(deps, request, kind) : read(deps, request);

/** Returns the resources that can be restored. */
async function readDeleted(deps: ReadDeps, request: ApiRequest, kind: keyof typeof KINDS): Promise<Answer> {
  const { operation, collection, read } = KINDS[kind];
  requireSecretKey(request, 'visibility=deleted');
  const { page, limit } = parseQuery(operation.query, request.query);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const after = new Date(deps.now() - RESTORABLE_MS).toISOString();
  const where = { deleted_in: store_id, deleted_at: { after } };
  const [store, total, data] = await Promise.all([
    version.get('stores', store_id),
    version.count(collection, where),
    read(version, {
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
  return { data: data as unknown as Answer['data'], meta: pageMeta({ page, limit, total }) };
}
