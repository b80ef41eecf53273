import { reads } from '../../shared/api/operations/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { SortOrder } from '../../shared/catalog/sorting';
import { requirePermissions } from '../../shared/http/auth';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import { endOf, pageOf, placeOf } from './list-place';
import { findById, openForId, type ReadDeps, requireSecretKey } from './read';

const BY_ID: SortOrder = [['id', 'asc']];

/** Handles `GET /api/media/:id/uses`: reads the references to the media, and the resources of the page. */
export async function readMediaUses(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'The uses of a media');
  requirePermissions(request, ['read:publications', 'read:listings']);
  const query = parseQuery(reads.listMediaUses.query, request.query);
  const version = await openForId(deps, request, 'media');
  const read = { visibility: 'all', isVisible: () => true, parts: [] } as const;
  const { document } = await findById(deps, request, version, 'media', read);
  const place = placeOf(request, query, 'media uses', BY_ID);
  const where = { store_id: document.keys.store_id, media_id: request.params.id! };
  const [references, total] = await Promise.all([
    version.find('media_uses', { where, order: BY_ID, parts: ['state'], ...pageOf(place) }),
    version.count('media_uses', where),
  ]);
  const page = references.slice(0, place.limit);
  const used_by = page.flatMap(({ document }) => document?.state.used_by ?? []);
  const idsOf = (collection: 'publications' | 'listings') =>
    used_by.filter((one) => one.collection === collection).map(({ id }) => id);
  const found = await Promise.all([
    version.getMany('publications', idsOf('publications')),
    version.getMany('listings', idsOf('listings')),
  ]);
  const resources = new Map(found.flat().map((stored) => [stored.id, stored.document]));
  const data = used_by.flatMap(({ id, collection }): JsonObject | [] => {
    const { body, keys } = resources.get(id) ?? {};
    if (!body || !keys) return [];
    const is_publication = collection === 'publications';
    const title = String('title' in body ? body.title : body.name);
    return { id, object: is_publication ? 'publication' : 'listing', title, visibility: keys.visibility };
  });
  const keyed = page.map(({ id }) => ({ id, keys: {} }));
  const end = endOf(place, keyed, references.length > page.length);
  return { data, meta: pageMeta({ ...place, total }, end) };
}
