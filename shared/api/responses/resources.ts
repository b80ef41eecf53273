import { z } from 'zod';
import { ACTOR_TYPES, CHANGED_RESOURCES } from '../../catalog/changes';
import { answerShape } from '../../catalog/fields';
import { listPrice } from '../../catalog/list-price/list-price';
import { LISTING_MEDIA_MAX, LISTING_RESPONSE_NAMES, listingFields } from '../../catalog/listing/fields';
import { LISTING_LEVELS_MAX } from '../../catalog/listing/tree';
import { mediaFields } from '../../catalog/media/fields';
import {
  OTHER_LISTINGS_MAX,
  PUBLICATION_MEDIA_MAX,
  publicationFields,
} from '../../catalog/publication/fields';
import { OPTIONS_MAX, SHOWN_VARIANTS_MAX, variantFields } from '../../catalog/publication/variants';
import { storeFields } from '../../catalog/store/fields';
import {
  FILE_TYPES,
  IMPORT_FORMATS,
  IMPORT_STEPS,
  imageTypeSchema,
  keyTypeSchema,
  listSortModeSchema,
  mediaStatusSchema,
  PROPOSAL_STATUSES,
  paymentMethodTypeSchema,
  permissionSchema,
  ROW_OUTCOMES,
  reviewStatusSchema,
  sortModeSchema,
  storeStatusSchema,
  variantNameSchema,
  visibilitySchema,
} from '../../catalog/vocabulary';
import { facetsShape, nextCursorShape, pageCutsShape } from './envelopes';
import { errorInfoSchema } from './errors';

// Resources in responses (docs/interface/README.md). Objects are strict: other fields are never sent. An optional
// field without a value is absent, never null. Fields that `expand` adds are in a separate `extend`, because
// TypeScript cannot infer schemas that refer to each other from an object literal with a spread.

const id = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .meta({ format: 'uuid', description: 'Id of the resource: a UUIDv7 in lower case.' });
const timestamp = z.iso.datetime({ precision: 3 });
const created_at = timestamp.describe('When the resource was created: ISO 8601 in UTC with milliseconds.');
const deleted_at = timestamp.optional().meta({
  description: 'When it was deleted. Only with `visibility=deleted`.',
  example: '2026-02-01T12:00:00.000Z',
});
const updated_at = timestamp.describe('When the resource last changed: ISO 8601 in UTC with milliseconds.');
const count = z.int().min(0);
const media_count = count.describe('Number of media.');
const typeOf = <const Name extends string>(name: Name) => z.literal(name).describe('Type of the resource.');
/** An absolute URL, or a path of this service. */
const address = z.string().min(1);

/** Returns the schema of an expanded collection: the first items of the list at `url`, at most `max` and 2 MB. */
function collectionOf<Item extends z.ZodType>(item: Item, max = 20) {
  return z.strictObject({
    object: z.literal('collection').describe('Type of the object.'),
    data: z
      .array(item)
      .max(max)
      .describe(`The first items, at most ${max}, and fewer if they are larger than 2 MB.`),
    total_count: count.describe('Number of all items.'),
    has_more: z.boolean().describe('Whether the list at `url` has more items than `data`.'),
    url: z.string().describe('Path of the complete list, in the same order.'),
  });
}

const untranslated = z
  .array(z.string())
  .optional()
  .meta({
    description:
      'With `locale` and a secret key: the names of the texts without a translation. Omitted if there are none.',
    example: ['description', 'seo.title'],
  });
const handles = z
  .record(z.string(), z.string())
  .optional()
  .meta({
    description:
      'The handle in each locale of the store, for links to other languages. Only in an answer in a language, if the handles differ.',
    example: { es: 'cafe', de: 'kaffee' },
  });
const { name, ...profile } = answerShape(storeFields);

export const mediaVariantSchema = z.strictObject({
  name: variantNameSchema.describe('Name of the size: at most 200, 480, 960 and 1600 pixels wide.'),
  url: address.describe('Path of the picture. Needs no token and can be cached for ever.'),
  width: z.int().min(1).describe('Width in pixels.'),
  height: z.int().min(1).describe('Height in pixels.'),
  mime_type: z.string().describe('Content type of the picture.'),
});

