import { z } from 'zod';
import { field, responseNames } from '../fields';
import { handleField, idField, lineField, mediaIdsField, textField } from '../input-rules';
import { scheduleFields } from '../schedule';
import { seoField, seoTranslation } from '../seo';
import { translationsField, withHandle } from '../translations';
import { sortModeSchema, visibilitySchema } from '../vocabulary';
import { LISTING_LEVELS_MAX } from './tree';

export const LISTING_MEDIA_MAX = 20;

/** The events that carry changes of the fields, in the order in which a write appends them. */
export const LISTING_CHANGES = [
  'ListingDescribed',
  'ListingVisibilityChanged',
  'ListingSortModeChanged',
  'ListingMediaArranged',
  'ListingMoved',
  'ListingNamed',
  'ListingSeoSet',
  'ListingScheduled',
  'ListingTranslated',
] as const;

const name = lineField(120);
const description = textField(5_000);
/** The texts that can be translated. */
export const listingTexts = { name, description, seo: seoTranslation };

/** The writable fields of a listing, in the order of event data (docs/interface/writes.md). */
export const listingFields = {
  name: field(z.string(), {
    event: 'ListingDescribed',
    input: name,
    doc: "The listing's name, shown to customers.",
    example: 'Coffee',
  }),
  description: field(z.string().nullable(), {
    event: 'ListingDescribed',
    input: description.nullable(),
    initial: null,
    doc: 'A description of the listing, in plain text.',
    example: 'Roasted on Tuesdays.',
  }),
  visibility: field(visibilitySchema, {
    event: 'ListingVisibilityChanged',
    input: visibilitySchema,
    initial: 'public',
    doc: 'Whether customers can see the listing. A `private` listing is only returned to a secret key that asks for it.',
    example: 'public',
  }),
  default_sort_mode: field(sortModeSchema, {
    event: 'ListingSortModeChanged',
    input: sortModeSchema,
    initial: 'created_at_desc',
    doc: "The order of the listing's publications if a request does not specify one. Featured publications always come first.",
    example: 'price_asc',
  }),
  media_ids: field(z.array(z.string()), {
    event: 'ListingMediaArranged',
    input: mediaIdsField(LISTING_MEDIA_MAX),
    initial: [],
    answer: false,
    doc: `The ids of the listing's media, in display order. Maximum ${LISTING_MEDIA_MAX}. Null removes all media.`,
    example: ['0195d4a2-8a03-7c1e-9f31-5b0c7a6e1d04'],
  }),
  parent_id: field(z.string().nullable(), {
    event: 'ListingMoved',
    input: idField.nullable(),
    initial: null,
    added: true,
    answer: false,
    doc: `The id of the listing that contains this one. Must be a listing of the same store and not below this one. A tree has at most ${LISTING_LEVELS_MAX} levels. Null moves the listing to the top.`,
    example: '0195d4a2-8a04-7c1e-9f31-5b0c7a6e1d05',
  }),
  external_id: field(z.string().nullable(), {
    event: 'ListingNamed',
    input: lineField(255).nullable(),
    initial: null,
    added: true,
    unique: true,
    doc: 'The id of the listing in another system, such as an ERP. Unique among the listings of the store.',
    example: 'erp-coffee',
  }),
  handle: field(z.string().nullable(), {
    event: 'ListingNamed',
    input: handleField.nullable(),
    initial: null,
    added: true,
    unique: true,
    doc: 'The name of the listing in addresses: letters of any script in lower case and digits, with hyphens or underscores between them. Unique among the listings of the store. Default, and null: made from the name.',
    example: 'coffee',
  }),
  seo: seoField('ListingSeoSet', 'the name'),
  ...scheduleFields('ListingScheduled', 'listing'),
  translations: translationsField('ListingTranslated', withHandle(listingTexts), {
    name: 'Kaffee',
    handle: 'kaffee',
    description: 'Dienstags geröstet.',
    seo: { title: 'Kaffee aus Peru', description: 'Dienstags geröstet.' },
  }),
} satisfies Record<string, { readonly event: (typeof LISTING_CHANGES)[number] }>;

/** Field names in the order of responses, in which `visibility` comes before `description`. */
export const LISTING_RESPONSE_NAMES = responseNames(listingFields, ['name', 'visibility']);
