import { KEYS_MAX, writes } from '../../shared/api/operations/writes';
import { keyPatchBody, newKeyBody, writeQuerySchema } from '../../shared/api/requests/writes';
import {
  type ApiKey,
  isKeyWithin,
  keyResource,
  keyStatus,
  managesKeys,
} from '../../shared/catalog/api-key/api-key';
import type { Realm } from '../../shared/catalog/realm';
import { storeOf } from '../../shared/http/auth';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { ApiKeyId, StoreId } from '../../shared/kernel/ids';
import { scanBodies } from '../../shared/ports/bodies';
import type { ActiveView } from '../../shared/ports/document-reader';
import {
  type CreatedApiKey,
  changeApiKey,
  createApiKey,
  findApiKey,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
} from './api-key';
import type { ControlDeps, Written } from './execute';
import { type RouteDeps, waitUntilProjected, writeContextOf } from './request';

/** How long the old key works after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;

/** Dependencies of the writes to API keys, which are in the `control` realm. */
export interface KeyDeps extends ControlDeps {
  readonly views: Readonly<Record<Realm, ActiveView>>;
}

/** Returns the routes for the keys of one's own stores (docs/interface/access.md#keys-of-a-store). */
export function keyRoutes(deps: RouteDeps & KeyDeps): Route[] {
  const { system, views } = deps;
  /** Returns the answer when the list shows the write, or after a second. */
  const answerTo = async (
    request: ApiRequest,
    written: Written<ApiKey>,
    secret?: string,
  ): Promise<Answer> => {
    const { value, position, repeated } = written;
    await waitUntilProjected(views.control, value.account_id, position).catch((error: unknown) =>
      deps.log.warn({ err: error }, 'could not wait for the projection of a key'),
    );
    return {
      data: keyResource(value, system.now(), request.principal.api_key_id),
      ...(repeated && { headers: { 'Idempotent-Replayed': 'true' } }),
      ...(secret !== undefined && !repeated && { secrets: { secret } }),
    };
  };
  const create = async (request: ApiRequest): Promise<Answer> => {
    const { permissions, ...fields } = parseBody(newKeyBody, request.body);
    const stores = await storesOfRequest(deps, request);
    const { account_id } = request.principal;
    const keys = await scanBodies(views.control, 'api_keys', { account_id });
    const isCounted = (key: ApiKey): boolean =>
      isKeyWithin(key, { account_id, stores }) && keyStatus(key, system.now()) === 'active';
    // The documents may be a moment old, so keys that are created at the same time may exceed the limit.
    if (keys.filter(isCounted).length >= KEYS_MAX) throw new CatalogError('too_many_keys');
    const input = {
      account_id,
      ...fields,
      stores: [...stores],
      ...(permissions && { permissions }),
    };
    const created = await createApiKey(deps, writeContextOf(request), input);
    return { ...(await answerTo(request, created, created.key)), status: 201 };
  };
  /** Returns the route of a write to one key, which must be within the stores of the request. */
  const change = (
    operation: (typeof writes)['updateKey' | 'rotateKey' | 'revokeKey'],
    write: (request: ApiRequest, key: ApiKey) => Promise<Answer>,
  ): Route =>
    routeOf(operation, async (request) => {
      const stores = await storesOfRequest(deps, request);
      const key = await findApiKey(deps, request.params.id as ApiKeyId);
      const { account_id } = request.principal;
      if (!key || !isKeyWithin(key, { account_id, stores })) throw new CatalogError('key_not_found');
      return write(request, key);
    });
  return [
    routeOf(writes.createKey, create),
    change(writes.updateKey, async (request, { id }) => {
      const changes = parseBody(keyPatchBody, request.body);
      if (changes.needs_confirmation && id === request.principal.api_key_id)
        throw new CatalogError('key_of_request', {
          message: 'A key that manages keys needs no confirmation: change it with another one',
        });
      return answerTo(request, await changeApiKey(deps, writeContextOf(request), id, changes));
    }),
    change(writes.rotateKey, async (request, key) => {
      if (keyStatus(key, system.now()) !== 'active') throw new CatalogError('key_not_found');
      const created = await rotate(deps, request, key);
      return { ...(await answerTo(request, created, created.key)), status: 201 };
    }),
    change(writes.revokeKey, async (request, { id }) => {
      if (id === request.principal.api_key_id) throw new CatalogError('key_of_request');
      return answerTo(request, await revokeApiKey(deps, writeContextOf(request), id));
    }),
  ];
}

/**
 * Returns the stores whose keys the request may manage: the one in the query, or all of its key. Throws
 * `insufficient_permissions` if the key may not manage keys.
 */
async function storesOfRequest(deps: ControlDeps, request: ApiRequest): Promise<readonly StoreId[]> {
  const { store_id } = parseQuery(writeQuerySchema, request.query);
  const { principal } = request;
  const stores = store_id === undefined ? principal.stores : [storeOf(principal, store_id)];
  if (!managesKeys(await readApiKey(deps, principal.api_key_id)))
    throw new CatalogError('insufficient_permissions');
  return stores;
}

/** Replaces a key. Returns the new key also if the old one then gets no expiry, because the new one can be shown only now. */
async function rotate(deps: RouteDeps & KeyDeps, request: ApiRequest, key: ApiKey): Promise<CreatedApiKey> {
  const old_valid_until = new Date(deps.system.now() + OVERLAP_MS);
  const expires_at = key.expires_at === null ? {} : { expires_at: new Date(key.expires_at) };
  let created: CreatedApiKey | undefined;
  const onCreated = async (next: CreatedApiKey): Promise<void> => {
    created = next;
  };
  try {
    await rotateApiKey(deps, writeContextOf(request), key.id, { old_valid_until, ...expires_at }, onCreated);
  } catch (error) {
    if (!created) throw error;
    deps.log.warn({ err: error, api_key_id: key.id }, 'the old key of a rotation got no expiry');
  }
  return created!;
}
