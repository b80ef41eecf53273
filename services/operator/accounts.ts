import type { Account } from '../../shared/catalog/account/account';
import { idField } from '../../shared/catalog/input-rules';
import { ENVIRONMENTS, type Environment } from '../../shared/catalog/realm';
import { storeResource } from '../../shared/catalog/store/store';
import type { AccountId } from '../../shared/kernel/ids';
import { scanBodies, scanDocuments } from '../../shared/ports/bodies';
import {
  createAccount,
  findAccount,
  newAccountSchema,
  reinstateAccount,
  suspendAccount,
} from '../command/account';
import { createStore, newStoreSchema } from '../command/store';
import { appliedMeta } from './applied';
import { endpoint, notFound, type OperatorDeps } from './endpoint';

/** Statuses of a webhook that sends nothing. */
const STOPPED = ['paused', 'disabled'] as const;

const newStoreBody = newStoreSchema.extend({ account_id: idField });

export const accountEndpoints = [
  endpoint('GET /operator/accounts', {}, async ({ deps }) => ({
    data: await scanBodies(deps.views.control, 'accounts'),
  })),

  endpoint('POST /operator/accounts', { body: newAccountSchema }, async ({ deps, body, context }) => {
    const written = await createAccount(deps, context, body);
    const { id } = written.value;
    return { status: 201, data: shown(written.value), meta: await appliedMeta(deps, 'control', id, written) };
  }),

  ...(['suspend', 'reinstate'] as const).map((action) =>
    endpoint(`POST /operator/account/:id/${action}`, {}, async ({ deps, id, context }) => {
      const account_id = id as AccountId;
      if (!(await findAccount(deps, account_id))) throw notFound('There is no such account');
      const change = action === 'suspend' ? suspendAccount : reinstateAccount;
      const written = await change(deps, context, account_id);
      return { data: shown(written.value), meta: await appliedMeta(deps, 'control', account_id, written) };
    }),
  ),

  endpoint('GET /operator/stores', {}, async ({ deps }) => {
    const [stores, stopped_webhooks] = await Promise.all([
      ofEach((environment) => storesOf(deps, environment)),
      ofEach((environment) => stoppedWebhooks(deps, environment)),
    ]);
    return { data: { stores, stopped_webhooks } };
  }),

  endpoint('POST /operator/stores', { body: newStoreBody }, async ({ deps, body, context }) => {
    const { account_id, ...input } = body;
    const written = await createStore(deps, context, { account_id: account_id as AccountId }, input);
    const { id, environment } = written.value;
    const data = { ...storeResource(written.value), environment, account_id };
    return { status: 201, data, meta: await appliedMeta(deps, environment, id, written) };
  }),
];

const shown = ({ id, name, status, created_at }: Account) => ({ id, name, status, created_at });

async function ofEach<Item>(read: (environment: Environment) => Promise<Item[]>): Promise<Item[]> {
  return (await Promise.all(ENVIRONMENTS.map(read))).flat();
}

async function storesOf(deps: OperatorDeps, environment: Environment) {
  return (await scanDocuments(deps.views[environment], 'stores')).map(({ keys, body }) => {
    const { id, name, status, created_at } = body;
    return { id, name, environment, status, account_id: keys.account_id, created_at };
  });
}

/** Returns the webhooks that do not send, and how many messages wait at each. */
async function stoppedWebhooks(deps: OperatorDeps, environment: Environment) {
  const scans = STOPPED.map((status) => scanDocuments(deps.views[environment], 'webhooks', { status }));
  return (await Promise.all(scans)).flat().map(({ keys, body }) => {
    const { id, url, status, status_reason = null, pending_count, updated_at } = body;
    const { store_id } = keys;
    return { id, url, environment, store_id, status, status_reason, pending_count, updated_at };
  });
}