export const mediaSchema = z.strictObject({
  id,
  object: typeOf('media'),
  status: mediaStatusSchema.describe(
    '`processing` until the pictures have been generated, then `ready`, or `failed` if the upload cannot be decoded.',
  ),
  mime_type: imageTypeSchema.describe('Content type of the upload, detected from its bytes.'),
  size_bytes: count.describe('Size of the upload in bytes.'),
  width: z.int().min(1).describe('Width of the upload in pixels, after rotation.'),
  height: z.int().min(1).describe('Height of the upload in pixels, after rotation.'),
  ...answerShape(mediaFields),
  untranslated,
  url: address
    .optional()
    .describe('Path of the full-size picture without metadata. Present if the status is `ready`.'),
  variants: z
    .array(mediaVariantSchema)
    .describe('Smaller pictures, for `srcset`. Empty unless the status is `ready`.'),
  placeholder: z
    .string()
    .optional()
    .describe('Tiny preview as a data URI, to show until the picture has loaded.'),
  created_at,
  updated_at,
});

export const mediaCollectionSchema = collectionOf(mediaSchema);

const lowest_price_30d = count.optional().meta({
  description:
    'The lowest price of the 30 days before the reduction that runs, in hundredths. Present if and only if the price is reduced now: by a sale, or below `compare_at_amount`.',
  example: 3400,
});

export const variantSchema = z.strictObject({
  id,
  object: typeOf('variant'),
  publication_id: id.describe('Id of its publication.'),
  ...answerShape(variantFields),
  lowest_price_30d,
  price_active: z.literal(false).optional().meta({
    description:
      'Only with `currency`, if the variant has no price in it: the other amounts must not be shown.',
    example: false,
  }),
});

export const variantCollectionSchema = collectionOf(variantSchema, SHOWN_VARIANTS_MAX);

export const publicationSchema = z
  .strictObject({
    id,
    object: typeOf('publication'),
    ...answerShape(publicationFields),
    lowest_price_30d,
    handles,
    untranslated,
    created_at,
    updated_at,
    deleted_at,
    stats: z
      .strictObject({
        media_count,
        view_count: count.describe(
          'How often customers opened the publication. Late by `VIEW_FLUSH_INTERVAL_S`, 60 seconds by default.',
        ),
        rating: z
          .strictObject({
            average: z.number().min(1).max(5).describe('Average rating with two decimals.'),
            count: count.describe('Number of published reviews.'),
          })
          .optional()
          .meta({
            description: 'The published reviews. Omitted if there are none.',
            example: { average: 4.33, count: 3 },
          }),
      })
      .optional()
      .describe('Numbers of the publication.'),
    options: z
      .array(
        z.strictObject({
          name: z.string().meta({ description: 'The name of the option.', example: 'Talla' }),
          values: z
            .array(z.string())
            .meta({ description: 'Its values, in display order.', example: ['S', 'M'] }),
        }),
      )
      .max(OPTIONS_MAX)
      .optional()
      .describe('In what its variants differ. Omitted if it has no options.'),
    price_range: z
      .strictObject({
        min: count.meta({ description: 'The lowest price, which is `price_amount`.', example: 3400 }),
        max: count.meta({ description: 'The highest price.', example: 5900 }),
      })
      .optional()
      .describe('The prices of its variants, in hundredths of the major unit. Omitted if it has none.'),
    variant_count: count
      .optional()
      .meta({ description: 'Number of variants. Omitted if it has none.', example: 6 }),
    in_stock: z.boolean().optional().meta({
      description: 'Whether any variant can be bought. Omitted if it has no variants.',
      example: true,
    }),
    media_ids: z.array(id).max(PUBLICATION_MEDIA_MAX).describe('The ids of all its media, in display order.'),
    listing_ids: z.array(id).min(1).max(OTHER_LISTINGS_MAX).optional().meta({
      description:
        'The ids of the other listings that contain it. Without those that are hidden. Omitted if there are none.',
      example: publicationFields.listing_ids.example,
    }),
    featured_positions: z.record(z.string(), z.int().min(1)).optional().meta({
      description:
        'Its rank among the featured publications of each of its `listing_ids` in which it is featured, by the id of the listing. Omitted if it is featured in none of them.',
      example: publicationFields.featured_positions.example,
    }),
    listing_id: id
      .optional()
      .describe('The id of its listing. Omitted if it has none, and if the listing is hidden.'),
  })
  .extend({
    get listing() {
      return listingSchema
        .optional()
        .describe('Present with `expand=listing` if the publication has a listing that is visible.');
    },
    media: mediaCollectionSchema.optional().describe('Present with `expand=media`.'),
    variants: variantCollectionSchema
      .optional()
      .describe('Present with `expand=variants`: the first 250 of one publication, and 50 in lists.'),
  });

export const publicationCollectionSchema = collectionOf(publicationSchema);

