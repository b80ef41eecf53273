import { z } from 'zod';
import { field } from '../fields';
import { currencyField, lineField, textField } from '../input-rules';
import { reviewStatusSchema } from '../vocabulary';

const hours = {
  day: z.string().describe('A day or several, as free text.'),
  hours: z.string().describe('The opening hours on these days, as free text.'),
};
const contact = {
  address: z.string().describe('Postal address, on one line.'),
  phone: z.string().describe('Telephone number, as the store writes it.'),
  email: z.string().describe('E-mail address for customers.'),
};
const policies = {
  shipping: z.string().describe('How, where and for how much the store ships.'),
  returns: z.string().describe('When and how customers can return a product.'),
  satisfaction: z.string().describe('What the store promises if a customer is not satisfied.'),
};

/** The events that change fields of a store. */
export const STORE_CHANGES = ['StoreDescribed', 'StoreReviewsConfigured', 'StoreCurrencySet'] as const;

const newReviewStatus = reviewStatusSchema.exclude(['rejected']).nullable();

/** The writable fields of a store (docs/interface/stores.md#store). Name and description have the limits of listings. */
export const storeFields = {
  name: field(z.string(), {
    event: 'StoreDescribed',
    input: lineField(120),
    doc: "The store's name, shown to customers.",
    example: 'Coffee & Clay',
  }),
  description: field(z.string().nullable(), {
    event: 'StoreDescribed',
    input: textField(5_000).nullable(),
    initial: null,
    doc: 'A description of the store, in plain text.',
    example: 'Beans from small growers, and the cups to go with them.',
  }),
  businessHours: field(z.array(z.object(hours)).nullable(), {
    event: 'StoreDescribed',
    input: z
      .array(
        z.strictObject({
          day: lineField(40).describe(hours.day.description!),
          hours: lineField(80).describe(hours.hours.description!),
        }),
      )
      .max(50)
      .nullable(),
    answer: z.array(z.strictObject(hours)),
    initial: null,
    doc: "The store's opening hours, in the order in which to show them.",
    example: [{ day: 'Monday to Friday', hours: '9:00–18:00' }],
  }),
  contact: field(z.object(contact).partial().nullable(), {
    event: 'StoreDescribed',
    input: z
      .strictObject({
        address: lineField(300).describe(contact.address.description!).optional(),
        phone: lineField(40).describe(contact.phone.description!).optional(),
        email: lineField(254)
          .pipe(z.email())
          .meta({ description: contact.email.description!, format: 'email' })
          .optional(),
      })
      .nullable(),
    answer: z.strictObject(contact).partial(),
    initial: null,
    doc: "The store's contact details.",
    example: { address: 'Jr. Unión 100, Lima', phone: '+51 1 555 0100', email: 'hello@example.com' },
  }),
  policies: field(z.object(policies).partial().nullable(), {
    event: 'StoreDescribed',
    input: z
      .strictObject({
        shipping: textField(5_000).describe(policies.shipping.description!),
        returns: textField(5_000).describe(policies.returns.description!),
        satisfaction: textField(5_000).describe(policies.satisfaction.description!),
      })
      .partial()
      .nullable(),
    answer: z.strictObject(policies).partial(),
    initial: null,
    doc: "The store's shipping, returns and satisfaction policies, in plain text.",
    example: {
      shipping: 'Within Lima in two working days.',
      returns: 'Within 30 days, unopened.',
      satisfaction: 'If a cup arrives broken, we send another one.',
    },
  }),
  ruc: field(z.string().nullable(), {
    event: 'StoreDescribed',
    input: lineField(20).nullable(),
    initial: null,
    doc: 'The taxpayer number of the business (in Peru, the RUC).',
    example: '20123456789',
  }),
  currency: field(z.string().nullable(), {
    event: 'StoreCurrencySet',
    input: currencyField.nullable(),
    initial: null,
    added: true,
    doc: 'The currency of new products in the console, and of imported prices without one: an ISO 4217 code in upper case.',
    example: 'PEN',
  }),
  new_review_status: field(newReviewStatus, {
    event: 'StoreReviewsConfigured',
    input: newReviewStatus,
    initial: null,
    added: true,
    doc: 'The status of a review that is posted without one: `pending` if somebody looks at it first. Without it, new reviews are published.',
    example: 'pending',
  }),
} satisfies Record<string, { readonly event: (typeof STORE_CHANGES)[number] }>;
