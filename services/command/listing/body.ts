import { z } from 'zod';
import { sortModeSchema, visibilitySchema } from '../../../shared/contracts/vocabulary';
import { idField, idsField, lineField, textField } from '../fields';

const MEDIA_MAX = 20;

const required = { name: lineField(120) };

/** Null clears (decisions §6); where a listing always has a value, null is refused like a missing one. */
const optional = {
  description: textField(5_000).nullable(),
  visibility: visibilitySchema,
  default_sort_mode: sortModeSchema,
  media_ids: idsField(MEDIA_MAX)
    .nullable()
    .transform((ids) => ids ?? []),
};

/** `POST /api/listing`; `store_id` null is as good as none. */
export const newListingSchema = z.strictObject({
  ...required,
  ...z.object(optional).partial().shape,
  store_id: idField.nullish(),
});

/** `PATCH /api/listing/:id`: any subset. `store_id` may be sent back, never changed. */
export const listingPatchSchema = z.strictObject({
  ...z.object({ ...required, ...optional }).partial().shape,
  store_id: idField.optional(),
});

export type NewListing = z.output<typeof newListingSchema>;
export type ListingPatch = z.output<typeof listingPatchSchema>;
