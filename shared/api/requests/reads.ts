import { z } from 'zod';
import { CHANGE_TYPES, CHANGED_RESOURCES, HISTORY_CURSOR, OFFSET } from '../../catalog/changes';
import { currencyField, handleField } from '../../catalog/input-rules';
import { countryField } from '../../catalog/store/markets';
import { localeField } from '../../catalog/translations';
import { PROPOSAL_STATUSES, ROW_OUTCOMES, reviewStatusSchema } from '../../catalog/vocabulary';
import { FEED_CURSOR, IMPORT_ROWS_LIMIT_MAX } from '../responses/envelopes';
import * as examples from '../responses/examples';
import {
  anyNames,
  commaList,
  flag,
  idList,
  limitUpTo,
  nameList,
  paginationSchema,
  parameterList,
  priceBound,
  queryId,
  valueList,
} from './parameters';

// Query parameters of the reads (docs/interface/requests.md#query-parameters).

/** Values of `expand`. Every read accepts all; a value that does not apply to a resource adds nothing to it. */
const EXPANDABLE = ['publication', 'listing', 'media', 'variants'] as const;
export type Expandable = (typeof EXPANDABLE)[number];

/** Values of `visibility` (docs/interface/reads.md#visibility): visible to storefronts, hidden from them, or both. */
const VISIBILITY_FILTERS = ['public', 'private', 'all'] as const;
export type VisibilityFilter = (typeof VISIBILITY_FILTERS)[number];

export const SORT_FIELDS = ['created_at', 'price', 'name', 'rating'] as const;

/** Parameters of every read. Only the format of `store_id` is checked here; `storeOf` checks access to the store. */
export const readSchema = z.object({
  store_id: queryId.optional().meta({
    description: "Store to read. Default: the first of the token's stores.",
    example: examples.ids.store,
  }),
  visibility: z
    .enum(VISIBILITY_FILTERS)
    .default('public')
    .describe(
      'Which resources to return: `public` ones, `private` ones, or `all`. `private` and `all` require a secret key.',
    ),
  expand: commaList(
    EXPANDABLE,
    'Related resources to include in each resource. Values that do not apply to a resource are ignored.',
  ),
  locale: localeField.optional().meta({
    description:
      'The language of the texts, as a BCP 47 tag. Default: `Accept-Language`, for secret keys all languages.',
    example: 'de',
  }),
  market: z.string().optional().meta({
    description:
      'The `handle` of a market of the store, whose currency and language the answer has unless `currency` and `locale` name others.',
    example: 'eu',
  }),
  country: countryField.optional().meta({
    description:
      'A country, as an ISO 3166-1 alpha-2 code in upper case. Stands for the market that has it. Without effect if no market has it, or beside `market`.',
    example: 'DE',
  }),
});
const OF_MARKETS = { locale: true, market: true, country: true } as const;

/** Parameters of `GET /api/export`. */
export const exportSchema = readSchema.pick({ store_id: true }).extend({
  format: z.enum(['jsonl', 'shopify', 'translations']).optional().meta({
    description:
      'JSON Lines (default), the product file of Shopify (CSV), which has no listings, or the texts to translate (CSV).',
  }),
  base_url: z
    .url({ protocol: /^https?$/, error: 'an address that begins with http:// or https://' })
    .optional()
    .meta({
      description:
        'Where the pictures are served: the beginning of their addresses in the export. Default: where the request was sent.',
      example: 'https://shop.example',
    }),
  bom: flag.describe(
    'Of the CSV: whether it begins with a byte order mark, without which Excel does not read it as UTF-8.',
  ),
  escape_formulas: flag.describe(
    'Of the CSV: whether a text that a spreadsheet would run as a formula gets a quotation mark before it, which an import removes.',
  ),
});

/** Parameters of `GET /api/changes`. */
export const changesSchema = readSchema.pick({ store_id: true }).extend({
  offset: z.string().regex(OFFSET, '-1, now, snapshot or a Stream-Next-Offset').optional().meta({
    description:
      'Where to begin: after the changes of an earlier answer, from the beginning (`-1`, the default), after all changes until now (`now`), or with the creation of all that exists now (`snapshot`).',
    example: '00000000000000001042-0195d4a2',
  }),
  live: z
    .enum(['long-poll', 'sse'])
    .optional()
    .describe(
      'Whether to wait for changes: at most 4 s for an answer, or as server-sent events for a minute.',
    ),
  cursor: z.string().optional().meta({
    description: 'The `Stream-Cursor` of an earlier answer, for caches. Ignored.',
    example: '89424',
  }),
  resource: commaList(CHANGED_RESOURCES, 'Return only changes of these resources.'),
  type: commaList(CHANGE_TYPES, 'Return only changes of these types.'),
  fields: nameList('Return only changes of one of these fields, besides deletions and restorations.', [
    'price_amount',
  ]),
});

