import type { z } from 'zod';
import { exampleOf } from '../../catalog/fields';
import { listingFields } from '../../catalog/listing/fields';
import { mediaFields } from '../../catalog/media/fields';
import { publicationFields } from '../../catalog/publication/fields';
import { variantFields } from '../../catalog/publication/variants';
import { storeFields } from '../../catalog/store/fields';
import { permissionsOf } from '../../catalog/vocabulary';
import type {
  Delivery,
  FeaturedOrder,
  Import,
  ImportRow,
  Key,
  Listing,
  ListingPublications,
  Media,
  PaymentMethod,
  Publication,
  Review,
  Store,
  Variant,
  Webhook,
} from './resources';
import type { validationSchema } from './service';

// Examples of the OpenAPI document, all of one store. A test checks them against the schemas.

export const ids = {
  store: '0195d4a2-8a00-7c1e-9f31-5b0c7a6e1d01',
  listing: '0195d4a2-8a01-7c1e-9f31-5b0c7a6e1d02',
  publication: '0195d4a2-8a02-7c1e-9f31-5b0c7a6e1d03',
  variant: '0195d4a2-8a02-7c1e-9f31-5b0c00000001',
  media: '0195d4a2-8a03-7c1e-9f31-5b0c7a6e1d04',
  account: '0195d4a2-8a04-7c1e-9f31-5b0c7a6e1d05',
  key: '0195d4a2-8a05-7c1e-9f31-5b0c7a6e1d06',
  payment_method: '0195d4a2-8a06-7c1e-9f31-5b0c7a6e1d07',
  review: '0195d4a2-8a07-7c1e-9f31-5b0c7a6e1d08',
  webhook: '0195d4a2-8a08-7c1e-9f31-5b0c7a6e1d09',
  proposal: '0195d4a2-8a09-7c1e-9f31-5b0c7a6e1d0a',
  list_price: '00000000-0000-7c1e-9f31-5b0c7a6e1d0b',
  import: '2f6b1c0e-4f0a-4b7e-9f31-5b0c7a6e1d10',
};

/** Returns the example of a successful response. */
export const answer = <Data, Code extends number = 200>(data: Data, code = 200 as Code) => ({
  ...({ code, status: 'OK' } as const),
  data,
});

const times = { created_at: '2026-01-31T12:00:00.000Z', updated_at: '2026-02-02T08:30:00.000Z' };

export const store: Store = {
  id: ids.store,
  object: 'store',
  status: 'active',
  ...exampleOf(storeFields),
  ...times,
  stats: { listing_count: 1 },
};

export const listing: Listing = {
  id: ids.listing,
  object: 'listing',
  ...exampleOf(listingFields),
  ...times,
  stats: { media_count: 0, publication_count: 1 },
  media_ids: [],
};

export const publication: Publication = {
  id: ids.publication,
  object: 'publication',
  ...exampleOf(publicationFields),
  ...times,
  stats: { media_count: 1, view_count: 42 },
  media_ids: [ids.media],
  listing_id: ids.listing,
};

export const moved = { id: ids.publication, object: 'publication', handle: 'chanchamayo-coffee-250-g' };

/** Bodies of writes, and the resources that they make. */
export const listingSample = {
  ...{ name: 'Coffee', description: 'Roasted on Tuesdays.' },
  default_sort_mode: 'price_asc',
} as const;
export const publicationSample = {
  ...{ title: publication.title, description: publication.description },
  ...{ price_currency: 'PEN', price_amount: 3400, quantity_available: 80 },
};
const new_times = { created_at: times.created_at, updated_at: times.created_at };
const {
  external_id: _,
  seo: __,
  publish_at: ___,
  unpublish_at: ____,
  translations: _____,
  ...plain_listing
} = listing;
export const newListing: Listing = {
  ...plain_listing,
  ...listingSample,
  ...new_times,
  stats: { media_count: 0, publication_count: 0 },
};
export const newPublication: Publication = {
  handle: 'chanchamayo-coffee-250-g',
  ...{ id: ids.publication, object: 'publication', visibility: 'public', price_active: true },
  ...publicationSample,
  ...new_times,
  stats: { media_count: 0, view_count: 0 },
  media_ids: [],
};

export const variant: Variant = {
  id: ids.variant,
  object: 'variant',
  publication_id: ids.publication,
  ...exampleOf(variantFields),
};
/** A body of a new variant. */
export const variantSample = {
  ...{ option_values: { Talla: 'M', Color: 'Azul' }, sku: 'CAMISA-M-AZUL' },
  ...{ price_amount: 8900, quantity_available: 12 },
};
export const newVariant: Variant = {
  ...{ id: ids.variant, object: 'variant', publication_id: ids.publication },
  ...{ ...variantSample, allow_backorder: false, position: 1 },
};

