import { z } from 'zod';
import { field } from '../fields';
import {
  ATTRIBUTES_MAX,
  amountField,
  attributesField,
  attributesSchema,
  currencyField,
  fewNames,
  handleField,
  idField,
  idsField,
  LABEL_MAX,
  lineField,
  linesField,
  mediaIdsField,
  nullIfEmpty,
  textField,
  timeField,
} from '../input-rules';
import { scheduleFields } from '../schedule';
import { seoField, seoTranslation } from '../seo';
import { translationsField, withHandle } from '../translations';
import { visibilitySchema } from '../vocabulary';
import { PRICES_EXAMPLE, publicationPrices } from './currency-prices';
import {
  OPTIONS_EXAMPLE,
  OPTIONS_MAX,
  OPTIONS_TRANSLATION_EXAMPLE,
  optionSchema,
  optionsField,
  optionsTranslation,
  VARIANTS_EXAMPLE,
  VARIANTS_MAX,
  variantSchema,
  variantsField,
} from './variants';

/** Maximum length of `description_html`, in code points. */
export const HTML_MAX = 50_000;
export const PUBLICATION_MEDIA_MAX = 50;
const TAGS_MAX = 250;
/** Maximum number of listings besides the main one. */
export const OTHER_LISTINGS_MAX = 20;
const positionField = z.int().min(1).max(10_000);
/**
 * The events that change fields, in the order in which a write appends them. The variants come before the price and the
 * stock, which follow from them while there are any: a write that removes all variants can set both.
 */
export const PUBLICATION_CHANGES = [
  'PublicationDescribed',
  'PublicationOptionsChanged',
  'VariantsReplaced',
  'PublicationPriced',
  'PublicationStocked',
  'PublicationFeatured',
  'PublicationVisibilityChanged',
  'PublicationMovedToListing',
  'PublicationPlaced',
  'PublicationMediaArranged',
  'PublicationClassified',
  'PublicationSaleSet',
  'PublicationSeoSet',
  'PublicationNamed',
  'PublicationScheduled',
  'PublicationTranslated',
  'PublicationPricesSet',
] as const;

const title = lineField(200);
const description = textField(10_000);
const description_html = textField(HTML_MAX);
/** The texts that can be translated. */
export const publicationTexts = {
  title,
  description,
  description_html,
  seo: seoTranslation,
  options: optionsTranslation,
};