const queryTime = z.iso.datetime({ offset: true, error: 'an ISO 8601 time with a time zone' });

const currency = currencyField.optional().meta({
  description:
    'The currency of all prices, as an ISO 4217 code in upper case. What has no price in it has `price_active: false`. Default: the currency of each publication, with the prices in other currencies in `prices`.',
  example: 'USD',
});

/** Parameters of the reads of what has prices. */
export const pricedReadSchema = readSchema.extend({ currency });

/** Parameters of the reads of a listing or publication by id. */
export const resourceSchema = pricedReadSchema.extend({
  as_of: queryTime.optional().meta({
    description:
      'Return the resource as it was at this time, without `stats`, whatever its visibility. Requires a secret key.',
    example: '2026-02-01T00:00:00.000Z',
  }),
});

/** Parameters of the histories. */
export const historySchema = readSchema.pick({ store_id: true }).extend({
  ...paginationSchema.shape,
  since: queryTime
    .optional()
    .meta({ description: 'Return only changes from this time on.', example: '2026-02-01T00:00:00.000Z' }),
  actor: queryId.optional().meta({
    description: 'Return only changes by the API key with this id.',
    example: examples.ids.key,
  }),
  before: z
    .string()
    .regex(/^[1-9]\d{0,9}$/, 'a revision')
    .transform(Number)
    .optional()
    .meta({
      ...{ type: 'integer', minimum: 1, maximum: 9_999_999_999 },
      description: 'Return only changes before this revision. Of the newest 1,000 revisions by default.',
      example: 1200,
    }),
});

/** Parameters of `GET /api/history`. */
export const storeHistorySchema = historySchema.omit({ before: true, page: true, cursor: true }).extend({
  cursor: z.string().regex(HISTORY_CURSOR, 'the next_cursor of an answer').optional().meta({
    description: 'The `next_cursor` of an answer: return the changes before it.',
    example: '00000000000000001042-0195d4a2',
  }),
  until: queryTime
    .optional()
    .meta({ description: 'Return only changes until this time.', example: '2026-03-01T00:00:00.000Z' }),
  resource: commaList(CHANGED_RESOURCES, 'Return only changes of these resources.'),
  run: z.string().max(255, 'at most 255 characters').optional().meta({
    description: 'Return only changes of this run, or of the import with this id.',
    example: 'assistant-2026-02-01',
  }),
});

/** Parameters of a feed. */
export const feedSchema = z.object({
  locale: localeField.optional().meta({
    description: 'The language of the texts. Default: the default locale.',
    example: 'de',
  }),
  currency: currencyField.optional().meta({
    description:
      'The currency of the prices. Leaves out what has no price in it. Default: that of each publication.',
    example: 'USD',
  }),
});
export type FeedQuery = z.infer<typeof feedSchema>;

/** Parameters of `GET /api/feeds/:channel/issues`. */
export const feedIssuesSchema = readSchema.pick({ store_id: true }).extend({
  ...feedSchema.shape,
  limit: paginationSchema.shape.limit,
  cursor: z.string().optional().meta({
    description: 'The `next_cursor` of an answer: return the issues of the products after it.',
    example: FEED_CURSOR,
  }),
  severity: z
    .enum(['error', 'warning'])
    .optional()
    .describe('Return only issues with which the channel refuses items, or only the others.'),
});

/** Parameters of every list (docs/interface/lists.md#pagination). */
export const listSchema = readSchema.extend({
  ...paginationSchema.shape,
  sort: z
    .enum(SORT_FIELDS)
    .optional()
    .describe(
      'Field to sort by. For publications, `name` is the title, and `rating` the average of their reviews. Equal items are sorted by id, and equal ratings by `created_at` before it.',
    ),
  order: z.enum(['asc', 'desc']).optional().describe('Direction of `sort`.'),
});

