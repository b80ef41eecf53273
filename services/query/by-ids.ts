import { reads } from '../../shared/api/operations/reads';
import { existingPublicationsSchema } from '../../shared/api/requests/reads';
import type { Answer, ApiRequest } from '../../shared/http/route';
import type { ListPlace } from './list-place';
import { pageAnswer, partsOfPage } from './page-items';
import { EXPANSIONS } from './present';
import { presentationOf } from './presentation';
import {
  isItemVisible,
  openStore,
  parseRead,
  type ReadDeps,
  type ReadHandler,
  refuseOthers,
  requestedStore,
  requireStore,
  settingsOf,
} from './read';

/** The parameters beside `ids`. All others choose or sort publications. */
const PARAMETERS = ['ids', 'store_id', 'visibility', 'expand', 'locale', 'currency', 'market', 'country'];

/** Returns the handler of `GET /api/publications`. `read` handles it without `ids`. */
export const orByIds =
  (read: ReadHandler): ReadHandler =>
  (deps, request) =>
    request.query.ids === undefined ? read(deps, request) : readByIds(deps, request);

/** Returns the publications with the ids of the query, in their order, as one page. Leaves out those that are not visible. */
async function readByIds(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead({ query: existingPublicationsSchema }, request, EXPANSIONS.publication);
  refuseOthers(request, reads.listPublications.query, PARAMETERS, 'none beside ids');
  const { ids = [], visibility } = query;
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const [store, stored] = await Promise.all([
    requireStore(version, store_id),
    version.getMany('publications', ids, partsOfPage('publication', query)),
  ]);
  const source = { version, request, as: presentationOf(settingsOf(store), request) };
  const isShown = ({ document }: (typeof stored)[number]): boolean =>
    document?.keys.store_id === store_id && isItemVisible(visibility, document.keys.visibility);
  const by_id = new Map(stored.map((one) => [one.id, one]));
  const found = ids.flatMap((id) => by_id.get(id) ?? []).filter(isShown);
  const limit = ids.length;
  const place: ListPlace = { page: 1, limit, before: 0, order: undefined, list: '' };
  return pageAnswer(source, 'publication', found, query, place, found.length);
}
