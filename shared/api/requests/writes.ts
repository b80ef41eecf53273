import { z } from 'zod';
import { CHANGE_OFFSET, CHANGE_TYPES } from '../../catalog/changes';
import { newShape, patchShape } from '../../catalog/fields';
import {
  currencyField,
  fewNames,
  handleField,
  idField,
  idsField,
  lineField,
  textField,
  timeField,
} from '../../catalog/input-rules';
import { listPrice } from '../../catalog/list-price/list-price';
import { listingFields } from '../../catalog/listing/fields';
import { ALT_MAX, mediaFields } from '../../catalog/media/fields';
import { publicationFields } from '../../catalog/publication/fields';
import { VARIANTS_MAX, variantFields } from '../../catalog/publication/variants';
import { storeFields } from '../../catalog/store/fields';
import {
  IMPORT_FORMATS,
  keyTypeSchema,
  permissionSchema,
  reviewStatusSchema,
} from '../../catalog/vocabulary';
import * as examples from '../responses/examples';
import { flag, queryId } from './parameters';

// Bodies of the writes (docs/interface/writes.md). Null clears an optional field and is rejected for a required one.
// A POST treats `store_id: null` as unset. A PATCH may repeat the `store_id` of the resource but not change it.

/** Maximum size of an uploaded file (docs/interface/media.md#uploads). */
export const UPLOAD_BYTES_MAX = 10_485_760;

/** Query parameters of every write. */
export const writeQuerySchema = z.object({
  store_id: queryId.optional().meta({
    description:
      "Store of the resource. Default for a new resource, and for the store itself: the first of the token's stores. Otherwise, the resource may be in any of them.",
    example: examples.ids.store,
  }),
});

/** `DELETE /api/listing/:id`. */
export const deleteListingSchema = writeQuerySchema.extend({
  if_empty: flag.meta({
    description: '`true`: the listing is only deleted if it has no publications, also no private ones.',
    example: true,
  }),
});

const storeIdDoc = (description: string) => ({ description, example: examples.ids.store });
const NEW_STORE_ID_DOC = storeIdDoc("Store of the new resource. Default: the first of the token's stores.");
const newStoreId = { store_id: idField.nullish().meta(NEW_STORE_ID_DOC) };
const patchStoreId = {
  store_id: idField.optional().meta(storeIdDoc('Store of the resource. It cannot be changed.')),
};

/** `POST /api/publication`. */
export const newPublicationBody = z.strictObject({ ...newShape(publicationFields), ...newStoreId });

/** `PATCH /api/publication/:id`. All fields are optional. */
export const publicationPatchBody = z.strictObject({ ...patchShape(publicationFields), ...patchStoreId });

/** `POST /api/publication/:id/variants`. */
export const newVariantBody = z.strictObject(patchShape(variantFields));

const ADJUST_MAX = 1_000_000_000;

/** `PATCH /api/variant/:id`. All fields are optional. */
export const variantPatchBody = newVariantBody.extend({
  quantity_available: z
    .union(
      [
        z.strictObject({
          adjust: z
            .int()
            .min(-ADJUST_MAX)
            .max(ADJUST_MAX)
            .meta({ description: 'Number of units to add, below 0 to subtract.', example: -1 }),
        }),
        newVariantBody.shape.quantity_available.unwrap(),
      ],
      'an integer, null or an object with adjust',
    )
    .optional()
    .meta({
      description:
        'Number of units in stock, or `{"adjust": n}` to add n to it, so that two sales at once are both counted. An adjustment below 0 is refused without `allow_backorder`.',
      example: { adjust: -1 },
    }),
});

/** `POST /api/listing`. */
export const newListingBody = z.strictObject({ ...newShape(listingFields), ...newStoreId });

/** `PATCH /api/listing/:id`. All fields are optional. */
export const listingPatchBody = z.strictObject({ ...patchShape(listingFields), ...patchStoreId });

