import { z } from 'zod';
import { type ApiKey, keyStatus } from '../../shared/catalog/api-key/api-key';
import { keyFields } from '../../shared/catalog/api-key/key-fields';
import { idField } from '../../shared/catalog/input-rules';
import { CatalogError } from '../../shared/kernel/errors';
import type { ApiKeyId, StoreId } from '../../shared/kernel/ids';
import { scanBodies } from '../../shared/ports/bodies';
import {
  type CreatedApiKey,
  createApiKey,
  findApiKey,
  newApiKeySchema,
  revokeApiKey,
  rotateApiKey,
} from '../command/api-key';
import { locateStore } from '../command/store';
import { appliedMeta } from './applied';
import { endpoint, notFound, type OperatorDeps } from './endpoint';

const MINUTE_MS = 60_000;
const OVERLAP_MINUTES_MAX = 525_600;

const keysQuery = z
  .object({ account: idField.optional(), store: idField.optional() })
  .refine(({ account, store }) => (account === undefined) !== (store === undefined), {
    path: ['account'],
    error: 'either account or store',
  });
const rotateBody = z.strictObject({
  /** How long the old key still works. */
  overlap_minutes: z.int().min(0).max(OVERLAP_MINUTES_MAX),
});

export const keyEndpoints = [
  endpoint('GET /operator/keys', { query: keysQuery }, async ({ deps, query }) => {
    const account_id = query.account ?? (await accountOf(deps, query.store as StoreId));
    const keys = await scanBodies(deps.views.control, 'api_keys', { account_id });
    const wanted = keys.filter(({ stores }) => !query.store || stores.includes(query.store as StoreId));
    return { data: wanted.map((key) => keyFields(key, deps.system.now())) };
  }),

  endpoint('POST /operator/keys', { body: newApiKeySchema }, async ({ deps, body, context }) => {
    const created = await createApiKey(deps, context, body);
    return { status: 201, data: withText(deps, created), meta: await metaOf(deps, created) };
  }),

  endpoint('DELETE /operator/key/:id', {}, async ({ deps, id, context }) => {
    await requireKey(deps, id);
    const written = await revokeApiKey(deps, context, id as ApiKeyId);
    return { data: keyFields(written.value, deps.system.now()), meta: await metaOf(deps, written) };
  }),

  endpoint('POST /operator/key/:id/rotate', { body: rotateBody }, async ({ deps, id, body, context }) => {
    const key = await requireKey(deps, id);
    const status = keyStatus(key, deps.system.now());
    if (status !== 'active') throw new CatalogError('lost_race', { message: `The API key is ${status}` });
    const old_valid_until = new Date(deps.system.now() + body.overlap_minutes * MINUTE_MS);
    // A key that expires is not replaced by one that does not.
    const expires_at = key.expires_at === null ? {} : { expires_at: new Date(key.expires_at) };
    let created: CreatedApiKey | undefined;
    const onCreated = async (next: CreatedApiKey): Promise<void> => {
      created = next;
    };
    const rotating = rotateApiKey(
      deps,
      context,
      id as ApiKeyId,
      { old_valid_until, ...expires_at },
      onCreated,
    );
    const rotated = await rotating.catch((error: unknown) => {
      // The new key can be shown only now, also if the old one gets no expiry.
      if (!created) throw error;
      return { ...created, old: undefined };
    });
    const old_key_expires_at = rotated.old?.value.expires_at ?? null;
    const data = { ...withText(deps, rotated), rotated_from: id, old_key_expires_at };
    return { status: 201, data, meta: await metaOf(deps, rotated.old ?? rotated) };
  }),
];

/** Returns the new key with its text, which is not stored. */
const withText = ({ system }: OperatorDeps, { key, value }: CreatedApiKey) => ({
  key,
  ...keyFields(value, system.now()),
});

const metaOf = (deps: OperatorDeps, written: Pick<CreatedApiKey, 'value' | 'position'>) =>
  appliedMeta(deps, 'control', written.value.account_id, written);

async function requireKey(deps: OperatorDeps, id: string): Promise<ApiKey> {
  const key = await findApiKey(deps, id as ApiKeyId);
  if (!key) throw notFound('There is no such API key');
  return key;
}

async function accountOf(deps: OperatorDeps, id: StoreId): Promise<string> {
  const store = await locateStore(deps, id);
  if (!store) throw new CatalogError('store_not_found');
  return store.account_id;
}