const mediaVariant = (name: 'thumb' | 'small' | 'medium' | 'large', width: number, digit: string) => ({
  ...{ name, width, height: (width * 3) / 4, mime_type: 'image/webp' as const },
  url: `/media/live/9be2570c1d46af8${digit}9be2570c1d46af8${digit}9be2570c1d46af8${digit}9be2570c1d46af8${digit}.webp`,
});

export const media: Media = {
  id: ids.media,
  object: 'media',
  status: 'ready',
  mime_type: 'image/jpeg',
  size_bytes: 182_044,
  width: 1600,
  height: 1200,
  ...exampleOf(mediaFields),
  url: '/media/live/4f1d9c0e7ab3d2584f1d9c0e7ab3d2584f1d9c0e7ab3d2584f1d9c0e7ab3d258.jpg',
  variants: [
    ...[mediaVariant('thumb', 200, '1'), mediaVariant('small', 480, '2')],
    ...[mediaVariant('medium', 960, '3'), mediaVariant('large', 1600, '4')],
  ],
  placeholder: 'data:image/webp;base64,UklGRhYAAABXRUJQVlA4TAoAAAAvAAAAAEX/I/ofAA==',
  ...times,
};

const { url: _url, placeholder: _placeholder, focal_point: _focal_point, ...uploaded } = media;
export const newMedia: Media = { ...uploaded, ...new_times, status: 'processing', variants: [] };

const collection = <Item>(item: Item, url: string) => ({
  ...({ object: 'collection', data: [item], total_count: 1, has_more: false } as const),
  url,
});
export const listings = collection(listing, `/api/store-listings?store_id=${ids.store}`);
export const variants = collection(variant, `/api/publication/${ids.publication}/variants`);
export const publications = collection(publication, `/api/listing/${ids.listing}/publications`);
export const mediaCollection = collection(
  media,
  `/api/media?store_id=${ids.store}&publication_id=${ids.publication}`,
);

export const featuredOrder: FeaturedOrder = {
  ...{ object: 'featured_order', listing_id: ids.listing },
  ...{ publication_ids: [ids.publication], changed_count: 1 },
};

export const listingPublications: ListingPublications = {
  featured: [publication],
  others: [],
  meta: {
    default_sort_mode: 'price_asc',
    effective_sort_mode: 'price_asc',
    pagination: { page: 1, limit: 20, total: 1, total_pages: 1 },
  },
};

export const paymentMethod: PaymentMethod = {
  id: ids.payment_method,
  object: 'payment_method',
  type: 'bank_transfer',
  name: 'Bank transfer',
  instructions: 'Name the order number.',
  position: 1,
};

export const review: Review = {
  id: ids.review,
  object: 'review',
  publication_id: ids.publication,
  rating: 5,
  title: 'The best of the morning',
  body: 'Ground for the press, always even.',
  author_name: 'Diego',
  verified: true,
  created_at: times.created_at,
};

export const moderatedReview: Review = { ...review, status: 'published' };

export const meta = {
  ...{ page: 1, take: 20, item_count: 1 },
  pagination: { page: 1, total_pages: 1, total_items: 1, limit: 20 },
};

export const reviewsMeta = {
  ...meta,
  summary: { average: 5, count: 1, distribution: { '1': 0, '2': 0, '3': 0, '4': 0, '5': 1 } },
};

export const token = 'eyJhbGciOiJIUzI1NiJ9.eyJlbnYiOiJsaXZlIn0.c2lnbmF0dXJl';

export const tokenDescription: z.infer<typeof validationSchema> = {
  valid: true,
  api_key_id: ids.key,
  account_id: ids.account,
  key_type: 'public',
  stores: [ids.store],
  permissions: permissionsOf('public'),
  needs_confirmation: false,
  expires_at: '2026-01-31T12:15:00.000Z',
};

export const notReady = {
  code: 503,
  status: 'error',
  error: {
    code: 'SERVICE_UNAVAILABLE',
    message: 'The service is temporarily unavailable',
    details: { waiting_for: ['event_store'], rate_limiter: 'ok' },
  },
};

export const key: Key = {
  id: ids.key,
  object: 'key',
  name: 'Shop window',
  type: 'public',
  last_four: 'x7Qk',
  permissions: ['read:stores', 'read:listings', 'read:publications', 'read:media'],
  stores: [ids.store],
  status: 'active',
  is_own: false,
  needs_confirmation: false,
  created_at: times.created_at,
};

export const newKey: Key = { ...key, secret: 'pk_live_8Jd0Yw3lZk5nT1rVbQmXc7uHsEoGfAi2pLy4x6zx7Qk' };

