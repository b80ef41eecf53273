import { z } from 'zod';
import { field } from '../fields';
import { amountField, currencyField, idField, lineField, mediaIdsField, textField } from '../input-rules';
import { visibilitySchema } from '../vocabulary';

export const HTML_MAX = 50_000;
export const PUBLICATION_MEDIA_MAX = 50;

/** The events that carry changes of the fields, in the order in which one write appends them. */
export const PUBLICATION_CHANGES = [
  'PublicationDescribed',
  'PublicationPriced',
  'PublicationStocked',
  'PublicationFeatured',
  'PublicationVisibilityChanged',
  'PublicationMovedToListing',
  'PublicationMediaArranged',
] as const;

/** What can be written of a publication, in the order of events and answers (spec, "Publication"; decisions §6). */
export const publicationFields = {
  title: field(z.string(), {
    event: 'PublicationDescribed',
    input: lineField(200),
    example: 'Chanchamayo coffee, 250 g',
  }),
  description: field(z.string(), {
    event: 'PublicationDescribed',
    input: textField(10_000)
      .nullable()
      .transform((text) => text ?? ''),
    initial: '',
    example: 'Round, with notes of cane sugar and orange.',
  }),
  description_html: field(z.string().nullable(), {
    event: 'PublicationDescribed',
    input: textField(HTML_MAX).nullable(),
    initial: null,
    doc: 'Kept as a safe subset of what is sent, as it may be put into a page: scripts, styles and foreign addresses are taken out.',
  }),
  visibility: field(visibilitySchema, {
    event: 'PublicationVisibilityChanged',
    input: visibilitySchema,
    initial: 'public',
    example: 'public',
  }),
  price_currency: field(z.string(), {
    event: 'PublicationPriced',
    input: currencyField,
    answer: z.string().regex(/^[A-Z]{3}$/),
    doc: 'An ISO 4217 code in upper case.',
    example: 'PEN',
  }),
  price_amount: field(z.int().min(0), {
    event: 'PublicationPriced',
    input: amountField,
    answer: amountField,
    doc: 'In hundredths: divided by 100 it is the price in the major unit.',
    example: 3400,
  }),
  price_active: field(z.boolean(), {
    event: 'PublicationPriced',
    input: z.boolean(),
    initial: true,
    doc: '`false`: the price is not to be shown or used for ordering.',
    example: true,
  }),
  free_shipping: field(z.boolean().nullable(), {
    event: 'PublicationDescribed',
    input: z.boolean().nullable(),
    initial: null,
    example: false,
  }),
  quantity_available: field(z.int().min(0).nullable(), {
    event: 'PublicationStocked',
    input: z.int().min(0).nullable(),
    initial: null,
    doc: 'Units left; not given where stock is not tracked.',
    example: 80,
  }),
  featured_position: field(z.int().min(1).nullable(), {
    event: 'PublicationFeatured',
    input: z.int().min(1).max(10_000).nullable(),
    initial: null,
    example: 1,
  }),
  listing_id: field(z.string().nullable(), {
    event: 'PublicationMovedToListing',
    input: idField.nullable(),
    initial: null,
    answer: false,
  }),
  media_ids: field(z.array(z.string()), {
    event: 'PublicationMediaArranged',
    input: mediaIdsField(PUBLICATION_MEDIA_MAX),
    initial: [],
    answer: false,
    doc: `Ids of media, in the order in which they are shown; at most ${PUBLICATION_MEDIA_MAX}.`,
  }),
} satisfies Record<string, { readonly event: (typeof PUBLICATION_CHANGES)[number] }>;
