import { z } from 'zod';
import { field, shownNames } from '../fields';
import { lineField, mediaIdsField, textField } from '../input-rules';
import { sortModeSchema, visibilitySchema } from '../vocabulary';

export const LISTING_MEDIA_MAX = 20;

/** The events that carry changes of the fields, in the order in which one write appends them. */
export const LISTING_CHANGES = [
  'ListingDescribed',
  'ListingVisibilityChanged',
  'ListingSortModeChanged',
  'ListingMediaArranged',
] as const;

/** What can be written of a listing, in the order of events (spec, "Listing"; decisions §6). */
export const listingFields = {
  name: field(z.string(), { event: 'ListingDescribed', input: lineField(120), example: 'Coffee' }),
  description: field(z.string().nullable(), {
    event: 'ListingDescribed',
    input: textField(5_000).nullable(),
    initial: null,
    example: 'Roasted on Tuesdays.',
  }),
  visibility: field(visibilitySchema, {
    event: 'ListingVisibilityChanged',
    input: visibilitySchema,
    initial: 'public',
    example: 'public',
  }),
  default_sort_mode: field(sortModeSchema, {
    event: 'ListingSortModeChanged',
    input: sortModeSchema,
    initial: 'created_at_desc',
    example: 'price_asc',
  }),
  media_ids: field(z.array(z.string()), {
    event: 'ListingMediaArranged',
    input: mediaIdsField(LISTING_MEDIA_MAX),
    initial: [],
    answer: false,
    doc: `Ids of media, in the order in which they are shown; at most ${LISTING_MEDIA_MAX}.`,
  }),
} satisfies Record<string, { readonly event: (typeof LISTING_CHANGES)[number] }>;

/** In the order of answers, which have `visibility` before `description`. */
export const LISTING_SHOWN = shownNames(listingFields, ['name', 'visibility']);
