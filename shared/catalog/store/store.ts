import { z } from 'zod';
import { accept, type Decision, reject, rejectFaults } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { AccountId, StoreId } from '../../kernel/ids';
import { isSameValue } from '../../kernel/same-value';
import { type Aggregate, present, type State } from '../events/aggregate';
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
  responseNames,
  storedShape,
  withoutNulls,
} from '../fields';
import { priceRulesOf } from '../publication/derived-prices';
import type { Environment } from '../realm';
import { withTranslations } from '../translations';
import {
  environmentSchema,
  paymentMethodTypeSchema,
  type StoreStatus,
  storeStatusSchema,
} from '../vocabulary';
import { STORE_CHANGES, storeFields } from './fields';
import { faultsOfMarkets, type WithMarkets } from './markets';

const fieldEvents = changeEvents(storeFields, STORE_CHANGES);

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

/** A store: the state that its events fold to. */
export interface Store extends Omit<StoreData, 'account_id'> {
  readonly id: StoreId;
  readonly account_id: AccountId;
  readonly status: StoreStatus;
  /** Set once a market has derived prices. Publications have the rules of the store from then on. */
  readonly derives?: true;
  readonly payment_methods: readonly (PaymentMethodFields & { readonly created_at: string })[];
  /** Number of events so far. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

function evolve(state: State<Store>, event: StoreEvent, id: StoreId, occurred_at: string): State<Store> {
  if (event.type === 'StoreCreated') {
    const account_id = event.data.account_id as AccountId;
    const times = { created_at: occurred_at, updated_at: occurred_at };
    const own = { id, account_id, status: 'active', payment_methods: [], version: 1 } as const;
    return present({ ...event.data, ...derivesIn(event.data), ...own, ...times });
  }
  if (state.tag !== 'present') return state;
  const { payment_methods: methods, version } = state.resource;
  const changed = (fields: Partial<Store>) =>
    present({ ...state.resource, ...fields, version: version + 1, updated_at: occurred_at });
  switch (event.type) {
    case 'StoreDescribed':
    case 'StoreReviewsConfigured':
    case 'StoreCurrencySet':
    case 'StoreLocalesSet':
    case 'StoreTranslated':
    case 'StoreCurrenciesSet':
    case 'StorePriceListsSet':
    case 'StoreStatusChanged':
      return changed(event.data);
    case 'StoreMarketsSet':
      return changed({ ...event.data, ...derivesIn(event.data) });
    case 'PaymentMethodAdded':
      return changed({ payment_methods: [...methods, { ...event.data, created_at: occurred_at }] });
    case 'PaymentMethodRemoved': {
      const removed_id = event.data.payment_method_id;
      return changed({
        payment_methods: methods.filter((method) => method.payment_method_id !== removed_id),
      });
    }
    default:
      return assertNever(event, 'store event');
  }
}

const derivesIn = (store: WithMarkets): Pick<Store, 'derives'> =>
  Object.keys(priceRulesOf(store)).length > 0 ? { derives: true } : {};

/** Values of some fields. A field that is missing stays unchanged. */
export type StoreChanges = Changes<typeof storeFields>;

export type StoreInput = Input<typeof storeFields> & {
  readonly account_id: string;
  readonly environment: Environment;
};

/** A payment method without `position` comes after the last one. */
export type PaymentMethodInput = Omit<PaymentMethodFields, 'position'> & {
  readonly position?: number | undefined;
};

export type StoreCommand =
  | { readonly type: 'CreateStore'; readonly input: StoreInput }
  | { readonly type: 'DescribeStore'; readonly changes: StoreChanges }
  | { readonly type: 'ChangeStoreStatus'; readonly status: StoreStatus }
  | { readonly type: 'AddPaymentMethod'; readonly method: PaymentMethodInput }
  | { readonly type: 'RemovePaymentMethod'; readonly payment_method_id: string };

function decide(state: State<Store>, command: StoreCommand): Decision<StoreEvent> {
  if (command.type === 'CreateStore') return create(state, command.input);
  if (state.tag !== 'present') return reject('store_not_found');
  const store = state.resource;
  switch (command.type) {
    case 'DescribeStore': {
      const { changes } = command;
      const faults = faultsOfMarkets(changes, store);
      if (faults.length > 0) return rejectFaults(faults);
      return accept(...changesOf(fieldEvents, store, withTranslations(changes, store)));
    }
    case 'ChangeStoreStatus': {
      const { status } = command;
      return status === store.status ? accept() : accept({ type: 'StoreStatusChanged', data: { status } });
    }
    case 'AddPaymentMethod':
      return addPaymentMethod(store, command.method);
    case 'RemovePaymentMethod': {
      const { payment_method_id } = command;
      const exists = store.payment_methods.some((method) => method.payment_method_id === payment_method_id);
      return exists ? accept({ type: 'PaymentMethodRemoved', data: { payment_method_id } }) : accept();
    }
    default:
      return assertNever(command, 'store command');
  }
}

const INITIAL = initialValues(storeFields);

function create(state: State<Store>, input: StoreInput): Decision<StoreEvent> {
  const { account_id, environment } = input;
  const values = withTranslations(input, undefined);
  const faults = faultsOfMarkets(input);
  if (faults.length > 0) return rejectFaults(faults);
  const data = dataOfNew<StoreData>({ account_id, environment }, INITIAL, values);
  if (state.tag !== 'present') return accept({ type: 'StoreCreated', data });
  const is_repeat = isSameValue({ ...state.resource, ...data }, state.resource);
  return is_repeat ? accept() : reject('lost_race', 'A store with this id already exists');
}

function addPaymentMethod(store: Store, method: PaymentMethodInput): Decision<StoreEvent> {
  const existing = store.payment_methods.find(
    (other) => other.payment_method_id === method.payment_method_id,
  );
  if (existing) {
    const same = { ...existing, ...method, position: method.position ?? existing.position };
    const is_repeat = isSameValue(same, existing);
    return is_repeat ? accept() : reject('field_invalid', 'A payment method with this id already exists');
  }
  const last = Math.max(0, ...store.payment_methods.map((other) => other.position));
  return accept({ type: 'PaymentMethodAdded', data: { ...method, position: method.position ?? last + 1 } });
}

export const storeAggregate: Aggregate<Store, StoreEvent, StoreId, StoreCommand> = {
  category: 'store',
  events: storeEvents,
  state_version: 2,
  not_found: 'store_not_found',
  evolve,
  decide,
  owner: ({ id, account_id }) => ({ store_id: id, account_id }),
};

/**
 * Field names in the order of responses. `status` comes second; it is not in `storeFields`, because commands set it.
 */
const RESPONSE_NAMES = responseNames(storeFields).toSpliced(1, 0, 'status');

/** Returns the resource without `stats`. Only documents contain the number of listings. */
export function storeResource(store: Store): JsonObject {
  return resourceOf('store', RESPONSE_NAMES, store);
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