/** `PATCH /api/store`. All fields are optional. */
export const storePatchBody = z.strictObject(patchShape(storeFields));

/** Maximum number of publications in a featured order. */
const FEATURED_MAX = 200;

/** `POST /api/listing/:id/featured`. */
export const featuredOrderBody = z.strictObject({
  publication_ids: idsField(FEATURED_MAX).meta({
    description: `The featured publications in their order. Maximum ${FEATURED_MAX}. All must be in the listing. All others of the listing are no longer featured.`,
    example: [examples.ids.publication],
  }),
});

/** `POST /api/publication/:id/revert`. */
export const revertBody = z.strictObject({
  revision: z.int().min(1).meta({
    description: 'The `revision` of a change in the history, to which the fields return.',
    example: 3,
  }),
});

/** `POST /api/runs/:run/undo`. */
export const undoBody = z.strictObject({
  dry_run: z.boolean().optional().meta({
    description: 'Change nothing, and answer with what an undo would do.',
    example: true,
  }),
});

/** `POST /api/proposal/:id/reject`. */
export const rejectionBody = z.strictObject({
  reason: textField(1_000).nullish().meta({ description: 'Why not.', example: 'Not before the weekend' }),
});

/** Maximum number of items of a batch. */
const BATCH_MAX = 500;
const BATCH_LISTINGS_MAX = 100;

/** `POST /api/publications/batch`. */
export const batchQuerySchema = writeQuerySchema.extend({
  on_error: z.enum(['reject_all', 'skip_failed']).default('reject_all').meta({
    description:
      '`reject_all`: if an item is invalid, nothing is written, and the answer is 400. `skip_failed`: the other items are written.',
    example: 'skip_failed',
  }),
  dry_run: flag.meta({
    description: '`true`: nothing is written. The answer has the results that the batch would have.',
    example: true,
  }),
});

const ACTIONS = ['create', 'update', 'put', 'delete'] as const;
export const publicationBatchItem = z
  .strictObject({
    action: z.enum(ACTIONS).meta({
      description: '`create` is a POST, `update` a PATCH, `put` a PUT by external id, `delete` a DELETE.',
      example: 'put',
    }),
    id: idField.optional().meta({
      description: 'Id of the publication, for `update` and `delete`.',
      example: examples.ids.publication,
    }),
    external_id: lineField(255).optional().meta({
      description: 'External id of the publication, for `put`.',
      example: 'erp-10442',
    }),
    body: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({
        description: 'The body that the action has as a request of its own. None for `delete`.',
        example: { price_amount: 3600 },
      }),
    listing_external_id: lineField(255).optional().meta({
      description:
        'External id of the main listing, which may be among `listings`. Instead of `listing_id` in the body.',
      example: 'erp-group-7',
    }),
  })
  .refine(({ body, listing_external_id: name }) => name === undefined || (body && !('listing_id' in body)), {
    path: ['listing_external_id'],
    error: 'none unless the item has a body without listing_id',
  })
  .refine(({ action, id }) => (action === 'update' || action === 'delete') === (id !== undefined), {
    path: ['id'],
    error: 'an id for update and delete, and none for other actions',
  })
  .refine(({ action, external_id }) => (action === 'put') === (external_id !== undefined), {
    path: ['external_id'],
    error: 'an external id for put, and none for other actions',
  })
  .refine(({ action, body }) => (action === 'delete') === (body === undefined), {
    path: ['body'],
    error: 'a body, and none for delete',
  });
export type PublicationBatchItem = z.output<typeof publicationBatchItem>;

export const batchListing = z.strictObject({
  external_id: lineField(255).meta({ description: 'External id of the listing.', example: 'erp-group-7' }),
  body: z.record(z.string(), z.unknown()).meta({
    description: 'The body that the PUT by external id has as a request of its own.',
    example: { name: 'Chemises' },
  }),
});

