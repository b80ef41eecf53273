import type { Environment } from '../../../shared/catalog/realm';
import type {
  PaymentMethodFields,
  Store,
  StoreEvent,
  StoreProfile,
  StoreState,
} from '../../../shared/catalog/store/store';
import type { StoreStatus } from '../../../shared/catalog/vocabulary';
import { assertNever } from '../../../shared/kernel/assert-never';
import { accept, type Decision, reject } from '../../../shared/kernel/decision';
import { patched, sameValue } from '../../../shared/kernel/same-value';

type Described = StoreProfile & { name: string };

/** Any subset of name and profile; a field that is not given stays as it is. */
export type StoreChanges = { readonly [Field in keyof Described]?: Described[Field] | undefined };

export interface StoreInput extends StoreChanges {
  readonly account_id: string;
  readonly environment: Environment;
  readonly name: string;
}

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
    case 'DescribeStore': {
      const data = described(patched(described(store), command.changes));
      return sameValue(data, described(store)) ? accept() : accept({ type: 'StoreDescribed', data });
    }
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

function create(state: StoreState, input: StoreInput): Decision<StoreEvent> {
  const { account_id, environment } = input;
  const data = { account_id, environment, ...described(patched(BLANK, input)) };
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

const BLANK: Described = {
  name: '',
  description: null,
  businessHours: null,
  contact: null,
  policies: null,
  ruc: null,
};

function described(from: Described): Described {
  const { name, description, businessHours, contact, policies, ruc } = from;
  return { name, description, businessHours, contact, policies, ruc };
}