/** The writable fields of a publication, in the order of event data and responses (docs/interface/writes.md). */
export const publicationFields = {
  title: field(z.string(), {
    event: 'PublicationDescribed',
    input: title,
    doc: "The product's title, shown to customers.",
    example: 'Chanchamayo coffee, 250 g',
  }),
  description: field(z.string(), {
    event: 'PublicationDescribed',
    input: description.nullable().transform((text) => text ?? ''),
    initial: '',
    doc: 'A description of the product, in plain text.',
    example: 'Round, with notes of cane sugar and orange.',
  }),
  description_html: field(z.string().nullable(), {
    event: 'PublicationDescribed',
    input: description_html.nullable(),
    initial: null,
    doc: 'A description of the product, in HTML. The service stores a sanitised version that is safe to insert into a page: it removes scripts, styles, event handlers, links other than `http`, `https` and `mailto`, and images other than `http` and `https`.',
    example: '<p>Round, with notes of <em>cane sugar</em> and orange.</p>',
  }),
  visibility: field(visibilitySchema, {
    event: 'PublicationVisibilityChanged',
    input: visibilitySchema,
    initial: 'public',
    doc: 'Whether customers can see the publication. A `private` publication is only returned to a secret key that asks for it.',
    example: 'public',
  }),
  price_currency: field(z.string(), {
    event: 'PublicationPriced',
    input: currencyField,
    answer: z.string().regex(/^[A-Z]{3}$/),
    doc: 'Three-letter ISO 4217 currency code, in upper case.',
    example: 'PEN',
  }),
  price_amount: field(z.int().min(0), {
    event: 'PublicationPriced',
    input: amountField,
    answer: amountField,
    doc: 'The price in hundredths of the major currency unit, for every currency. For example, 3400 means 34.00.',
    example: 3400,
  }),
  price_active: field(z.boolean(), {
    event: 'PublicationPriced',
    input: z.boolean(),
    initial: true,
    doc: 'Whether the price can be shown. If `false`, hide the price: the publication matches no price range and sorts last by price.',
    example: true,
  }),
  free_shipping: field(z.boolean().nullable(), {
    event: 'PublicationDescribed',
    input: z.boolean().nullable(),
    initial: null,
    doc: 'Whether shipping is free. Omitted if unknown.',
    example: false,
  }),
  quantity_available: field(z.int().min(0).nullable(), {
    event: 'PublicationStocked',
    input: z.int().min(0).nullable(),
    initial: null,
    doc: 'Number of units in stock. Omitted if stock is not tracked.',
    example: 80,
  }),
  featured_position: field(z.int().min(1).nullable(), {
    event: 'PublicationFeatured',
    input: positionField.nullable(),
    initial: null,
    doc: 'Rank among the featured publications of a listing, starting at 1. Omitted if the publication is not featured.',
    example: 1,
  }),
  listing_id: field(z.string().nullable(), {
    event: 'PublicationMovedToListing',
    input: idField.nullable(),
    initial: null,
    answer: false,
    doc: 'The id of the listing that contains the publication. Must be a listing of the same store. Null removes the publication from its listing.',
    example: '0195d4a2-8a01-7c1e-9f31-5b0c7a6e1d02',
  }),
  listing_ids: field(z.array(z.string()), {
    event: 'PublicationPlaced',
    input: idsField(OTHER_LISTINGS_MAX)
      .nullable()
      .transform((ids) => ids ?? []),
    initial: [],
    added: true,
    answer: false,
    doc: `The ids of other listings that contain the publication, too, at most ${OTHER_LISTINGS_MAX}. Must be listings of the same store. The one in \`listing_id\` is left out. Null removes the publication from all of them.`,
    example: ['0195d4a2-8a04-7c1e-9f31-5b0c7a6e1d05'],
  }),
  featured_positions: field(z.record(z.string(), z.int().min(1)), {
    event: 'PublicationPlaced',
    input: fewNames(z.record(idField, positionField), OTHER_LISTINGS_MAX)
      .nullable()
      .transform((positions) => positions ?? {}),
    initial: {},
    added: true,
    answer: false,
    doc: 'The rank among the featured publications of each of the `listing_ids` in which it is featured, by the id of the listing. Replaced as a whole. A listing that is removed from `listing_ids` loses its position.',
    example: { '0195d4a2-8a04-7c1e-9f31-5b0c7a6e1d05': 3 },
  }),
  media_ids: field(z.array(z.string()), {
    event: 'PublicationMediaArranged',
    input: mediaIdsField(PUBLICATION_MEDIA_MAX),
    initial: [],
    answer: false,
    doc: `The ids of the publication's media, in display order. Maximum ${PUBLICATION_MEDIA_MAX}. Null removes all media.`,
    example: ['0195d4a2-8a03-7c1e-9f31-5b0c7a6e1d04'],
  }),
  vendor: field(z.string().nullable(), {
    event: 'PublicationClassified',
    input: lineField(LABEL_MAX).nullable(),
    initial: null,
    added: true,
    doc: 'Who makes or sells the product.',
    example: 'Taller Rímac',
  }),
  product_type: field(z.string().nullable(), {
    event: 'PublicationClassified',
    input: lineField(LABEL_MAX).nullable(),
    initial: null,
    added: true,
    doc: 'What kind of product it is.',
    example: 'Coffee',
  }),
  tags: field(z.array(z.string()).nullable(), {
    event: 'PublicationClassified',
    input: linesField(TAGS_MAX, LABEL_MAX).nullable().transform(nullIfEmpty),
    initial: null,
    added: true,
    doc: `Words by which customers find the product. Maximum ${TAGS_MAX}. Omitted if there are none.`,
    example: ['organic', 'whole bean'],
  }),
  attributes: field(attributesSchema, {
    event: 'PublicationClassified',
    input: attributesField,
    initial: null,
    added: true,
    doc: `Properties of the product, by name. Maximum ${ATTRIBUTES_MAX}. A value is a text, a number, true or false, or a list of texts. Omitted if there are none.`,
    example: { roast: 'medium', altitude: 1400, decaf: false },
  }),
  compare_at_amount: field(z.int().min(0).nullable(), {
    event: 'PublicationSaleSet',
    input: amountField.nullable(),
    initial: null,
    added: true,
    doc: 'The price to compare with, in hundredths: what the product cost before, or costs elsewhere.',
    example: 3900,
  }),
  sale_price_amount: field(z.int().min(0).nullable(), {
    event: 'PublicationSaleSet',
    input: amountField.nullable(),
    initial: null,
    added: true,
    doc: 'The price in hundredths during a sale: from `sale_from` until `sale_to`, without a bound that is not set. Not above `price_amount`, which it does not change.',
    example: 2900,
  }),
  sale_from: field(z.string().nullable(), {
    event: 'PublicationSaleSet',
    input: timeField.nullable(),
    initial: null,
    added: true,
    doc: 'When the sale begins.',
    example: '2026-11-27T00:00:00.000Z',
  }),
  sale_to: field(z.string().nullable(), {
    event: 'PublicationSaleSet',
    input: timeField.nullable(),
    initial: null,
    added: true,
    doc: 'When the sale ends. Must be after `sale_from`.',
    example: '2026-12-01T00:00:00.000Z',
  }),
  seo: seoField('PublicationSeoSet', 'the title'),
  external_id: field(z.string().nullable(), {
    event: 'PublicationNamed',
    input: lineField(255).nullable(),
    initial: null,
    added: true,
    unique: true,
    doc: 'The id of the publication in another system, such as an ERP. Unique among the publications of the store.',
    example: 'erp-10442',
  }),
  options: field(z.array(optionSchema), {
    event: 'PublicationOptionsChanged',
    input: optionsField,
    initial: [],
    added: true,
    answer: false,
    doc: `What the variants differ in, such as size and colour. Maximum ${OPTIONS_MAX}. A new name for an option keeps its variants.`,
    example: OPTIONS_EXAMPLE,
  }),
  variants: field(z.array(variantSchema), {
    event: 'VariantsReplaced',
    input: variantsField,
    initial: [],
    added: true,
    answer: false,
    doc: `All variants, at most ${VARIANTS_MAX}. Changes those with the same \`id\` or \`option_values\`, adds the others, and removes those that are left out. The price and the stock of the publication then follow from its variants.`,
    example: VARIANTS_EXAMPLE,
  }),
  handle: field(z.string().nullable(), {
    event: 'PublicationNamed',
    input: handleField.nullable(),
    initial: null,
    added: true,
    unique: true,
    doc: 'The name of the publication in addresses: letters of any script in lower case and digits, with hyphens or underscores between them. Unique among the publications of the store. Default, and null: made from the title.',
    example: 'chanchamayo-coffee-250-g',
  }),
  ...scheduleFields('PublicationScheduled', 'publication'),
  translations: translationsField('PublicationTranslated', withHandle(publicationTexts), {
    title: 'Kaffee aus Chanchamayo, 250 g',
    handle: 'kaffee-aus-chanchamayo-250-g',
    description: 'Rund, mit Noten von Rohrzucker und Orange.',
    description_html: '<p>Rund, mit Noten von <em>Rohrzucker</em> und Orange.</p>',
    seo: { title: 'Kaffee aus Chanchamayo, ganze Bohne', description: 'Auf 1.400 m gewachsen.' },
    options: OPTIONS_TRANSLATION_EXAMPLE,
  }),
  prices: field(publicationPrices.stored, {
    event: 'PublicationPricesSet',
    ...publicationPrices.rules,
    example: PRICES_EXAMPLE,
  }),
} satisfies Record<string, { readonly event: (typeof PUBLICATION_CHANGES)[number] }>;
