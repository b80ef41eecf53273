import type { StoreEvent } from '../../../shared/catalog/store/store';
import { type StoreChanges, type StoreCommand, storeAggregate } from '../../../shared/catalog/store/store';
import type { StoreId } from '../../../shared/kernel/ids';
import { deciderSpec, newId } from './support';

const given = deciderSpec(storeAggregate, newId<StoreId>());

const input = { account_id: newId(), environment: 'live', name: 'Shop' } as const;
const profile = { description: null, businessHours: null, contact: null, policies: null, ruc: null };
const created: StoreEvent = { type: 'StoreCreated', data: { ...input, ...profile } };
const create: StoreCommand = { type: 'CreateStore', input };
const patch = (changes: StoreChanges): StoreCommand => ({ type: 'DescribeStore', changes });
const changeStatus = (status: 'active' | 'inactive' | 'suspended'): StoreCommand => ({
  type: 'ChangeStoreStatus',
  status,
});

const cash = { payment_method_id: newId(), type: 'cash', name: 'Cash', instructions: null } as const;
const card = { payment_method_id: newId(), type: 'card', name: 'Card', instructions: 'Any' } as const;
const added = (method: typeof cash | typeof card, position: number): StoreEvent => ({
  type: 'PaymentMethodAdded',
  data: { ...method, position },
});

describe('a store', () => {
  test('is created once, and another store with its id is rejected', () => {
    given([]).when(create).thenAppends([created]);
    given([created]).when(create).thenAppendsNothing();
    given([created])
      .when({ ...create, input: { ...input, environment: 'test' } })
      .thenRejects('lost_race');
  });

  test('appends StoreDescribed only if a field differs', () => {
    const contact = { email: 'a@example.com', phone: '1' };
    const described: StoreEvent = { type: 'StoreDescribed', data: { name: 'Shop', ...profile, contact } };
    given([created]).when(patch({ contact })).thenAppends([described]);
    given([created, described])
      .when(patch({ contact: { phone: '1', email: 'a@example.com' } }))
      .thenAppendsNothing();
    given([created])
      .when(patch({ name: 'Shop', ruc: null }))
      .thenAppendsNothing();
  });

  test('changes its status only once', () => {
    const closed: StoreEvent = { type: 'StoreStatusChanged', data: { status: 'inactive' } };
    given([created]).when(changeStatus('active')).thenAppendsNothing();
    given([created]).when(changeStatus('inactive')).thenAppends([closed]);
    given([created, closed]).when(changeStatus('inactive')).thenAppendsNothing();
  });

  test('that does not exist rejects every command', () => {
    given([]).when(changeStatus('inactive')).thenRejects('store_not_found');
    given([])
      .when(patch({ name: 'X' }))
      .thenRejects('store_not_found');
    given([]).when({ type: 'AddPaymentMethod', method: cash }).thenRejects('store_not_found');
    given([])
      .when({ type: 'RemovePaymentMethod', payment_method_id: newId() })
      .thenRejects('store_not_found');
  });
});

describe('a payment method', () => {
  test('without a position comes after the last one', () => {
    given([created])
      .when({ type: 'AddPaymentMethod', method: cash })
      .thenAppends([added(cash, 1)]);
    given([created, added(cash, 7)])
      .when({ type: 'AddPaymentMethod', method: card })
      .thenAppends([added(card, 8)]);
    given([created])
      .when({ type: 'AddPaymentMethod', method: { ...card, position: 3 } })
      .thenAppends([added(card, 3)]);
  });

  test('is added once, and another one with its id is rejected', () => {
    const events = [created, added(cash, 1)];
    given(events).when({ type: 'AddPaymentMethod', method: cash }).thenAppendsNothing();
    given(events)
      .when({ type: 'AddPaymentMethod', method: { ...cash, name: 'Coins' } })
      .thenRejects('field_invalid');
  });

  test('is removed only once', () => {
    const { payment_method_id } = cash;
    const removed: StoreEvent = { type: 'PaymentMethodRemoved', data: { payment_method_id } };
    const remove = { type: 'RemovePaymentMethod', payment_method_id } as const;
    given([created, added(cash, 1)])
      .when(remove)
      .thenAppends([removed]);
    given([created, added(cash, 1), removed])
      .when(remove)
      .thenAppendsNothing();
  });
});