export type ListQuery = z.infer<typeof listSchema>;

/** Parameters of `GET /api/payment-methods`. */
export const paymentMethodsSchema = listSchema.omit(OF_MARKETS);

/** Parameters of lists of publications or variants, which have prices. */
export const pricedListSchema = listSchema.extend({ currency });

/** Value of `parent_id` for the listings at the top. */
const NO_PARENT = 'none';

const external_id = z
  .string()
  .optional()
  .meta({ description: 'Only the one with this external id.', example: 'erp-10442' });

/** The visibilities of a list in which deleted resources can be asked for. */
const withDeleted = (plural: string) =>
  z
    .enum([...VISIBILITY_FILTERS, 'deleted'])
    .default('public')
    .describe(
      `Which ${plural} to return: \`public\` ones, \`private\` ones, or \`all\`; or those that were \`deleted\` in the last 30 days, the last one first, for which only \`page\`, \`cursor\` and \`limit\` apply. \`private\`, \`all\` and \`deleted\` require a secret key.`,
    );

/** Parameters of a list of listings that exist. */
export const existingListingsSchema = pricedListSchema.extend({
  external_id,
  parent_id: z
    .string()
    .toLowerCase()
    .refine((text) => text === NO_PARENT || z.guid().safeParse(text).success, {
      params: { condition: 'invalid_uuid' },
      error: `a UUID or ${NO_PARENT}`,
    })
    .transform((text) => (text === NO_PARENT ? null : text))
    .optional()
    .meta({
      pattern: `^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|${NO_PARENT})$`,
      description: `Return only listings directly below this one. \`${NO_PARENT}\` returns those at the top.`,
      example: examples.ids.listing,
    }),
});

/** Parameters of `GET /api/listings`. */
export const listingsSchema = existingListingsSchema.extend({ visibility: withDeleted('listings') });

/** Parameters of `GET /api/publication/:id/variants`. */
export const variantsSchema = pricedReadSchema.extend(paginationSchema.shape);

const priceBounds = {
  min_price: priceBound.meta({
    description:
      'Minimum price, in hundredths of the major unit of the currency. Publications without an active price are not returned.',
    example: 1000,
  }),
  max_price: priceBound.meta({
    description:
      'Maximum price, in hundredths of the major unit of the currency. Publications without an active price are not returned.',
    example: 5000,
  }),
};

export interface PriceBounds {
  readonly min_price?: number | undefined;
  readonly max_price?: number | undefined;
}

const BOUNDS_ERROR = { path: ['min_price'], error: 'at most max_price' };

function areBoundsInOrder({ min_price, max_price }: PriceBounds): boolean {
  return (min_price ?? 0) <= (max_price ?? Number.MAX_SAFE_INTEGER);
}

const listing_id = queryId.optional().meta({
  description: 'Return only publications of this listing.',
  example: examples.ids.listing,
});

/**
 * Filters of `GET /api/publications`. Each one except `featured` and `has_price` compares the document key of the same name. The documents of stores and listings contain the totals for `FACET_FLAGS`; for other filters, each read counts.
 */
export const publicationFilters = {
  external_id,
  featured: flag.describe(
    '`true` returns only publications with a `featured_position`, `false` only those without.',
  ),
  free_shipping: flag.describe(
    '`true` returns only publications with free shipping, `false` only those without.',
  ),
  in_stock: flag.describe(
    '`true` returns only publications in stock (`quantity_available` is unset or above 0), `false` only those out of stock.',
  ),
  has_discount: flag.describe(
    '`true` returns only publications that cost less now: with a `compare_at_amount` above the price, or in a sale. `false` returns all others.',
  ),
  has_media: flag.describe('`true` returns only publications with pictures, `false` only those without.'),
  has_price: flag.describe(
    '`true` returns only publications with an active price, `false` only those without.',
  ),
  scheduled: flag.describe(
    '`true` returns only publications with a `publish_at` or `unpublish_at` to come, `false` only those without.',
  ),
};

/** The facets that count by the values of keys: prices, visibilities and the filters that are `true` or `false`. */
export const KEY_FACETS: readonly string[] = [
  ...['price', 'visibility'],
  ...['in_stock', 'free_shipping', 'has_discount', 'has_media', 'has_price', 'scheduled'],
];

