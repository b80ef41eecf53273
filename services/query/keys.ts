import { reads } from '../../shared/api/operations/reads';
import { isKeyWithin, keyResource, managesKeys } from '../../shared/catalog/api-key/api-key';
import { compareTexts } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta, parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { scanBodies } from '../../shared/ports/bodies';
import { accessibleStores, openStore, type ReadDeps, requestedStore, requireStore } from './read';

/** Handles `GET /api/keys`. Reads all keys of the account: a merchant's account has few. */
export async function readKeys(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const { page, limit } = parseQuery(reads.listKeys.query, request.query);
  const store_id = requestedStore(request);
  await requireStore(await openStore(deps, request, store_id), store_id);
  const { account_id, api_key_id } = request.principal;
  const all = await scanBodies(deps.control_view, 'api_keys', { account_id });
  const own = all.find(({ id }) => id === api_key_id);
  if (!own || !managesKeys(own)) throw new CatalogError('insufficient_permissions');
  const stores = accessibleStores(request);
  const keys = all.filter((key) => isKeyWithin(key, { account_id, stores }));
  keys.sort((a, b) => compareTexts(b.created_at, a.created_at) || compareTexts(b.id, a.id));
  const shown = keys.slice((page - 1) * limit, page * limit);
  const data = shown.map((key) => keyResource(key, deps.now(), api_key_id));
  return { data, meta: pageMeta({ page, limit, total: keys.length }) };
}
