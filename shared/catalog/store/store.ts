import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { AccountId, StoreId } from '../../kernel/ids';
import { patched, sameValue } from '../../kernel/same-value';
import type { Aggregate } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import {
  type Changes,
  changeEvents,
  changesOf,
  dataOfNew,
  type Input,
  initialValues,
  resourceOf,
  shownNames,
  storedShape,
  withoutNulls,
} from '../fields';
import type { Environment } from '../realm';
import {
  environmentSchema,
  paymentMethodTypeSchema,
  type StoreStatus,
  storeStatusSchema,
} from '../vocabulary';
import { storeFields } from './fields';

const fieldEvents = changeEvents(storeFields, ['StoreDescribed']);

const paymentMethodSchema = z.object({
  payment_method_id: z.string(),
  type: paymentMethodTypeSchema,
  name: z.string(),
  instructions: z.string().nullable(),
  position: z.int().min(1),
});

export const storeEvents = [
  defineEvent(
    'StoreCreated',
    z.object({ account_id: z.string(), environment: environmentSchema, ...storedShape(storeFields) }),
  ),
  ...fieldEvents,
  defineEvent('StoreStatusChanged', z.object({ status: storeStatusSchema })),
  defineEvent('PaymentMethodAdded', paymentMethodSchema),
  defineEvent('PaymentMethodRemoved', z.object({ payment_method_id: z.string() })),
] as const;

export type StoreEvent = EventOf<typeof storeEvents>;
type StoreData = Extract<StoreEvent, { type: 'StoreCreated' }>['data'];
export type PaymentMethodFields = z.infer<typeof paymentMethodSchema>;

/** What a store's events add up to. */
export interface Store extends Omit<StoreData, 'account_id'> {
  readonly id: StoreId;
  readonly account_id: AccountId;
  readonly status: StoreStatus;
  readonly payment_methods: readonly (PaymentMethodFields & { readonly created_at: string })[];
  readonly created_at: string;
  readonly updated_at: string;
}

export type StoreState = { readonly tag: 'absent' } | { readonly tag: 'present'; readonly store: Store };

/** Pure and total. `at` is the event's `occurred_at`. */
export function evolveStore(state: StoreState, event: StoreEvent, id: StoreId, at: string): StoreState {
  if (event.type === 'StoreCreated') {
    const account_id = event.data.account_id as AccountId;
    const blank = { id, status: 'active', payment_methods: [], created_at: at, updated_at: at } as const;
    return { tag: 'present', store: { ...event.data, ...blank, account_id } };
  }
  if (state.tag !== 'present') return state;
  const methods = state.store.payment_methods;
  const changed = (fields: Partial<Store>): StoreState => ({
    tag: 'present',
    store: { ...state.store, ...fields, updated_at: at },
  });
  switch (event.type) {
    case 'StoreDescribed':
    case 'StoreStatusChanged':
      return changed(event.data);
    case 'PaymentMethodAdded':
      return changed({ payment_methods: [...methods, { ...event.data, created_at: at }] });
    case 'PaymentMethodRemoved': {
      const gone = event.data.payment_method_id;
      return changed({ payment_methods: methods.filter((method) => method.payment_method_id !== gone) });
    }
    default:
      return assertNever(event, 'store event');
  }
}

export const storeAggregate: Aggregate<StoreState, StoreEvent, StoreId> = {
  category: 'store',
  absent: { tag: 'absent' },
  evolve: evolveStore,
  owner: (state) =>
    state.tag === 'absent' ? undefined : { store_id: state.store.id, account_id: state.store.account_id },
};

/** Any subset of the fields; one that is not given stays as it is. */
export type StoreChanges = Changes<typeof storeFields>;

export type StoreInput = Input<typeof storeFields> & {
  readonly account_id: string;
  readonly environment: Environment;
};

/** Without `position`: after the last. */
export type PaymentMethodInput = Omit<PaymentMethodFields, 'position'> & {
  readonly position?: number | undefined;
};

export type StoreCommand =
  | { readonly type: 'CreateStore'; readonly input: StoreInput }
  | { readonly type: 'DescribeStore'; readonly changes: StoreChanges }
  | { readonly type: 'ChangeStoreStatus'; readonly status: StoreStatus }
  | { readonly type: 'AddPaymentMethod'; readonly method: PaymentMethodInput }
  | { readonly type: 'RemovePaymentMethod'; readonly payment_method_id: string };

export function decideStore(state: StoreState, command: StoreCommand): Decision<StoreEvent> {
  if (command.type === 'CreateStore') return create(state, command.input);
  if (state.tag === 'absent') return reject('store_not_found');
  const { store } = state;
  switch (command.type) {
    case 'DescribeStore':
      return accept(...changesOf(fieldEvents, store, command.changes));
    case 'ChangeStoreStatus': {
      const { status } = command;
      return status === store.status ? accept() : accept({ type: 'StoreStatusChanged', data: { status } });
    }
    case 'AddPaymentMethod':
      return addPaymentMethod(store, command.method);
    case 'RemovePaymentMethod': {
      const { payment_method_id } = command;
      const known = store.payment_methods.some((method) => method.payment_method_id === payment_method_id);
      return known ? accept({ type: 'PaymentMethodRemoved', data: { payment_method_id } }) : accept();
    }
    default:
      return assertNever(command, 'store command');
  }
}

const INITIAL = initialValues(storeFields);

function create(state: StoreState, input: StoreInput): Decision<StoreEvent> {
  const { account_id, environment } = input;
  const data = dataOfNew<StoreData>({ account_id, environment }, INITIAL, input);
  if (state.tag === 'absent') return accept({ type: 'StoreCreated', data });
  const repeated = sameValue({ ...state.store, ...data }, state.store);
  return repeated ? accept() : reject('lost_race', 'a store with this id exists already');
}

function addPaymentMethod(store: Store, method: PaymentMethodInput): Decision<StoreEvent> {
  const known = store.payment_methods.find((other) => other.payment_method_id === method.payment_method_id);
  if (known) {
    const repeated = sameValue(patched(known, method), known);
    return repeated ? accept() : reject('field_invalid', 'a payment method with this id exists already');
  }
  const last = Math.max(0, ...store.payment_methods.map((other) => other.position));
  return accept({ type: 'PaymentMethodAdded', data: { ...method, position: method.position ?? last + 1 } });
}

/** `status`, which has events of its own, is shown after `name`. */
const SHOWN = shownNames(storeFields).toSpliced(1, 0, 'status');

/** The resource without `stats`, which are known to the documents alone. */
export function storeResource(store: Store): JsonObject {
  return resourceOf('store', SHOWN, store);
}

export function paymentMethodResource(method: PaymentMethodFields): JsonObject {
  return withoutNulls({
    id: method.payment_method_id,
    object: 'payment_method',
    type: method.type,
    name: method.name,
    instructions: method.instructions,
    position: method.position,
  });
}