export const publicationBatchBody = z.strictObject({
  listings: z
    .array(batchListing)
    .max(BATCH_LISTINGS_MAX)
    .refine((listings) => new Set(listings.map(({ external_id }) => external_id)).size === listings.length, {
      error: 'each listing once',
    })
    .optional()
    .meta({
      description: `Listings to create or update before the items, in this order: at most ${BATCH_LISTINGS_MAX}.`,
    }),
  items: z
    .array(publicationBatchItem)
    .min(1)
    .max(BATCH_MAX)
    .superRefine((items, context) => {
      const named = new Set<unknown>();
      for (const [index, { id, external_id, body }] of items.entries())
        for (const name of new Set([id, external_id ?? body?.external_id])) {
          const is_first = typeof name !== 'string' || !named.has(name);
          named.add(name);
          if (!is_first)
            context.addIssue({ code: 'custom', path: [index], message: 'each publication once' });
        }
    })
    .meta({ description: `What to write: at most ${BATCH_MAX} items, each for another publication.` }),
});
export type PublicationBatch = z.output<typeof publicationBatchBody>;

/** The external id in a path. */
export const externalIdPath = z.strictObject({ external_id: lineField(255) });

/** `POST /api/publication/:id/reviews`. */
export const newReviewBody = z.strictObject({
  rating: z.int().min(1).max(5).meta({ description: 'From 1 (worst) to 5 (best).', example: 5 }),
  author_name: lineField(120).meta({ description: 'Name to show with the review.', example: 'Diego' }),
  title: lineField(200).nullish().meta({ description: 'Headline.', example: 'The best of the morning' }),
  body: textField(10_000).nullish().meta({ description: 'Plain text.', example: 'Always even.' }),
  verified_purchase: z.boolean().nullish().meta({
    description: 'Whether the customer is known to have bought the product: `verified` of the review.',
    example: true,
  }),
  created_at: timeField.nullish().meta({
    description: 'When the review was written. Default: now.',
    example: '2026-01-31T12:00:00.000Z',
  }),
  status: reviewStatusSchema.nullish().meta({
    description: "Default: the store's `new_review_status`, or `published`.",
    example: 'pending',
  }),
});

/** `PATCH /api/review/:id`. */
export const reviewPatchBody = z.strictObject({
  status: reviewStatusSchema.optional().meta({
    description: 'Storefronts show `published` reviews only.',
    example: 'published',
  }),
  ...patchStoreId,
});

const webhookShape = {
  url: z
    .string()
    // Parsing a URL leaves out CR, LF and tab.
    .refine((text) => !/\p{Cc}/u.test(text), {
      params: { condition: 'invalid_url' },
      error: 'a URL without control characters',
      abort: true,
    })
    .url({ protocol: /^https?$/, error: 'an https:// URL', abort: true })
    .max(2_048, 'at most 2,048 characters')
    .refine(isAddress, {
      params: { condition: 'invalid_url' },
      error: 'a URL without a user name, password or fragment',
    })
    .meta({
      description: 'Where the changes are sent to: an https:// URL on the public internet.',
      example: examples.webhook.url,
    }),
  description: lineField(255).nullish().meta({ description: 'For people.', example: 'ERP' }),
  events: z
    .array(
      z.strictObject({
        type: z
          .enum(CHANGE_TYPES)
          .meta({ description: 'What happened to what.', example: 'publication.updated' }),
        fields: z
          .array(lineField(100))
          .max(50)
          .exactOptional()
          .meta({ description: 'Only changes of one of these fields.', example: ['price_amount'] }),
      }),
    )
    .max(50)
    .meta({ description: 'The changes that are sent. None: all changes.', example: examples.webhook.events }),
};

function isAddress(text: string): boolean {
  const { username, password, hash } = new URL(text);
  return username + password + hash === '';
}

/** `POST /api/webhook`. */
export const newWebhookBody = z.strictObject({
  ...webhookShape,
  events: webhookShape.events.optional(),
  ...newStoreId,
});

