import { z } from 'zod';
import { assertNever } from '../../kernel/assert-never';
import type { AccountId, StoreId } from '../../kernel/ids';
import { defineEvent, type EventOf } from '../events/event-definition';
import { environmentSchema, paymentMethodTypeSchema, storeStatusSchema } from '../vocabulary';

/** The optional fields of a Store (spec, "Store"), in the spec's own spelling; null is "not given". */
export const storeProfileSchema = z.object({
  description: z.string().nullable(),
  businessHours: z.array(z.object({ day: z.string(), hours: z.string() })).nullable(),
  contact: z
    .object({ address: z.string().optional(), phone: z.string().optional(), email: z.string().optional() })
    .nullable(),
  policies: z
    .object({
      shipping: z.string().optional(),
      returns: z.string().optional(),
      satisfaction: z.string().optional(),
    })
    .nullable(),
  ruc: z.string().nullable(),
});

export const paymentMethodSchema = z.object({
  payment_method_id: z.string(),
  type: paymentMethodTypeSchema,
  name: z.string(),
  instructions: z.string().nullable(),
  position: z.int().min(1),
});

export const storeEvents = [
  defineEvent(
    'StoreCreated',
    z.object({
      account_id: z.string(),
      environment: environmentSchema,
      name: z.string(),
      ...storeProfileSchema.shape,
    }),
  ),
  defineEvent('StoreDescribed', z.object({ name: z.string(), ...storeProfileSchema.shape })),
  defineEvent('StoreStatusChanged', z.object({ status: storeStatusSchema })),
  defineEvent('PaymentMethodAdded', paymentMethodSchema),
  defineEvent('PaymentMethodRemoved', z.object({ payment_method_id: z.string() })),
] as const;

export type StoreEvent = EventOf<typeof storeEvents>;
export type StoreProfile = z.infer<typeof storeProfileSchema>;
export type PaymentMethodFields = z.infer<typeof paymentMethodSchema>;

/** What a store's events add up to. */
export interface Store extends StoreProfile {
  readonly id: StoreId;
  readonly account_id: AccountId;
  readonly environment: z.infer<typeof environmentSchema>;
  readonly name: string;
  readonly status: z.infer<typeof storeStatusSchema>;
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
