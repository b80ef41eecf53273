import { z } from 'zod';
import { field } from '../fields';
import { lineField, textField } from '../input-rules';

const hours = { day: z.string(), hours: z.string() };
const contact = { address: z.string(), phone: z.string(), email: z.string() };
const policies = { shipping: z.string(), returns: z.string(), satisfaction: z.string() };

/** What can be written of a store (spec, "Store"), in the spec's own spelling. The limits are those of listings. */
export const storeFields = {
  name: field(z.string(), { event: 'StoreDescribed', input: lineField(120), example: 'Coffee & Clay' }),
  description: field(z.string().nullable(), {
    event: 'StoreDescribed',
    input: textField(5_000).nullable(),
    initial: null,
    example: 'Beans from small growers, and the cups to go with them.',
  }),
  businessHours: field(z.array(z.object(hours)).nullable(), {
    event: 'StoreDescribed',
    input: z
      .array(z.strictObject({ day: lineField(40), hours: lineField(80) }))
      .max(50)
      .nullable(),
    answer: z.array(z.strictObject(hours)),
    initial: null,
    example: [{ day: 'Monday to Friday', hours: '9:00–18:00' }],
  }),
  contact: field(z.object(contact).partial().nullable(), {
    event: 'StoreDescribed',
    input: z
      .strictObject({
        address: lineField(300).optional(),
        phone: lineField(40).optional(),
        email: lineField(254).pipe(z.email()).optional(),
      })
      .nullable(),
    answer: z.strictObject(contact).partial(),
    initial: null,
    example: { email: 'hello@example.com', phone: '+51 1 555 0100' },
  }),
  policies: field(z.object(policies).partial().nullable(), {
    event: 'StoreDescribed',
    input: z
      .strictObject({ shipping: textField(5_000), returns: textField(5_000), satisfaction: textField(5_000) })
      .partial()
      .nullable(),
    answer: z.strictObject(policies).partial(),
    initial: null,
    example: { returns: 'Within 30 days.' },
  }),
  ruc: field(z.string().nullable(), {
    event: 'StoreDescribed',
    input: lineField(20).nullable(),
    initial: null,
  }),
} satisfies Record<string, { readonly event: 'StoreDescribed' }>;
