import { z } from 'zod';
import { answerShape } from '../../catalog/fields';
import { LISTING_RESPONSE_NAMES, listingFields } from '../../catalog/listing/fields';
import { publicationFields } from '../../catalog/publication/fields';
import { storeFields } from '../../catalog/store/fields';
import {
  imageTypeSchema,
  mediaStatusSchema,
  paymentMethodTypeSchema,
  sortModeSchema,
  storeStatusSchema,
  variantNameSchema,
} from '../../catalog/vocabulary';

// Resources in responses (docs/interface.md#resources). Objects are strict: other fields are never sent. An optional
// field without a value is absent, never null. Fields that `expand` adds are in a separate `extend`, because
// TypeScript cannot infer schemas that refer to each other from an object literal with a spread.

const id = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .meta({ format: 'uuid', description: 'UUIDv7 in lower case.' });
const timestamp = z.iso.datetime({ precision: 3 }).describe('ISO 8601 timestamp in UTC with milliseconds.');
const count = z.int().min(0);
/** An absolute URL, or a path of this service. */
const address = z.string().min(1);

/** Returns the schema of an expanded collection: the first items, at most 20, of the list at `url`. */
function collectionOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('collection'),
    data: z.array(item).max(20),
    total_count: count,
    has_more: z.boolean().describe('Whether the list at `url` has more items than `data`.'),
    url: z.string().describe('Path of the complete list, in the same order.'),
  });
}

const { name, ...profile } = answerShape(storeFields);

export const mediaVariantSchema = z.strictObject({
  name: variantNameSchema,
  url: address,
  width: z.int().min(1),
  height: z.int().min(1),
  mime_type: z.string(),
});

export const mediaSchema = z.strictObject({
  id,
  object: z.literal('media'),
  status: mediaStatusSchema,
  mime_type: imageTypeSchema,
  size_bytes: count.describe(
    'Size of the uploaded file. Width and height are those of the upload, after rotation.',
  ),
  width: z.int().min(1),
  height: z.int().min(1),
  alt: z.string().optional(),
  url: address.optional().describe('Full-size picture without metadata. Present if the status is `ready`.'),
  variants: z.array(mediaVariantSchema),
  placeholder: z.string().optional().describe('Tiny preview as a data URI.'),
  created_at: timestamp,
  updated_at: timestamp,
});

export const mediaCollectionSchema = collectionOf(mediaSchema);

export const publicationSchema = z
  .strictObject({
    id,
    object: z.literal('publication'),
    ...answerShape(publicationFields),
    created_at: timestamp,
    updated_at: timestamp,
    stats: z.strictObject({ media_count: count, view_count: count }).optional(),
  })
  .extend({
    get listing() {
      return listingSchema
        .optional()
        .describe('Present with `expand=listing` if the publication has a listing that is visible.');
    },
    media: mediaCollectionSchema.optional().describe('Present with `expand=media`.'),
  });

export const publicationCollectionSchema = collectionOf(publicationSchema);

export const listingSchema = z
  .strictObject({
    id,
    object: z.literal('listing'),
    ...answerShape(listingFields, LISTING_RESPONSE_NAMES),
    created_at: timestamp,
    updated_at: timestamp,
    stats: z.strictObject({ media_count: count, publication_count: count }).optional(),
  })
  .extend({
    get publications() {
      return publicationCollectionSchema
        .optional()
        .describe('Present with `expand=publication`. Featured publications come first.');
    },
    media: mediaCollectionSchema.optional().describe('Present with `expand=media`.'),
  });

export const listingCollectionSchema = collectionOf(listingSchema);

export const storeSchema = z.strictObject({
  id,
  object: z.literal('store'),
  name,
  status: storeStatusSchema,
  ...profile,
  created_at: timestamp,
  updated_at: timestamp,
  stats: z.strictObject({ listing_count: count }).optional(),
  listings: listingCollectionSchema.optional().describe('Present with `expand=listing`.'),
  media: mediaCollectionSchema.optional().describe('Present with `expand=media`.'),
});

export const paymentMethodSchema = z.strictObject({
  id,
  object: z.literal('payment_method'),
  type: paymentMethodTypeSchema,
  name: z.string(),
  instructions: z.string().optional(),
  position: z.int().min(1),
});

export const reviewSchema = z.strictObject({
  id,
  object: z.literal('review'),
  publication_id: id,
  rating: z.int().min(1).max(5),
  title: z.string().optional(),
  body: z.string(),
  author_name: z.string(),
  verified: z.boolean(),
  created_at: timestamp,
});

export const deletedPublicationSchema = z.strictObject({
  id,
  object: z.literal('publication'),
  deleted: z.literal(true),
});

export const deletedListingSchema = z.strictObject({
  id,
  object: z.literal('listing'),
  deleted: z.literal(true),
});

export const deletedMediaSchema = z.strictObject({
  id,
  object: z.literal('media'),
  deleted: z.literal(true),
});

/** `GET /api/listing/:id/publications` (docs/interface.md#listing-publications). */
export const listingPublicationsSchema = z.strictObject({
  featured: z.array(publicationSchema),
  others: z.array(publicationSchema),
  meta: z.strictObject({
    default_sort_mode: sortModeSchema,
    effective_sort_mode: sortModeSchema,
    pagination: z.strictObject({
      page: z.int().min(1),
      limit: z.int().min(1).max(50),
      total: count,
      total_pages: count,
    }),
  }),
});

export type Media = z.infer<typeof mediaSchema>;
export type Publication = z.infer<typeof publicationSchema>;
export type Listing = z.infer<typeof listingSchema>;
export type Store = z.infer<typeof storeSchema>;
export type PaymentMethod = z.infer<typeof paymentMethodSchema>;
export type Review = z.infer<typeof reviewSchema>;
export type ListingPublications = z.infer<typeof listingPublicationsSchema>;
