import { z } from 'zod';
import { field, objectOfTexts } from '../fields';
import { currencyField, distinctField, fewNames, handleField, lineField, textField } from '../input-rules';
import { CURRENCIES_MAX } from '../publication/currency-prices';
import { LOCALES_MAX, localeField, translationsField } from '../translations';
import { reviewStatusSchema } from '../vocabulary';
import { markets, storedMarkets } from './markets';

const hours = objectOfTexts({
  day: { input: lineField(40), description: 'A day or several, as free text.' },
  hours: { input: lineField(80), description: 'The opening hours on these days, as free text.' },
});
const EMAIL = 'E-mail address for customers.';
const contact = objectOfTexts({
  address: { input: lineField(300), description: 'Postal address, on one line.' },
  phone: { input: lineField(40), description: 'Telephone number, as the store writes it.' },
  email: {
    input: lineField(254).pipe(z.email()).meta({ description: EMAIL, format: 'email' }),
    description: EMAIL,
  },
});
const policies = objectOfTexts({
  shipping: { input: textField(5_000), description: 'How, where and for how much the store ships.' },
  returns: { input: textField(5_000), description: 'When and how customers can return a product.' },
  satisfaction: {
    input: textField(5_000),
    description: 'What the store promises if a customer is not satisfied.',
  },
});

/** The events that change fields of a store. */
export const STORE_CHANGES = [
  'StoreDescribed',
  'StoreReviewsConfigured',
  'StoreCurrencySet',
  'StoreLocalesSet',
  'StoreTranslated',
  'StoreCurrenciesSet',
  'StoreMarketsSet',
  'StorePriceListsSet',
] as const;

const name = lineField(120);
const description = textField(5_000);
const businessHours = z.array(hours.input).max(50);
/** The texts that can be translated. */
export const storeTexts = { name, description, businessHours, policies: policies.translation };

const PRICE_LISTS_MAX = 100;
const newReviewStatus = reviewStatusSchema.exclude(['rejected']).nullable();

/** The writable fields of a store (docs/interface/stores.md#store). */
export const storeFields = {
  name: field(z.string(), {
    event: 'StoreDescribed',
    input: name,
    doc: "The store's name, shown to customers.",
    example: 'Coffee & Clay',
  }),
  description: field(z.string().nullable(), {
    event: 'StoreDescribed',
    input: description.nullable(),
    initial: null,
    doc: 'A description of the store, in plain text.',
    example: 'Beans from small growers, and the cups to go with them.',
  }),
  businessHours: field(z.array(hours.stored).nullable(), {
    event: 'StoreDescribed',
    input: businessHours.nullable(),
    answer: z.array(hours.answer),
    initial: null,
    doc: "The store's opening hours, in the order in which to show them.",
    example: [{ day: 'Monday to Friday', hours: '9:00–18:00' }],
  }),
  contact: field(contact.stored.partial().nullable(), {
    event: 'StoreDescribed',
    input: contact.input.partial().nullable(),
    answer: contact.answer.partial(),
    initial: null,
    doc: "The store's contact details.",
    example: { address: 'Jr. Unión 100, Lima', phone: '+51 1 555 0100', email: 'hello@example.com' },
  }),
  policies: field(policies.stored.partial().nullable(), {
    event: 'StoreDescribed',
    input: policies.input.partial().nullable(),
    answer: policies.answer.partial(),
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
  locales: field(z.array(z.string()).optional(), {
    event: 'StoreLocalesSet',
    input: distinctField(localeField, LOCALES_MAX, 'locale').min(1),
    initial: undefined,
    doc: `The languages of the store: BCP 47 tags, at most ${LOCALES_MAX}. The first one is the language of the texts outside \`translations\`. Once a store has locales, it keeps at least one. A locale that is removed keeps its translations, but answers do not show them.`,
    example: ['es', 'de'],
  }),
  translations: translationsField('StoreTranslated', storeTexts, {
    name: 'Kaffee & Ton',
    description: 'Kaffee von kleinen Höfen, und die Tassen dazu.',
    businessHours: [{ day: 'Montag bis Freitag', hours: '9–18 Uhr' }],
    policies: {
      shipping: 'In Lima in zwei Werktagen.',
      returns: 'Innerhalb von 30 Tagen, ungeöffnet.',
      satisfaction: 'Ist eine Tasse zerbrochen, schicken wir eine neue.',
    },
  }),
  currencies: field(z.array(z.string()).optional(), {
    event: 'StoreCurrenciesSet',
    input: distinctField(currencyField, CURRENCIES_MAX, 'currency').min(1),
    initial: undefined,
    doc: `The currencies in which the store sells, as ISO 4217 codes in upper case, at most ${CURRENCIES_MAX}. The first one is the currency of \`price_amount\` of its publications, the others can have prices in \`prices\`. Once a store has currencies, it keeps at least one.`,
    example: ['PEN', 'USD'],
  }),
  markets: field(storedMarkets, { event: 'StoreMarketsSet', ...markets }),
  price_lists: field(z.record(z.string(), z.string()).optional(), {
    event: 'StorePriceListsSet',
    input: fewNames(z.record(handleField, currencyField), PRICE_LISTS_MAX),
    initial: undefined,
    doc: `The price lists of the store: their names, which are handles, with the currency of their prices; at most ${PRICE_LISTS_MAX}. Only secret keys read them. A list that is removed keeps its prices, but nobody sees them.`,
    example: { wholesale: 'PEN' },
  }),
} satisfies Record<string, { readonly event: (typeof STORE_CHANGES)[number] }>;
