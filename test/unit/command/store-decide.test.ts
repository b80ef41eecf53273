import type { StoreEvent } from '../../../shared/catalog/store/store';
import {
  decideStore,
  type StoreChanges,
  type StoreCommand,
  storeAggregate,
} from '../../../shared/catalog/store/store';
import type { StoreId } from '../../../shared/kernel/ids';
import { newId, teller } from './support';

const { outcome } = teller(storeAggregate, decideStore, newId<StoreId>());

const input = { account_id: newId(), environment: 'live', name: 'Shop' } as const;
const profile = { description: null, businessHours: null, contact: null, policies: null, ruc: null };
const created: StoreEvent = { type: 'StoreCreated', data: { ...input, ...profile } };
const create: StoreCommand = { type: 'CreateStore', input };
const describeAs = (changes: StoreChanges): StoreCommand => ({ type: 'DescribeStore', changes });
const turn = (status: 'active' | 'inactive' | 'suspended'): StoreCommand => ({
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
  test('given none, then it is created; given the very same, nothing; given another, refused', () => {
    expect(outcome([], create)).toEqual([created]);
    expect(outcome([created], create)).toEqual([]);
    expect(outcome([created], { ...create, input: { ...input, environment: 'test' } })).toBe('lost_race');
  });

  test('is described anew only where something differs', () => {
    const contact = { email: 'a@example.com', phone: '1' };
    const told: StoreEvent = { type: 'StoreDescribed', data: { name: 'Shop', ...profile, contact } };
    expect(outcome([created], describeAs({ contact }))).toEqual([told]);
    expect(outcome([created, told], describeAs({ contact: { phone: '1', email: 'a@example.com' } }))).toEqual(
      [],
    );
    expect(outcome([created], describeAs({ name: 'Shop', ruc: null }))).toEqual([]);
  });

  test('changes its status once', () => {
    const closed: StoreEvent = { type: 'StoreStatusChanged', data: { status: 'inactive' } };
    expect(outcome([created], turn('active'))).toEqual([]);
    expect(outcome([created], turn('inactive'))).toEqual([closed]);
    expect(outcome([created, closed], turn('inactive'))).toEqual([]);
  });

  test('that is not there takes no command', () => {
    expect(outcome([], turn('inactive'))).toBe('store_not_found');
    expect(outcome([], describeAs({ name: 'X' }))).toBe('store_not_found');
    expect(outcome([], { type: 'AddPaymentMethod', method: cash })).toBe('store_not_found');
    expect(outcome([], { type: 'RemovePaymentMethod', payment_method_id: newId() })).toBe('store_not_found');
  });
});

describe('a payment method', () => {
  test('comes after the last one where no position is said', () => {
    expect(outcome([created], { type: 'AddPaymentMethod', method: cash })).toEqual([added(cash, 1)]);
    expect(outcome([created, added(cash, 7)], { type: 'AddPaymentMethod', method: card })).toEqual([
      added(card, 8),
    ]);
    expect(outcome([created], { type: 'AddPaymentMethod', method: { ...card, position: 3 } })).toEqual([
      added(card, 3),
    ]);
  });

  test('added again is no second one; another under its id is refused', () => {
    const given = [created, added(cash, 1)];
    expect(outcome(given, { type: 'AddPaymentMethod', method: cash })).toEqual([]);
    expect(outcome(given, { type: 'AddPaymentMethod', method: { ...cash, name: 'Coins' } })).toBe(
      'field_invalid',
    );
  });

  test('is removed once', () => {
    const { payment_method_id } = cash;
    const removed: StoreEvent = { type: 'PaymentMethodRemoved', data: { payment_method_id } };
    const remove = { type: 'RemovePaymentMethod', payment_method_id } as const;
    expect(outcome([created, added(cash, 1)], remove)).toEqual([removed]);
    expect(outcome([created, added(cash, 1), removed], remove)).toEqual([]);
  });
});