/** `PATCH /api/webhook/:id`. All fields are optional. */
export const webhookPatchBody = z
  .strictObject({ ...webhookShape })
  .partial()
  .extend({
    status: z
      .enum(['active', 'paused'])
      .optional()
      .meta({ description: '`active`: what was not delivered is tried again at once.', example: 'active' }),
    ...patchStoreId,
  });

/** `POST /api/webhook/:id/replay`. */
export const replayBody = z.strictObject({
  from: z.string().regex(CHANGE_OFFSET, '-1, now or the id of a change').meta({
    description:
      'The changes after the one with this id are sent again: from the first one (`-1`), or none (`now`).',
    example: '-1',
  }),
});

const name = lineField(120).meta({
  description: 'Its purpose, or the person who has it.',
  example: 'Shop window',
});

const needs_confirmation = z.boolean().meta({
  description: 'Whether the writes of a secret key are proposals, which another key confirms.',
  example: false,
});

const price_list = handleField.nullish().meta({
  description: 'The price list whose prices the key sees. Null: the prices of the publications.',
  example: 'wholesale',
});

/** `POST /api/key`. */
export const newKeyBody = z.strictObject({
  name,
  type: keyTypeSchema.meta({
    description: '`public` keys read, `secret` keys read and write.',
    example: 'public',
  }),
  permissions: z
    .array(permissionSchema)
    .optional()
    .meta({ description: 'Default: all that the type may have.', example: ['read:publications'] }),
  expires_at: timeField
    .nullish()
    .meta({ description: 'When it stops to work. Default: never.', example: '2027-01-31T12:00:00.000Z' }),
  needs_confirmation: needs_confirmation.default(false),
  price_list,
});

/** `PATCH /api/key/:id`. */
export const keyPatchBody = z.strictObject({
  name: name.optional(),
  needs_confirmation: needs_confirmation.optional(),
  price_list,
});

const LIST_PRICES_MAX = 100;
/** A publication of `PUT /api/list-prices`. */
export const listPriceItem = z.strictObject({
  publication_id: idField.meta({ description: 'Id of the publication.', example: examples.ids.publication }),
  price: listPrice.nullable().meta({
    description: 'Its price, and that of its variants without one of their own. Null removes all.',
    example: { price_amount: 800 },
  }),
  variants: fewNames(z.record(idField, listPrice), VARIANTS_MAX)
    .exactOptional()
    .meta({ description: 'The prices of variants, by their ids.', example: examples.listPrice.variants }),
});

/** `PUT /api/list-prices`. */
export const listPricesBody = z.strictObject({
  price_list: handleField.meta({ description: 'Name of the price list.', example: 'wholesale' }),
  items: z
    .array(listPriceItem)
    .min(1)
    .max(LIST_PRICES_MAX)
    .refine((items) => new Set(items.map((item) => item.publication_id)).size === items.length, {
      error: 'each publication once',
    })
    .meta({ description: `The prices of at most ${LIST_PRICES_MAX} publications.` }),
});

const alt = lineField(ALT_MAX)
  .optional()
  .meta({ description: mediaFields.alt.doc, example: mediaFields.alt.example });
/** `PATCH /api/media/:id`. All fields are optional. */
export const mediaPatchBody = z.strictObject({ ...patchShape(mediaFields), ...patchStoreId });

const PUBLICATION_ID_DOC = {
  description: 'Publication to attach the picture to. It becomes the last of its media.',
  example: examples.ids.publication,
};
const LISTING_ID_DOC = {
  description: 'Listing to attach the picture to. It becomes the last of its media.',
  example: examples.ids.listing,
};

/** `POST /api/media`: the fields as query parameters. A form may use them, too; its own fields have priority. */
export const uploadQuerySchema = writeQuerySchema.extend({
  alt,
  publication_id: queryId.optional().meta(PUBLICATION_ID_DOC),
  listing_id: queryId.optional().meta(LISTING_ID_DOC),
});