/** Filters by labels (`labelTerm`). A publication must have one of the values of each parameter. */
export const labelFilters = {
  vendor: valueList.meta({
    description: 'Return only publications of one of these vendors.',
    example: ['Taller Rímac'],
  }),
  product_type: valueList.meta({
    description: 'Return only publications of one of these types.',
    example: ['Coffee'],
  }),
  tag: valueList.meta({
    description: 'Return only publications with one of these tags.',
    example: ['organic'],
  }),
  sku: valueList.meta({
    description: 'Return only publications that have a variant with one of these SKUs.',
    example: ['CAMISA-M-AZUL'],
  }),
  barcode: valueList.meta({
    description: 'Return only publications that have a variant with one of these barcodes.',
    example: ['7750182003834'],
  }),
  'option.<name>': anyNames.meta({
    description:
      'Return only publications whose option has one of these values, such as `option.Color=Azul`.',
    example: ['Azul'],
  }),
  'attributes.<name>': anyNames.meta({
    description:
      'Return only publications with one of these values of an attribute, such as `attributes.roast=medium`. Of an attribute that is a list, one of its texts must be equal.',
    example: ['medium'],
  }),
};

export type LabelFilters = z.infer<z.ZodObject<typeof labelFilters>>;

/** The most facets of one answer. */
const FACETS_MAX = 10;

const facets = parameterList(
  ['vendor', 'product_type', 'tag', ...KEY_FACETS, 'option.<name>', 'attributes.<name>'],
  FACETS_MAX,
  'Filters to count the publications for, by value, in `meta.facets`: `vendor`, `product_type`, `tag`, `price`, `in_stock`, `free_shipping`, `has_discount`, `has_media`, `has_price`, `scheduled`, `option.<name>`, `attributes.<name>`, and with a secret key `visibility`.',
);

const priced = z
  .enum(['true'])
  .transform(() => true as const)
  .optional()
  .meta({
    ...{ type: 'boolean', enum: [true] },
    description:
      'Return only publications with an active price in the currency of the answer. Requires `currency`, `market` or `country`.',
    example: true,
  });

const publicationsShape = { ...publicationFilters, ...labelFilters, ...priceBounds, facets, priced };

const PRICED_ERROR = { path: ['priced'], error: 'together with currency, market or country' };
const namesCurrency = (query: {
  readonly priced?: true | undefined;
  readonly currency?: string | undefined;
  readonly market?: string | undefined;
  readonly country?: string | undefined;
}) => query.priced === undefined || (query.currency ?? query.market ?? query.country) !== undefined;

/** The most publications that a request can name by id. */
const IDS_MAX = 50;

const ids = idList(
  IDS_MAX,
  'Return these publications, in this order. A publication that does not exist or is not visible is left out. Only `store_id`, `visibility`, `expand`, `locale`, `currency`, `market` and `country` may be used beside `ids`; any other parameter is 400.',
  [examples.ids.publication],
);

const untranslated = localeField.optional().meta({
  description:
    'Return only publications of which a text has no translation in this locale of the store. Requires a secret key. Not with `facets`.',
  example: 'de',
});

/** Parameters of a list of publications that exist: those of every list, and filters (docs/interface/lists.md#filters). */
export const existingPublicationsSchema = pricedListSchema
  .extend({ ids, listing_id, untranslated, ...publicationsShape })
  .refine(areBoundsInOrder, BOUNDS_ERROR)
  .refine(namesCurrency, PRICED_ERROR);

/** Parameters of `GET /api/publications`. */
export const publicationsSchema = pricedListSchema
  .extend({
    visibility: withDeleted('publications'),
    ids,
    listing_id,
    untranslated,
    ...publicationsShape,
  })
  .refine(areBoundsInOrder, BOUNDS_ERROR)
  .refine(namesCurrency, PRICED_ERROR);

/** Parameters of `GET /api/listing/:id/publications`. */
export const listingPublicationsSchema = pricedListSchema
  .extend({
    include_descendants: flag.describe(
      '`true` also returns the publications of all listings below this one.',
    ),
    as_of: queryTime.optional().meta({
      description:
        'Return the publications that were in the listing at this time, as they were, without `stats`. Takes no filters. Requires a secret key.',
      example: '2026-02-01T00:00:00.000Z',
    }),
    ...publicationsShape,
  })
  .refine(areBoundsInOrder, BOUNDS_ERROR)
  .refine(namesCurrency, PRICED_ERROR);

