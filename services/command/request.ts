import { writeQuerySchema } from '../../shared/api/requests/writes';
import { storeOf } from '../../shared/http/auth';
import { assertIfMatch } from '../../shared/http/respond';
import type { ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { CatalogError, type Condition } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import type { ActiveStores } from './active-stores';
import type { WriteContext } from './context';

/** Who asks and for which operation, for the events' metadata. */
export function contextOf(request: ApiRequest): WriteContext {
  const { account_id, api_key_id } = request.principal;
  const context: WriteContext = { source: 'api', request_id: request.request_id, account_id, api_key_id };
  if (request.operation === undefined) return context;
  const { idempotency_key, ...operation } = request.operation;
  return { ...context, idempotency_key, operation };
}

/** The store that the query names, checked to be the token's; undefined where it names none. */
function queriedStore(request: ApiRequest): StoreId | undefined {
  const { store_id } = parseQuery(writeQuerySchema, request.query);
  return store_id === undefined ? undefined : storeOf(request.principal, store_id);
}

/**
 * The store that a new resource goes to: the body's, the query's, or the token's first (decisions §2). Throws
 * `field_invalid` where body and query differ, and `store_access_denied`. Whether the store is open is the write's to check.
 */
export function storeNamedForNew(request: ApiRequest, body_store_id: string | null | undefined): StoreId {
  const queried = queriedStore(request);
  if (queried !== undefined && typeof body_store_id === 'string' && body_store_id !== queried) {
    throw CatalogError.ofFaults([
      { condition: 'field_invalid', field: 'store_id', constraint: 'the same store as in the query' },
    ]);
  }
  return queried ?? storeOf(request.principal, body_store_id ?? undefined);
}

/**
 * The guard of a write by id: the resource must be in one of the token's stores and in the one that the query names
 * (else `not_found`), its store active, and `If-Match` right. Checks the query at once, the rest when the resource is read.
 */
export function guardFor(
  request: ApiRequest,
  stores: ActiveStores,
  not_found: Condition,
): (resource: { readonly store_id: StoreId; readonly version: number }) => Promise<void> {
  const queried = queriedStore(request);
  const { principal } = request;
  return async ({ store_id, version }) => {
    const reachable = principal.stores.includes(store_id) && (queried ?? store_id) === store_id;
    if (!reachable) throw new CatalogError(not_found);
    await stores.require(principal.environment, store_id);
    assertIfMatch(request.header('if-match'), version);
  };
}
