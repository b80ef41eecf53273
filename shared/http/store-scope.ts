import { CatalogError } from '../kernel/errors';
import { parseId, type StoreId } from '../kernel/ids';
import type { Principal } from './principal';

/**
 * The store a request means: the one it names, else the first of its token (decisions §2). Throws `invalid_uuid`, and
 * `store_access_denied` for a store outside the token's, whether it exists or not, and for a token without stores.
 */
export function storeOf(principal: Principal, query_store_id?: string): StoreId {
  const asked = query_store_id === undefined ? principal.stores[0] : parseStoreId(query_store_id);
  if (asked === undefined || !principal.stores.includes(asked)) throw new CatalogError('store_access_denied');
  return asked;
}

function parseStoreId(text: string): StoreId {
  const id = parseId<StoreId>(text);
  if (id === undefined)
    throw CatalogError.ofFaults([{ condition: 'invalid_uuid', field: 'store_id', constraint: 'a UUID' }]);
  return id;
}
