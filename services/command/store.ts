import { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { storePatchBody } from '../../shared/api/requests/writes';
import { newShape } from '../../shared/catalog/fields';
import { lineField, textField } from '../../shared/catalog/input-rules';
import type { Environment } from '../../shared/catalog/realm';
import { storeFields } from '../../shared/catalog/store/fields';
import {
  type PaymentMethodFields,
  type Store,
  storeAggregate,
  storeResource,
} from '../../shared/catalog/store/store';
import { faultsOfTranslations } from '../../shared/catalog/translations';
import {
  environmentSchema,
  paymentMethodTypeSchema,
  type StoreStatus,
} from '../../shared/catalog/vocabulary';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { type AccountId, generateId, type PaymentMethodId, type StoreId } from '../../shared/kernel/ids';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { requireAccount } from './account';
import { type ControlDeps, executeOn, type StoreDeps, type WriteContext, type Written } from './execute';
import { awaitProjection, guardFor, type RouteDeps, readView, storeForNew, writeContextOf } from './request';

const { name, ...profile } = newShape(storeFields);

export const newStoreSchema = z.strictObject({ name, environment: environmentSchema, ...profile });

/** Input for a payment method. Without `position`, it is added after the last payment method. */
export const newPaymentMethodSchema = z.strictObject({
  type: paymentMethodTypeSchema,
  name: lineField(120),
  instructions: textField(5_000).nullish(),
  position: z.int().min(1).max(10_000).optional(),
});

export type NewStore = z.output<typeof newStoreSchema>;
export type StorePatch = z.output<typeof storePatchBody>;
export type NewPaymentMethod = z.output<typeof newPaymentMethodSchema>;

/** A store, with its environment, which never changes. */
export interface StoreTarget {
  readonly environment: Environment;
  readonly id: StoreId;
}

/**
 * Creates a store. `id`: set if the caller derives it, otherwise generated. Throws the faults of the input, which
 * include an unknown account, and `account_suspended`.
 */
export async function createStore(
  deps: ControlDeps,
  context: WriteContext,
  target: { readonly account_id: AccountId; readonly id?: StoreId },
  input: NewStore,
): Promise<Written<Store>> {
  const store = parseBody(newStoreSchema, input);
  const faults = faultsOfTranslations(store.locales, store, undefined);
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
  const account = await requireAccount(deps, target.account_id);
  if (account.status === 'suspended') throw new CatalogError('account_suspended');
  const id = target.id ?? generateId<StoreId>(deps.system.now(), deps.system.random);
  const command = { type: 'CreateStore', input: { ...store, account_id: account.id } } as const;
  return executeOn(streamRef(deps, { environment: store.environment, id }), context, command);
}

/**
 * Patches the fields of a store. Throws the faults of the changes, `store_not_found`, and errors of `guard`, which checks
 * whether the client may change this version of the store.
 */
export async function describeStore(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget & { readonly guard?: (store: Store) => unknown },
  changes: StorePatch,
): Promise<Written<Store>> {
  const patch = parseBody(storePatchBody, changes);
  const command = { type: 'DescribeStore', changes: patch } as const;
  const guard = async (store: Store): Promise<void> => {
    await target.guard?.(store);
    const faults = faultsOfTranslations(patch.locales ?? store.locales, patch, store);
    if (faults.length > 0) throw CatalogError.ofFaults(faults);
  };
  return executeOn(streamRef(deps, target), context, command, guard);
}

/**
 * Changes the status of a store. With any other status than `active`, all reads and writes of the store return
 * `store_not_found` (docs/interface/reads.md#visibility). Throws `store_not_found` if it does not exist.
 */
export async function changeStoreStatus(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget,
  status: StoreStatus,
): Promise<Written<Store>> {
  return executeOn(streamRef(deps, target), context, { type: 'ChangeStoreStatus', status });
}

/** Adds a payment method. Throws the faults of the input, and `store_not_found`. */
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
  const written = await executeOn(streamRef(deps, target), context, { type: 'AddPaymentMethod', method });
  const added = written.value.payment_methods.find((other) => other.payment_method_id === payment_method_id);
  if (!added) throw new Error('the payment method is absent after its addition');
  return { ...written, value: added };
}

/**
 * Removes a payment method. Changes nothing (`changed: false`) if the store does not have it. Throws `store_not_found`.
 */
export async function removePaymentMethod(
  deps: StoreDeps,
  context: WriteContext,
  target: StoreTarget & { readonly payment_method_id: PaymentMethodId },
): Promise<Written<Store>> {
  const { payment_method_id } = target;
  return executeOn(streamRef(deps, target), context, { type: 'RemovePaymentMethod', payment_method_id });
}

/** Returns the store from the event log, undefined if it does not exist in this environment. */
export function findStore(deps: StoreDeps, { environment, id }: StoreTarget): Promise<Store | undefined> {
  return findInLog(deps, environment, storeAggregate, id);
}

/** Finds a store in both environments. Returns undefined if it exists in neither. */
export async function locateStore(deps: StoreDeps, id: StoreId): Promise<Store | undefined> {
  return (
    (await findStore(deps, { environment: 'live', id })) ??
    (await findStore(deps, { environment: 'test', id }))
  );
}

function streamRef(deps: StoreDeps, { environment, id }: StoreTarget) {
  return streamIn(deps, environment, storeAggregate, id);
}

export function storeRoutes(deps: RouteDeps): Route[] {
  return [routeOf(writes.updateStore, (request) => update(deps, request))];
}

/** Handles `PATCH /api/store`. */
async function update(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const { environment } = request.principal;
  const id = storeForNew(request, undefined);
  const guarded = guardFor(request, deps.stores, 'store_not_found');
  const guard = ({ version }: Store) => guarded({ store_id: id, version });
  const changes = parseBody(storePatchBody, request.body);
  const written = await describeStore(deps, context, { environment, id, guard }, changes);
  const { value } = written;
  // A product that is created next has the price rules of the store.
  if (value.derives) deps.stores.forget(environment, id);
  const headers = await awaitProjection(deps, request, id, written);
  const listing_count = await readView(deps, environment, async (view) => {
    const stored = await view.get('stores', id);
    return stored?.document?.body.stats?.listing_count ?? 0;
  });
  const stats = listing_count !== undefined && { stats: { listing_count } };
  return { data: { ...storeResource(value), ...stats }, version: value.version, headers };
}
