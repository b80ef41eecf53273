import { z } from 'zod';
import { newShape, patchShape } from '../../shared/catalog/fields';
import { lineField, textField } from '../../shared/catalog/input-rules';
import type { Environment } from '../../shared/catalog/realm';
import { storeFields } from '../../shared/catalog/store/fields';
import {
  decideStore,
  type PaymentMethodFields,
  type Store,
  type StoreCommand,
  type StoreState,
  storeAggregate,
} from '../../shared/catalog/store/store';
import {
  environmentSchema,
  paymentMethodTypeSchema,
  type StoreStatus,
} from '../../shared/catalog/vocabulary';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { type AccountId, generateId, type PaymentMethodId, type StoreId } from '../../shared/kernel/ids';
import { requireAccount } from './account';
import {
  type ControlDeps,
  execute,
  load,
  placeIn,
  type StoreDeps,
  type WriteContext,
  type Written,
} from './execute';

const { name, ...profile } = newShape(storeFields);

export const newStoreSchema = z.strictObject({ name, environment: environmentSchema, ...profile });
export const storePatchSchema = z.strictObject(patchShape(storeFields));

/** `position` defaults to after the last. */
export const newPaymentMethodSchema = z.strictObject({
  type: paymentMethodTypeSchema,
  name: lineField(120),
  instructions: textField(5_000).nullish(),
  position: z.int().min(1).max(10_000).optional(),
});

export type NewStore = z.output<typeof newStoreSchema>;
export type StorePatch = z.output<typeof storePatchSchema>;
export type NewPaymentMethod = z.output<typeof newPaymentMethodSchema>;

/** A store by id, in the environment that it lives in for good. */
export interface StoreTarget {
  readonly environment: Environment;
  readonly id: StoreId;
}

/** Throws faults of the input, an unknown account's among them, and `account_suspended`. `id` where it is derived. */
export async function createStore(
  deps: ControlDeps,
  context: WriteContext,
  target: { readonly account_id: AccountId; readonly id?: StoreId },
  input: NewStore,
): Promise<Written<Store>> {
  const store = parseBody(newStoreSchema, input);
  const account = await requireAccount(deps, target.account_id);
  if (account.status === 'suspended') throw new CatalogError('account_suspended');
  const id = target.id ?? generateId<StoreId>(deps.system.now(), deps.system.random);
  const command = { type: 'CreateStore', input: { ...store, account_id: account.id } } as const;
  return run(deps, context, { environment: store.environment, id }, command);
}

/** Throws faults of the changes and `store_not_found`. */
export async function describeStore(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget,
  changes: StorePatch,
): Promise<Written<Store>> {
  const checked = parseBody(storePatchSchema, changes);
  return run(deps, context, target, { type: 'DescribeStore', changes: checked });
}

/** Any status but `active` hides the store from reads and writes (decisions §3). Throws `store_not_found`. */
export async function changeStoreStatus(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget,
  status: StoreStatus,
): Promise<Written<Store>> {
  return run(deps, context, target, { type: 'ChangeStoreStatus', status });
}

/** Throws faults of the input and `store_not_found`. */
export async function addPaymentMethod(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget & { readonly payment_method_id?: PaymentMethodId },
  input: NewPaymentMethod,
): Promise<Written<PaymentMethodFields>> {
  const { instructions = null, ...rest } = parseBody(newPaymentMethodSchema, input);
  const payment_method_id =
    target.payment_method_id ?? generateId<PaymentMethodId>(deps.system.now(), deps.system.random);
  const method = { ...rest, instructions, payment_method_id };
  const written = await run(deps, context, target, { type: 'AddPaymentMethod', method });
  const added = written.value.payment_methods.find((other) => other.payment_method_id === payment_method_id);
  if (!added) throw new Error('a payment method that was just added is not there');
  return { ...written, value: added };
}

/** `changed: false` where the store has no such method. Throws `store_not_found`. */
export async function removePaymentMethod(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget & { readonly payment_method_id: PaymentMethodId },
): Promise<Written<Store>> {
  const { payment_method_id } = target;
  return run(deps, context, target, { type: 'RemovePaymentMethod', payment_method_id });
}

/** The store as its events say; undefined where this environment has none of that id. */
export async function findStore(deps: StoreDeps, target: StoreTarget): Promise<Store | undefined> {
  const { state } = await load(place(deps, target));
  return state.tag === 'present' ? state.store : undefined;
}

/** The store in whichever environment it lives. */
export async function locateStore(deps: StoreDeps, id: StoreId): Promise<Store | undefined> {
  return (
    (await findStore(deps, { environment: 'live', id })) ??
    (await findStore(deps, { environment: 'test', id }))
  );
}

async function run(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget,
  command: StoreCommand,
): Promise<Written<Store>> {
  const decide = (state: StoreState) => decideStore(state, command);
  const written = await execute({ ...place(deps, target), context, decide });
  if (written.value.tag === 'absent') throw new Error('a store that was just written is not there');
  return { ...written, value: written.value.store };
}

function place(deps: StoreDeps, { environment, id }: StoreTarget) {
  return placeIn(deps, environment, storeAggregate, id);
}