const uploadFields = {
  alt,
  publication_id: idField.optional().meta(PUBLICATION_ID_DOC),
  listing_id: idField.optional().meta(LISTING_ID_DOC),
  store_id: idField.optional().meta(NEW_STORE_ID_DOC),
};

/** `POST /api/media`: the form that a client sends. An empty field counts as missing. */
export const uploadForm = z.strictObject({
  file: z.string().meta({
    format: 'binary',
    example: '(bytes of a JPEG file)',
    description:
      'JPEG, PNG, WebP, GIF or AVIF file of at most 10,485,760 bytes, 50 megapixels and 20,000 pixels per side. The service detects the type from the content.',
  }),
  ...uploadFields,
});

/** The form after the service has stored the file: hash and size replace the bytes. */
export const storedUpload = z.strictObject({
  file: z.object({ hash: z.string(), size_bytes: z.int() }),
  ...uploadFields,
});

/** The most bytes of a file to import. Larger files are for the command line. */
export const IMPORT_BYTES_MAX = 50_000_000;
const MAPPED_COLUMNS_MAX = 1_000;
const format = z.enum(IMPORT_FORMATS);
const images = z.enum(['public', 'skip']);
const columns = z
  .record(z.string().max(255), z.string().max(255).nullable())
  .refine(
    (mapping) => Object.keys(mapping).length <= MAPPED_COLUMNS_MAX,
    `at most ${MAPPED_COLUMNS_MAX} columns`,
  )
  .refine((mapping) => {
    const targets = Object.values(mapping).filter((target) => target !== null);
    return new Set(targets).size === targets.length;
  }, 'columns that are used as different ones');
const importDocs = {
  format: 'Format of the file. Default: detected from its content.',
  currency:
    "Currency of prices without one. Default for new publications: the store's currency, or else USD. Default for existing ones: their own.",
  overwrite: 'Whether to overwrite fields that were changed by hand since the last import.',
  images: '`public`: fetch the pictures from their addresses. `skip`: leave the pictures as they are.',
  columns:
    'For CSV and workbooks: names of columns of the file, each with the name of the known column that it is used as. Null: the column is not read. The other columns are used by their names.',
};

/** `POST /api/import/:id/preview`. A field that is left out keeps its value; null returns to the default. */
export const importSettingsBody = z.strictObject({
  format: format.nullish().meta({ description: importDocs.format, example: 'shopify' }),
  currency: currencyField.nullish().meta({ description: importDocs.currency, example: 'PEN' }),
  overwrite: z.boolean().optional().meta({ description: importDocs.overwrite, example: false }),
  images: images.optional().meta({ description: importDocs.images, example: 'public' }),
  columns: columns.nullish().meta({ description: importDocs.columns, example: { Precio: 'Variant Price' } }),
});

const importFields = {
  format: format.optional().meta({ description: importDocs.format, example: 'shopify' }),
  currency: currencyField.optional().meta({ description: importDocs.currency, example: 'PEN' }),
  overwrite: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: `${importDocs.overwrite} Default: \`false\`.`, example: 'false' }),
  images: images
    .optional()
    .meta({ description: `${importDocs.images} Default: \`public\`.`, example: 'public' }),
  columns: z
    .string()
    .optional()
    .meta({
      description: `${importDocs.columns} As the JSON text of an object, of at most 8,192 bytes.`,
      example: '{"Precio":"Variant Price"}',
    }),
  store_id: idField.optional().meta(NEW_STORE_ID_DOC),
};

/** `POST /api/imports`: the form that a client sends. An empty field counts as missing. */
export const importForm = z.strictObject({
  file: z.string().meta({
    format: 'binary',
    example: '(bytes of a CSV file)',
    description: 'CSV or JSON Lines in UTF-8, of at most 50,000,000 bytes and 50,000 rows.',
  }),
  ...importFields,
});

/** The form after the service has stored the file: name and hash replace the bytes. */
export const storedImport = z.strictObject({
  file: z.object({ name: z.string(), hash: z.string() }),
  ...importFields,
});