const PARENT = { id: listingFields.parent_id.example, name: 'Drinks' };

export const listingSchema = z
  .strictObject({
    id,
    object: typeOf('listing'),
    ...answerShape(listingFields, LISTING_RESPONSE_NAMES),
    handles,
    untranslated,
    created_at,
    updated_at,
    deleted_at,
    stats: z
      .strictObject({
        media_count,
        publication_count: count.describe(
          'Number of publications in the listing, without those of the listings below it.',
        ),
      })
      .optional()
      .describe('Numbers of the listing. Absent in the `listing` of a publication.'),
    media_ids: z
      .array(id)
      .max(LISTING_MEDIA_MAX)
      .optional()
      .describe(
        "The ids of all its media, in display order. Omitted, like `stats`, in a publication's `listing`.",
      ),
    children_count: count
      .optional()
      .meta({ description: 'Number of listings directly below. Omitted if there are none.', example: 2 }),
    parent_id: id.optional().meta({
      description:
        'The id of the listing that contains it. Omitted at the top, if that listing is hidden, and in expansions.',
      example: PARENT.id,
    }),
    path: z
      .array(
        z.strictObject({
          id: id.meta({ description: 'Its id.', example: PARENT.id }),
          name: z.string().meta({ description: 'Its name.', example: PARENT.name }),
        }),
      )
      .min(1)
      .max(LISTING_LEVELS_MAX)
      .optional()
      .meta({
        description: 'The listings that contain it, from the top to its parent. Omitted like `parent_id`.',
        example: [PARENT],
      }),
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

/** `POST /api/publications/batch`. */
export const batchItemSchema = z.strictObject({
  index: count.describe('Place of the item in the request, starting at 0.'),
  action: z.enum(['create', 'update', 'put', 'delete']).describe('What was to be done.'),
  id: id.optional().describe('Id of the publication. Absent if no publication was created or found.'),
  external_id: z.string().optional().describe('External id, of a `put`.'),
  result: z
    .enum(['created', 'updated', 'unchanged', 'deleted'])
    .optional()
    .describe('What became of the publication. Absent if the item failed.'),
  error: errorInfoSchema.optional().describe('Why the item failed.'),
});
export const batchListingSchema = batchItemSchema
  .omit({ action: true })
  .extend({ external_id: z.string().describe('External id of the listing.') });
export const batchSchema = z.strictObject({
  dry_run: z
    .boolean()
    .describe(
      'Whether this was a trial: nothing was written, and the results are those that the batch would have.',
    ),
  created: count.describe('Number of publications that were created.'),
  updated: count.describe('Number of publications that were updated.'),
  unchanged: count.describe('Number of updates and puts that changed nothing.'),
  deleted: count.describe('Number of publications that were deleted.'),
  failed: count.describe('Number of items that failed.'),
  listings: z
    .array(batchListingSchema)
    .optional()
    .describe('What became of each listing, in their order. Absent if none was sent.'),
  items: z.array(batchItemSchema).describe('What became of each item, in their order.'),
});

/** `GET …/by-handle/:handle` with an earlier handle. */
export const movedSchema = z.strictObject({
  id,
  object: z.enum(['publication', 'listing']).describe('Type of the resource.'),
  handle: z.string().describe('The handle that the resource has now.'),
});

const putResult = z
  .enum(['created', 'updated', 'unchanged'])
  .describe('Whether the request created the resource, changed it, or found it as it should be.');

/** `PUT …/by-external-id/:external_id`. */
export const putListingSchema = listingSchema.extend({ result: putResult });
export const putPublicationSchema = publicationSchema.extend({ result: putResult });

/** `POST /api/publication/:id/revert`. */
export const revertedPublicationSchema = publicationSchema.extend({
  not_restored: z
    .array(z.enum(['listing_id', 'listing_ids', 'media_ids', 'translations']))
    .describe(
      'Fields that were not restored, or only in part, because what they refer to was deleted, or the store no longer has the locale.',
    ),
});

export const storeSchema = z.strictObject({
  id,
  object: typeOf('store'),
  name,
  status: storeStatusSchema.describe('Storefronts can read `active` stores only.'),
  ...profile,
  untranslated,
  created_at,
  updated_at,
  stats: z
    .strictObject({ listing_count: count.describe('Number of listings.') })
    .optional()
    .describe('Numbers of the store.'),
  listings: listingCollectionSchema.optional().describe('Present with `expand=listing`.'),
  media: mediaCollectionSchema.optional().describe('Present with `expand=media`.'),
});

export const paymentMethodSchema = z.strictObject({
  id,
  object: typeOf('payment_method'),
  type: paymentMethodTypeSchema.describe('Kind of payment, for example to choose an icon.'),
  name: z.string().describe('Name of the payment method, shown to customers.'),
  instructions: z.string().optional().describe('What customers must do to pay, in plain text.'),
  position: z.int().min(1).describe("Rank among the store's payment methods, starting at 1."),
});

export const reviewSchema = z.strictObject({
  id,
  object: typeOf('review'),
  publication_id: id.describe('Id of the publication that was reviewed.'),
  rating: z.int().min(1).max(5).describe('Rating from 1 (worst) to 5 (best).'),
  title: z.string().optional().describe('Headline of the review.'),
  body: z.string().describe('Text of the review, in plain text.'),
  author_name: z.string().describe('Name of the customer, as shown with the review.'),
  verified: z.boolean().describe('Whether the customer is known to have bought the product.'),
  created_at: timestamp.describe('When the review was written: ISO 8601 in UTC with milliseconds.'),
  status: reviewStatusSchema
    .optional()
    .describe('Storefronts show `published` reviews only. Absent unless the request is about the status.'),
});

/** Returns the schema of the answer to a DELETE. */
function deletedOf<const Name extends string>(name: Name) {
  return z.strictObject({
    id,
    object: typeOf(name),
    deleted: z.literal(true).describe('The resource does not exist any more.'),
  });
}

export const deletedPublicationSchema = deletedOf('publication');

export const deletedListingSchema = deletedOf('listing').extend({
  publication_count: z
    .int()
    .min(0)
    .optional()
    .describe(
      'Number of publications, public and private, that were in the listing and have none now. Absent if it could not be read.',
    ),
});

export const deletedVariantSchema = deletedOf('variant');

export const deletedMediaSchema = deletedOf('media');

/** `POST /api/listing/:id/featured`. */
export const featuredOrderSchema = z.strictObject({
  object: typeOf('featured_order'),
  listing_id: id.describe('Id of the listing.'),
  publication_ids: z.array(id).describe('The ids of the featured publications, in their order.'),
  changed_count: count.describe('Number of publications whose position changed.'),
});

const price_list = z.string().meta({ description: 'Name of the price list.', example: 'wholesale' });

/** The prices of a publication in a price list (docs/interface/price-lists.md). */
export const listPriceSchema = z.strictObject({
  id,
  object: typeOf('list_price'),
  price_list,
  publication_id: id.describe('Id of the publication, which may be deleted.'),
  currency: z.string().meta({ description: 'The currency of the prices.', example: 'PEN' }),
  price: listPrice.describe('Its price, and that of its variants without one of their own.'),
  variants: z.record(z.string(), listPrice).optional().describe('The prices of variants, by their ids.'),
});

export const setListPricesSchema = z.strictObject({
  object: typeOf('list_prices'),
  price_list,
  changed_count: count.describe('Number of publications whose prices changed.'),
});

export const deletedReviewSchema = deletedOf('review');

/** `GET /api/listing/:id/publications` (docs/interface/listings.md#publications-of-a-listing). */
export const listingPublicationsSchema = z.strictObject({
  featured: z.array(publicationSchema).describe('The featured publications of this page, by their position.'),
  others: z.array(publicationSchema).describe('The other publications of this page.'),
  meta: z
    .strictObject({
      default_sort_mode: sortModeSchema.describe("The listing's own order."),
      effective_sort_mode: listSortModeSchema.describe('The order of this page.'),
      pagination: z
        .strictObject({
          page: z.int().min(1).describe('Number of this page.'),
          limit: z.int().min(1).max(50).describe('Maximum number of publications on a page.'),
          total: count.describe('Number of publications on all pages, featured ones included.'),
          total_pages: count.describe('Number of pages.'),
          ...nextCursorShape,
          ...pageCutsShape,
        })
        .describe('Position of this page in the whole sequence.'),
      ...facetsShape,
    })
    .describe('Order and pages of the publications.'),
});

/** An entry of `GET /api/changes` and of a history (docs/interface/changes.md). */
export const changeSchema = z.strictObject({
  id: z
    .string()
    .meta({ description: 'The offset after this change.', example: '00000000000000001042-0195d4a2' }),
  type: z.string().meta({ description: 'What happened to what.', example: 'publication.updated' }),
  resource: z.enum(CHANGED_RESOURCES).describe('Type of the resource.'),
  resource_id: id.describe('Id of the resource.'),
  title: z.string().optional().meta({
    description:
      'Title of the publication, also of a variant, or name of the listing: after the change, or before the deletion.',
    example: 'Chanchamayo coffee, 250 g',
  }),
  publication_id: id.optional().describe('Of a variant: the id of its publication.'),
  revision: z
    .int()
    .min(1)
    .describe('Grows with each change of the resource. Variants share the numbers of their publication.'),
  occurred_at: timestamp.describe('When it happened: ISO 8601 in UTC with milliseconds.'),
  actor: z
    .strictObject({
      type: z.enum(ACTOR_TYPES).describe('`key`: a request with an API key.'),
      id: id.optional().describe('Id of the API key.'),
      name: z.string().optional().describe('Name of the API key.'),
    })
    .describe('Who changed it.'),
  request_id: z.string().optional().describe('`X-Request-Id` of the request, or the id of the import.'),
  run: z.string().optional().meta({
    description: 'The run that the write belongs to (`X-Catalog-Run`). Of an import without one: its id.',
    example: 'assistant-2026-02-01',
  }),
  changed: z
    .record(
      z.string(),
      z.strictObject({
        before: z.unknown().meta({ description: 'The value before. Null for none.', example: 1250 }),
        after: z.unknown().meta({ description: 'The value after. Null for none.', example: 990 }),
      }),
    )
    .meta({
      description:
        'The changed fields, with their values before and after; null for none. Of `variants`, `translations` and `prices`, only the entries that differ. Empty for a deletion and a restoration.',
      example: { price_amount: { before: 1250, after: 990 } },
    }),
});

/** An item of `GET /api/media/:id/uses`. */
export const mediaUseSchema = z.strictObject({
  id,
  object: z.enum(['publication', 'listing']).describe('Type of the resource.'),
  title: z.string().describe('Title of the publication, or name of the listing.'),
  visibility: visibilitySchema.describe('Whether storefronts show it.'),
});

/** What a channel would refuse in a product (docs/feeds.md). */
export const feedIssueSchema = z.strictObject({
  id: z.string().describe('Names the issue: the publication, the field, the problem and its severity.'),
  object: typeOf('feed_issue'),
  publication_id: id,
  title: z.string().describe('Title of the publication.'),
  field: z.string().describe('Name of the field in the feed.'),
  problem: z
    .enum(['missing', 'too_long', 'too_many', 'invalid'])
    .describe(
      'What is wrong: no value, too many characters, too many values, or a value that is not allowed.',
    ),
  severity: z
    .enum(['error', 'warning'])
    .describe('`error`: the channel refuses the items. `warning`: it shows less of them.'),
  message: z.string().describe('What is wrong, and what the field is made from.'),
  variant_count: z.int().min(0).describe('Number of variants that have the problem. 0 without variants.'),
  variant_ids: z.array(id).describe('The first ten of these variants.'),
});
export type FeedIssue = z.infer<typeof feedIssueSchema>;

/** A key of `GET /api/keys` (docs/interface/access.md#keys-of-a-store). */
export const keySchema = z.strictObject({
  id,
  object: typeOf('key'),
  name: z.string().describe('Its purpose, or the person who has it.'),
  type: keyTypeSchema.describe('What it may do: `public` keys read, `secret` keys read and write.'),
  last_four: z.string().optional().describe('Its last characters, by which people recognise it.'),
  permissions: z.array(permissionSchema).describe('What it may read and write.'),
  stores: z
    .array(id)
    .describe('The stores that it gives access to. The first is the default of its requests.'),
  status: z.enum(['active', 'expired', 'revoked']).describe('Whether it works.'),
  is_own: z.boolean().describe('Whether it is the key of this request.'),
  needs_confirmation: z.boolean().describe('Whether its writes are proposals, which another key confirms.'),
  price_list: z.string().optional().meta({
    description: 'The price list whose prices it sees. Absent: the prices of the publications.',
    example: 'wholesale',
  }),
  created_at,
  last_used_at: timestamp.optional().meta({
    description: 'When it was last used, within five minutes.',
    example: '2026-02-01T12:00:00.000Z',
  }),
  expires_at: timestamp.optional().meta({
    description: 'When it stops to work. Absent if it does not expire.',
    example: '2027-01-31T12:00:00.000Z',
  }),
});

/** A proposal (docs/interface/runs.md#proposals). */
export const proposalSchema = z.strictObject({
  id,
  object: typeOf('proposal'),
  status: z
    .enum(PROPOSAL_STATUSES)
    .describe('`expired`: nobody has decided it in 7 days. `confirmed` without a result: confirm it again.'),
  run: z.string().optional().meta({ description: 'The run of the write.', example: 'assistant-2026-02-01' }),
  key: id.describe('Id of the key that has proposed the write.'),
  summary: z
    .string()
    .meta({ description: 'What the write does.', example: 'Update a publication: Chanchamayo coffee' }),
  operation: z.string().meta({ description: 'Its `operationId`.', example: 'updatePublication' }),
  method: z.string().meta({ description: 'Method of the request.', example: 'PATCH' }),
  path: z.string().meta({
    description: 'Path of the request, with its query.',
    example: '/api/publication/0195d4a2-8a02-7c1e-9f31-5b0c7a6e1d03',
  }),
  body: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Body of the request. Absent in lists.', example: { price_amount: 990 } }),
  created_at,
  expires_at: timestamp.describe('Until when it can be decided.'),
  decided_by: id.optional().describe('Id of the key of the person who has confirmed or rejected it.'),
  decided_at: timestamp.optional().describe('When it was confirmed or rejected.'),
  reason: z
    .string()
    .optional()
    .meta({ description: 'Why it was rejected.', example: 'Not before the weekend' }),
  result: z
    .strictObject({
      status: z.int().describe('Status of the answer to the write.'),
      data: z.unknown().optional().meta({
        description: '`data` of the answer. Absent if it has more than 262,144 bytes.',
        example: {},
      }),
      error: z
        .record(z.string(), z.unknown())
        .optional()
        .meta({ description: 'Why the write was refused.', example: { code: 'CONFLICT' } }),
    })
    .optional()
    .describe('What became of a confirmed write. Absent in lists.'),
});

/** The answer that has the key itself. */
export const newKeySchema = keySchema.extend({
  secret: z
    .string()
    .optional()
    .describe('The key itself. Only in the first answer: a repetition of the request does not get it again.'),
});

/** `GET /api/webhook/:id` (docs/webhooks.md). */
export const webhookSchema = z.strictObject({
  id,
  object: typeOf('webhook'),
  url: z.string().describe('Where the changes are sent to.'),
  description: z.string().optional().describe('For people.'),
  events: z
    .array(
      z.strictObject({
        type: z.string().meta({ description: 'What happened to what.', example: 'publication.updated' }),
        fields: z
          .array(z.string())
          .optional()
          .meta({ description: 'Only changes of one of these fields.', example: ['price_amount'] }),
      }),
    )
    .describe('The changes that are sent. None: all changes.'),
  status: z
    .enum(['active', 'paused', 'disabled'])
    .describe(
      '`paused` also after the last attempt to deliver a change. `disabled`: the receiver has answered 410.',
    ),
  status_reason: z
    .string()
    .optional()
    .meta({ description: 'Why the service has paused or disabled it.', example: 'status 500' }),
  after: z.string().describe('The changes until this offset are delivered, or pending.'),
  pending_count: count.describe('Number of messages that will be tried again, or wait for such a one.'),
  secret: z.string().optional().meta({
    description: 'The secret that signs the messages. Only after a creation or a rotation.',
    example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  }),
  created_at,
  updated_at,
});

export const deletedWebhookSchema = deletedOf('webhook');

/** An attempt of `GET /api/webhook/:id/deliveries`. */
export const deliverySchema = z.strictObject({
  id: z.string().describe('The `webhook-id` of the message: the id of the change.'),
  type: z.string().describe('What happened to what, or `webhook.ping`.'),
  resource_id: id.describe('Id of the resource.'),
  attempt: z.int().min(1).describe('Number of the attempt, from 1.'),
  at: timestamp.describe('When it was made: ISO 8601 in UTC with milliseconds.'),
  duration_ms: z.number().min(0).describe('How long it took, in milliseconds.'),
  response_status: z
    .int()
    .optional()
    .describe('Status that the receiver has answered. From 200 to 299, the message is delivered.'),
  error: z.string().optional().meta({ description: 'Why it failed.', example: 'status 500' }),
  next_attempt_at: timestamp
    .optional()
    .describe('When it is tried again. Absent if it was delivered, or is not tried again.'),
});

export type Key = z.infer<typeof newKeySchema>;
const importFormat = z.enum(IMPORT_FORMATS);
const importCurrency = z.string().optional();
const importCounts = (what: string) =>
  z
    .strictObject({
      created: count.describe('Number of new ones.'),
      updated: count.describe('Number of changed ones.'),
      unchanged: count.describe('Number of those that are as in the file already.'),
      failed: count.describe('Number of those that cannot be imported.'),
    })
    .describe(`Number of ${what}, by what became of them.`);

/** `detected` of an import. */
export const detectedFileSchema = z.strictObject({
  format: importFormat.describe('Format of the file: the chosen one, or else that of its content.'),
  type: z
    .enum(FILE_TYPES)
    .optional()
    .describe('Type of the file, by its content. Absent if an earlier release has read it.'),
  separator: z
    .string()
    .optional()
    .meta({ description: 'Between the values of CSV. Absent for other files.', example: ';' }),
  encoding: z.literal('utf-8').describe('Encoding of the text. Files in another one are refused.'),
  currency: importCurrency.meta({
    description: 'Currency of new publications whose rows have none. Absent for price lists.',
    example: 'PEN',
  }),
  columns: z
    .array(
      z.strictObject({
        name: z.string().meta({ description: 'Name in the file.', example: 'Precio' }),
        used_as: z
          .string()
          .nullable()
          .meta({ description: 'The known column. Null: it is not read.', example: 'Variant Price' }),
        examples: z
          .array(z.string())
          .max(3)
          .meta({
            description: 'Different values of the first rows, at most 3.',
            example: ['12.50', '9.00'],
          }),
      }),
    )
    .describe(
      'The columns of the file, in their order; of a feed in XML, its elements. Empty for JSON Lines.',
    ),
});

const undoReportShape = {
  deleted: count.describe('Number of resources that the run had created, and that are deleted now.'),
  reverted: count.describe('Number of resources that have their earlier values again.'),
  restored: count.describe('Number of resources that the run had deleted, and that exist again.'),
  kept: z
    .array(
      z.strictObject({
        kind: z.string().meta({ description: 'Type of the resource.', example: 'publication' }),
        id,
        title: z.string().describe('Its title or name, or else its id.'),
        reason: z.string().meta({ description: 'Why it stays.', example: 'changed since' }),
      }),
    )
    .describe('Resources that stay as they are, in all or in part.'),
};

/** `POST /api/runs/:run/undo`. */
export const undoneRunSchema = z.strictObject({
  run: z
    .string()
    .describe('The run that was undone. The changes of the undo belong to the run `undo-` and its name.'),
  dry_run: z.boolean().describe('Whether this is what an undo would do.'),
  ...undoReportShape,
  complete: z
    .boolean()
    .describe('`false` if the time of the request was over. Send it again: it does the rest.'),
});

/** `report` of an import. */
export const importReportSchema = z.strictObject({
  dry_run: z.boolean().describe('Whether this is what an import would do. `false`: what it has done.'),
  wrote: z.boolean().describe('Whether something was written, so that the import can be undone.'),
  complete: z.boolean().describe('`false` if the step was stopped. Starting it again does the rest.'),
  currency: importCurrency.meta({
    description: 'Currency of new publications whose rows have none. Absent for price lists.',
    example: 'PEN',
  }),
  listings: importCounts('listings'),
  publications: importCounts('publications'),
  reviews: importCounts('reviews'),
  media: importCounts('pictures'),
  unread: z
    .array(
      z.strictObject({
        from_line: z.int().min(1).describe('First line that was not read.'),
        to_line: z.int().nullable().describe('Last one. Null: nothing was read up to the end of the file.'),
      }),
    )
    .describe('Lines that could not be split into rows, at most 200 entries.'),
  unused_columns: z.record(z.string(), count).meta({
    description: 'Number of rows with a value that is not imported, by the name of the column.',
    example: { 'Gift Card': 12 },
  }),
  rows: z
    .strictObject(
      Object.fromEntries(ROW_OUTCOMES.map((name) => [name, count.describe(`Number of rows: ${name}.`)])),
    )
    .describe('Number of rows of the report that can be listed, by their outcome, at most 10,000 of each.'),
});

/** An import (docs/interface/imports.md). */
export const importSchema = z.strictObject({
  id: id.describe('Id of the import, by which the command line can undo it: a UUID in lower case.'),
  object: typeOf('import'),
  file: z.string().meta({ description: 'Name of the file.', example: 'products.csv' }),
  created_at,
  step: z.enum(IMPORT_STEPS).describe('The last step that was started.'),
  status: z
    .enum(['running', 'done', 'failed', 'stopped'])
    .describe(
      'State of the step. `stopped`: it waits for another import, or the service has ended meanwhile. Start the step again; it then does the rest.',
    ),
  was_imported: z
    .boolean()
    .describe('Whether an import was started, so that there may be something to undo.'),
  progress: z
    .strictObject({
      done: count.describe('Number of products or lines that are done.'),
      total: count.describe('Number of all of them; 0 until it is known.'),
    })
    .describe('How far the step is.'),
  error: z.string().optional().meta({
    description: 'Why the step failed.',
    example: 'The file “products.csv” has no rows after the header.',
  }),
  settings: z
    .strictObject({
      format: importFormat.optional().describe('The chosen format. Absent: that of the content.'),
      currency: importCurrency.meta({ description: 'The chosen currency.', example: 'PEN' }),
      overwrite: z.boolean().describe('Whether to overwrite fields that were changed by hand.'),
      images: z.enum(['public', 'skip']).describe('Whether to fetch pictures.'),
      columns: z.record(z.string(), z.string().nullable()).meta({
        description: 'Known columns that columns of the file are used as. Null: the column is not read.',
        example: { Precio: 'Variant Price' },
      }),
    })
    .describe('How the file is imported.'),
  detected: detectedFileSchema.optional(),
  known_columns: z
    .array(z.string())
    .optional()
    .meta({
      description: 'The columns that the format knows.',
      example: ['Handle', 'Title', 'Variant Price'],
    }),
  report: importReportSchema.optional(),
  undone: z
    .strictObject(undoReportShape)
    .optional()
    .meta({
      description: 'What the last undo did. `kept` has at most 200 entries.',
      example: {
        ...{ deleted: 2, reverted: 0, restored: 0 },
        kept: [
          {
            kind: 'publication',
            id: '0195d4a2-8a02-7c1e-9f31-5b0c7a6e1d03',
            title: 'Mate',
            reason: 'changed since',
          },
        ],
      },
    }),
});

export const deletedImportSchema = deletedOf('import');

/** A row of `GET /api/import/:id/rows`. */
export const importRowSchema = z.strictObject({
  id: z.string().meta({ description: 'Number of the row in the report.', example: '1' }),
  outcome: z.enum(ROW_OUTCOMES).describe('What became of the row. `warning`: imported with a change.'),
  line: z.int().min(1).describe('Its first line in the file, counted from 1 with the header.'),
  kind: z
    .enum(['publication', 'listing'])
    .optional()
    .describe('What it is. Absent for a line of JSON Lines that failed or has a warning.'),
  external_id: z.string().optional().meta({
    description: 'Handle, external id or code of the item, or the name of a listing.',
    example: 'tea',
  }),
  title: z.string().optional().meta({ description: 'Title of the publication.', example: 'Green tea' }),
  price: z
    .strictObject({
      amount: z.int().describe('The price in hundredths of the major unit.'),
      currency: z.string().meta({ description: 'ISO 4217 code.', example: 'PEN' }),
    })
    .optional()
    .describe(
      'Price after the import: of the publication or, in a price list, of the variant. Absent if none is shown.',
    ),
  fields: z
    .array(z.string())
    .optional()
    .meta({ description: 'Fields that change, or that were kept.', example: ['price_amount'] }),
  changes: z
    .array(
      z.strictObject({
        field: z.enum(['price_amount', 'compare_at_amount', 'quantity_available']).describe('The field.'),
        before: z.int().nullable().describe('Its value before the import. Null: there was none.'),
        after: z.int().nullable().describe('Its value after the import. Null: there is none.'),
      }),
    )
    .optional()
    .meta({
      description: 'Values that a row of a price list changes in the variant or publication.',
      example: [{ field: 'price_amount', before: 1_250, after: 1_300 }],
    }),
  reason: z
    .string()
    .optional()
    .meta({ description: 'Why it failed, or how it was changed.', example: 'missing price' }),
});

export type Import = z.infer<typeof importSchema>;
export type ImportRow = z.infer<typeof importRowSchema>;
export type Webhook = z.infer<typeof webhookSchema>;
export type Delivery = z.infer<typeof deliverySchema>;
export type Media = z.infer<typeof mediaSchema>;
export type Publication = z.infer<typeof publicationSchema>;
export type Variant = z.infer<typeof variantSchema>;
export type Listing = z.infer<typeof listingSchema>;
export type Store = z.infer<typeof storeSchema>;
export type PaymentMethod = z.infer<typeof paymentMethodSchema>;
export type Review = z.infer<typeof reviewSchema>;
export type FeaturedOrder = z.infer<typeof featuredOrderSchema>;
export type ListingPublications = z.infer<typeof listingPublicationsSchema>;