export type ListingPublicationsQuery = z.infer<typeof listingPublicationsSchema>;

export type PublicationsQuery = z.infer<typeof existingPublicationsSchema>;

/** Parameters of `GET /api/media`. */
export const mediaListSchema = listSchema
  .extend({
    publication_id: queryId.optional().meta({
      description:
        'Return only media of this publication, in the order of its `media_ids` unless `sort` is set.',
      example: examples.ids.publication,
    }),
    listing_id: queryId.optional().meta({
      description: 'Return only media of this listing, in the order of its `media_ids` unless `sort` is set.',
      example: examples.ids.listing,
    }),
    in_use: flag.meta({
      description:
        '`true` returns only media that a publication or listing uses, `false` only those that none uses. `false` requires `visibility=private` or `all`.',
      example: true,
    }),
  })
  .refine(({ in_use, visibility }) => in_use !== false || visibility !== 'public', {
    path: ['in_use'],
    error: 'true, or visibility=private or all with it: media that nothing uses are not public',
  });

/** Parameters of `GET /api/media/:id/uses`. */
export const mediaUsesSchema = readSchema.pick({ store_id: true }).extend(paginationSchema.shape);

export type MediaListQuery = z.infer<typeof mediaListSchema>;

const review_status = z.enum([...reviewStatusSchema.options, 'all']);

/** Parameters of `GET /api/publication/:id/reviews`. */
export const reviewsSchema = listSchema.omit(OF_MARKETS).extend({
  status: review_status
    .optional()
    .describe(
      'Return only reviews of this status, and the status of each. `pending`, `rejected` and `all` require a secret key. Default: published reviews, without their status.',
    ),
});

/** Parameters of `GET /api/reviews`. */
export const storeReviewsSchema = listSchema.omit(OF_MARKETS).extend({
  status: review_status.default('all').describe('Return only reviews of this status.'),
});

export type ReviewsQuery = z.infer<typeof reviewsSchema>;

/** Parameters of `GET /api/webhook/:id`. */
export const webhookSchema = readSchema.pick({ store_id: true });

/** Parameters of `GET /api/webhooks`. */
export const webhooksSchema = webhookSchema.extend(paginationSchema.shape);

/** Parameters of `GET /api/list-prices`. */
export const listPricesSchema = webhooksSchema.extend({
  price_list: handleField.meta({ description: 'Name of the price list.', example: 'wholesale' }),
});

/** Parameters of `GET /api/webhook/:id/deliveries`. */
export const deliveriesSchema = webhooksSchema.omit({ cursor: true });

/** Parameters of `GET /api/proposals`. */
export const proposalsSchema = webhooksSchema.extend({
  status: z.enum(PROPOSAL_STATUSES).optional().describe('Return only proposals with this status.'),
});

/** Parameters of `GET /api/keys`. */
export const keysSchema = deliveriesSchema.extend({});
/** Parameters of `GET /api/imports`. */
export const importsSchema = webhooksSchema.omit({ cursor: true });

/** Parameters of `GET /api/import/:id/rows`. */
export const importRowsSchema = importsSchema.extend({
  limit: limitUpTo(IMPORT_ROWS_LIMIT_MAX),
  outcome: z
    .enum(ROW_OUTCOMES)
    .optional()
    .describe(
      'Only rows that became this. `kept`: with fields that were kept, because they were changed by hand.',
    ),
});

const Q_LENGTH_MAX = 200;

/** Parameters of `GET /api/store/search`. */
export const searchSchema = pricedListSchema
  .extend({
    q: z
      .string()
      .transform((text) => text.trim())
      .refine((text) => text !== '' && [...text].length <= Q_LENGTH_MAX, {
        error: `from 1 to ${Q_LENGTH_MAX} characters`,
      })
      .meta({ minLength: 1, maxLength: Q_LENGTH_MAX, pattern: '\\S', example: 'coffee' })
      .describe('Search text. A publication must contain every word. The last word may be incomplete.'),
    listing_id,
    ...publicationsShape,
  })
  .refine(areBoundsInOrder, BOUNDS_ERROR)
  .refine(namesCurrency, PRICED_ERROR);

export type SearchQuery = z.infer<typeof searchSchema>;