export const listPrice = {
  publication_id: ids.publication,
  price: { price_amount: 800, compare_at_amount: 990 },
  variants: { [ids.variant]: { price_amount: 850 } },
};

export const newListPrices = {
  price_list: 'wholesale',
  items: [{ publication_id: ids.publication, price: listPrice.price }],
};

export const webhook: Webhook = {
  id: ids.webhook,
  object: 'webhook',
  url: 'https://erp.example/catalog',
  description: 'ERP',
  events: [{ type: 'publication.updated', fields: ['price_amount'] }, { type: 'publication.deleted' }],
  status: 'active',
  after: '00000000000000001042-7b0c4a2e',
  pending_count: 0,
  ...times,
};

export const newWebhook: Webhook = { ...webhook, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' };

export const delivery: Delivery = {
  id: '00000000000000001042-7b0c4a2e',
  type: 'publication.updated',
  resource_id: ids.publication,
  attempt: 1,
  at: '2026-02-01T12:00:00.000Z',
  duration_ms: 87,
  response_status: 503,
  error: 'status 503',
  next_attempt_at: '2026-02-01T12:00:05.000Z',
};

const nothing = { created: 0, updated: 0, unchanged: 0, failed: 0 };

export const previewedImport: Import = {
  id: ids.import,
  object: 'import',
  file: 'products.csv',
  created_at: times.created_at,
  step: 'preview',
  status: 'done',
  was_imported: false,
  progress: { done: 2, total: 2 },
  settings: { overwrite: false, images: 'public', columns: { Precio: 'Variant Price' } },
  detected: {
    format: 'shopify',
    separator: ';',
    encoding: 'utf-8',
    currency: 'PEN',
    columns: [
      { name: 'Handle', used_as: 'Handle', examples: ['tea', 'mate'] },
      { name: 'Title', used_as: 'Title', examples: ['Green tea', 'Mate'] },
      { name: 'Precio', used_as: 'Variant Price', examples: ['12.50', '9.00'] },
    ],
  },
  known_columns: ['Handle', 'Title', 'Variant Price'],
  report: {
    dry_run: true,
    wrote: false,
    complete: true,
    currency: 'PEN',
    listings: nothing,
    publications: { ...nothing, created: 2 },
    reviews: nothing,
    media: nothing,
    unread: [{ from_line: 4, to_line: 6 }],
    unused_columns: {},
    rows: { created: 2, updated: 0, failed: 0, warning: 0, kept: 0 },
  },
};

export const startedImport: Import = {
  id: ids.import,
  object: 'import',
  file: 'products.csv',
  created_at: times.created_at,
  step: 'preview',
  status: 'running',
  was_imported: false,
  progress: { done: 0, total: 0 },
  settings: { overwrite: false, images: 'public', columns: {} },
};

export const importRow: ImportRow = {
  id: '1',
  outcome: 'created',
  line: 2,
  kind: 'publication',
  external_id: 'tea',
  title: 'Green tea',
  price: { amount: 1_250, currency: 'PEN' },
  fields: [],
};

const undoReport = {
  deleted: 2,
  reverted: 0,
  restored: 0,
  kept: [{ kind: 'publication', id: ids.publication, title: 'Mate', reason: 'changed since' }],
};
export const undoneRun = { run: 'assistant-2026-02-01', dry_run: false, ...undoReport, complete: true };

export const waitingProposal = {
  id: ids.proposal,
  object: 'proposal',
  status: 'waiting',
  run: 'assistant-2026-02-01',
  key: ids.key,
  summary: 'Update a publication: Chanchamayo coffee',
  operation: 'updatePublication',
  method: 'PATCH',
  path: `/api/publication/${ids.publication}`,
  created_at: times.created_at,
  expires_at: '2026-02-07T12:00:00.000Z',
  body: { price_amount: 990 },
};
export const proposal = {
  ...waitingProposal,
  status: 'confirmed',
  decided_by: ids.key,
  decided_at: times.updated_at,
  result: {
    status: 404,
    error: { code: 'PUBLICATION_NOT_FOUND', message: 'The publication does not exist' },
  },
};

export const change = {
  id: '00000000000000001042-7b0c4a2e',
  type: 'variant.updated',
  resource: 'variant',
  resource_id: ids.variant,
  publication_id: ids.publication,
  revision: 7,
  occurred_at: '2026-02-01T12:00:00.000Z',
  actor: { type: 'key', id: ids.key, name: 'Stock robot' },
  request_id: '0195d4a2-8a10-7c1e-9f31-5b0c7a6e1d10',
  changed: { quantity_available: { before: 5, after: 4 } },
};
