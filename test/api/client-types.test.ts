import { resolve } from 'node:path';
import { CatalogClient } from '../../shared/client';
import { type COMPILERS, compileOutside, type Files } from '../support/outsider';

/**
 * What a program does with the result of each method of the client. The annotations are types that the package exports:
 * a result that is not assignable to its type does not compile.
 */
const USES: Readonly<Record<string, string>> = {
  'store.get': `
    const plain: Store = await client.store.get();
    const { listings, media } = await client.store.get({ expand: ['listing', 'media'] });
    const names: string[] = listings.data.map(({ name }) => name);
    const sizes: number[] = media.data.map(({ size_bytes }) => size_bytes);
    console.log(plain.businessHours?.[0]?.day, plain.contact?.email, plain.stats?.listing_count, names, sizes);`,
  'store.search': `
    const found: Publication[] = (await client.store.search('tea', { limit: 5, min_price: 1 }).page()).data;
    const [expanded] = await client.store.search('tea', { expand: ['media'] }).all();
    console.log(found, expanded?.media.has_more);`,
  'store.listings': `
    const found: Listing[] = (await client.store.listings({ sort: 'name' }, { fetchOptions: { cache: 'no-store' } }).page()).data;
    for await (const { media } of client.store.listings({ expand: ['media'] })) console.log(media.data);
    console.log(found);`,
  'store.paymentMethods': `
    const methods: PaymentMethod[] = await client.store.paymentMethods().all();
    const type: 'cash' | 'card' | 'bank_transfer' | 'wallet' | 'other' | undefined = methods[0]?.type;
    console.log(type);`,
  'store.update': `
    const patch: StorePatch = { description: null, contact: { phone: '+51 1 555 0199' } };
    const store: Store = await client.store.update(patch, { ifMatch: await client.store.get() });
    console.log(store.contact?.phone);`,
  'store.changes': `
    for await (const change of client.store.changes({ after: 'now', resource: ['publication'] })) {
      const price: unknown = change.changed.price_amount?.after;
      console.log(change.actor.name, price);
    }`,
  'store.history': `
    for await (const { type } of client.store.history()) console.log(type);`,
  'store.fullHistory': `
    const { data, meta } = await client.store.fullHistory({ resource: ['variant'], cursor: 'x' }).page();
    for await (const { title } of client.store.fullHistory()) console.log(title, data, meta.next_cursor);`,
  'feeds.issues': `
    const { data, meta } = await client.feeds.issues('google', { severity: 'error', cursor: 'x' }).page();
    const issues: FeedIssue[] = data;
    for await (const { field, variant_ids } of client.feeds.issues('acp')) console.log(field, variant_ids[0]);
    console.log(issues, meta.next_cursor);`,
  'listings.list': `
    const { data, meta } = await client.listings.list({ page: 2, order: 'asc' }).page();
    const listings: Listing[] = data;
    const page_meta: PageMeta = meta;
    for await (const listing of client.listings.list()) console.log(listing.default_sort_mode === 'price_asc');
    const expanded = await client.listings.list({ expand: ['publication', 'media'] }).page();
    console.log(expanded.data.map((one) => one.publications.total_count + one.media.total_count), expanded.meta.take);
    const top: string[] = (await client.listings.list({ parent_id: 'none' }).all()).map(({ name }) => name);
    console.log(listings, page_meta.pagination.total_pages, top);`,
  'listings.get': `
    const listing: Listing = await client.listings.get('id');
    const { publications } = await client.listings.get('id', { expand: ['publication'] });
    const below: Publication[] = publications.data;
    const again: Listing | undefined = below[0]?.listing;
    console.log(listing, again?.publications?.data[0]?.listing?.name);`,
  'listings.publications': `
    const page: ListingPublications = await client.listings.publications('id', { limit: 12 }).page(2);
    const featured: Publication[] = page.featured;
    const all: Publication[] = await client.listings.publications('id').all();
    const expanded = await client.listings.publications('id', { expand: ['media'] }).page();
    const urls = [...expanded.featured, ...expanded.others].map(({ media }) => media.data[0]?.url);
    const below = client.listings.publications('id', { include_descendants: true });
    console.log(featured, page.others[0]?.title, page.meta.effective_sort_mode, all, urls, below);`,
  'listings.create': `
    const body: NewListing = { name: 'Tea', description: null, media_ids: ['id'] as const };
    const listing: Listing = await client.listings.create(body, { store_id: 'id', idempotencyKey: 'key' });
    console.log(listing);`,
  'listings.update': `
    const patch: ListingPatch = { description: null };
    const listing: Listing = await client.listings.update('id', patch, { ifMatch: await client.listings.get('id') });
    console.log(listing.stats?.publication_count);`,
  'listings.getByHandle': `
    const { handle, media }: Listing = await client.listings.getByHandle('tea', { expand: ['media'] });
    console.log(handle, media?.data);`,
  'listings.put': `
    const { result, id }: PutListing = await client.listings.put('erp-1', { name: 'Tea' });
    console.log(id, result === 'unchanged');`,
  'listings.delete': `
    const deleted: DeletedListing = await client.listings.delete('id', { if_empty: true });
    const yes: true = deleted.deleted;
    console.log(yes);`,
  'listings.arrangeFeatured': `
    const order: FeaturedOrder = await client.listings.arrangeFeatured('id', ['id'] as const, { store_id: 'id' });
    console.log(order.changed_count, order.publication_ids.length);`,
  'publications.list': `
    const first: Publication[] = (await client.publications.list().page()).data;
    const query: QueryOf<'listPublications'> = { sort: 'price', in_stock: true, expand: ['listing', 'media'] };
    const labels = { tag: ['new'], 'option.Size': ['L'], 'attributes.roast': ['dark', 'medium'], facets: ['vendor', 'attributes.roast'] };
    const { meta } = await client.publications.list(labels).page();
    for (const { name, values } of meta.facets ?? []) console.log(name, values[0]?.value, values[0]?.count);
    const answer: AnswerOf<'listPublications'> = await client.publications.list(query).page();
    for await (const publication of client.publications.list()) first.push(publication);
    for await (const { media } of client.publications.list({ expand: ['media'] })) console.log(media.data[0]?.url);
    console.log(first, answer.meta.item_count);`,
  'publications.get': `
    const publication: Publication = await client.publications.get('id');
    const expanded = await client.publications.get('id', { expand: ['listing', 'media'] });
    const again: Publication = await client.publications.get('id', {}, { cached: publication, consistent: true });
    const media: Media | undefined = expanded.media.data[0];
    const variant: MediaVariant | undefined = media?.variants[0];
    console.log(again, expanded.listing?.publications?.data[0]?.media?.data[0]?.url, variant?.url);`,
  'publications.related': `
    const related: Publication[] = (await client.publications.related('id', { limit: 4 }).page()).data;
    const [nearest] = (await client.publications.related('id', { expand: ['media'] }).page()).data;
    console.log(related, nearest?.media.data);`,
  'publications.reviews': `
    const { data, meta } = await client.publications.reviews('id').page();
    const reviews: Review[] = data;
    const reviews_meta: ReviewsMeta = meta;
    console.log(reviews, reviews_meta.summary.distribution['5']);`,
  'publications.create': `
    const body: NewPublication = { title: 'Tea', price_currency: 'PEN', price_amount: 1 };
    const publication: Publication = await client.publications.create({ ...body, listing_id: null });
    console.log(publication);`,
  'publications.update': `
    const patch: PublicationPatch = { featured_position: null, media_ids: [] };
    const publication: Publication = await client.publications.update('id', patch, { respondAsync: true });
    console.log(publication);`,
  'publications.getByHandle': `
    const { handle }: Publication = await client.publications.getByHandle('tea');
    console.log(handle);`,
  'publications.put': `
    const { result, id }: PutPublication = await client.publications.put('erp-1', { price_amount: 1 }, { store_id: 'id' });
    console.log(id, result === 'created');`,
  'publications.batch': `
    const items = [{ action: 'put', external_id: 'erp-1', body: { price_amount: 1 } }] as const;
    const { updated, items: results }: Batch = await client.publications.batch({ items }, { dry_run: true });
    console.log(updated, results[0]?.error?.code);`,
  'publications.restore': `
    const restored: Publication = await client.publications.restore('id');
    console.log(restored.title);`,
  'publications.delete': `
    const deleted: DeletedPublication = await client.publications.delete('id', { ifMatch: '"1"' });
    console.log(deleted.id);`,
  'publications.deleteByExternalId': `
    const deleted: DeletedPublication = await client.publications.deleteByExternalId('erp-1', { store_id: 'id' });
    console.log(deleted.id);`,
  'listings.deleteByExternalId': `
    const { publication_count } = await client.listings.deleteByExternalId('erp-1', { if_empty: true });
    console.log(publication_count);`,
  'publications.variant': `
    const variant: Variant = await client.publications.variant('id');
    const sku: string | undefined = variant.sku;`,
  'publications.history': `
    const changes: Change[] = await client.publications.history('id', { since: '2026-02-01T00:00:00Z' }).all();
    console.log(changes[0]?.revision);`,
  'publications.revert': `
    const { title, not_restored } = await client.publications.revert('id', 3, { ifMatch: '"4"' });
    console.log(title, not_restored.includes('media_ids'));`,
  'listings.restore': `
    const restored: Listing = await client.listings.restore('id');
    console.log(restored.name);`,
  'publications.revision': `
    const { price_amount } = await client.publications.revision('id', 2, { expand: ['variants'] });
    console.log(price_amount);`,
  'listings.revision': `
    const { name } = await client.listings.revision('id', 1);
    console.log(name);`,
  'listings.history': `
    for await (const { type } of client.listings.history('id')) console.log(type);`,
  'publications.variants': `
    const variants: Variant[] = await client.publications.variants('id').all();
    const { variants: first } = await client.publications.get('id', { expand: ['variants'] });
    console.log(variants[0]?.option_values.Size, first.data[0]?.sku);`,
  'publications.addVariant': `
    const body: NewVariant = { option_values: { Size: 'M' }, sku: 'TEE-M', attributes: { care: ['cold'] } };
    const variant: Variant = await client.publications.addVariant('id', body);
    console.log(variant.price_amount);`,
  'publications.updateVariant': `
    const sold: VariantPatch = { quantity_available: { adjust: -1 } };
    const variant: Variant = await client.publications.updateVariant('id', sold);
    console.log(variant.quantity_available);`,
  'publications.deleteVariant': `
    const deleted: DeletedVariant = await client.publications.deleteVariant('id');
    console.log(deleted.id);`,
  'publications.listPrices': `
    for await (const { publication_id, price } of client.publications.listPrices({ price_list: 'wholesale' }))
      console.log(publication_id, price.price_amount);`,
  'publications.setListPrices': `
    const items: NewListPrice[] = [{ publication_id: 'id', price: { price_amount: 800 } }];
    const set: SetListPrices = await client.publications.setListPrices({ price_list: 'wholesale', items });
    console.log(set.changed_count);`,
  'media.list': `
    const query: QueryOf<'listMedia'> = { publication_id: 'id', listing_id: 'id', order: 'asc', in_use: true };
    for await (const { alt } of client.media.list(query)) console.log(alt);
    const { data: listed, meta } = await client.media.list().page(2);
    console.log(listed[0]?.url, meta.pagination.total_pages);`,
  'media.get': `
    const media: Media = await client.media.get('id');
    console.log(media.placeholder, media.variants.map(({ name, width }) => [name, width]));`,
  'media.uses': `
    const uses: MediaUse[] = await client.media.uses('id').all();
    console.log(uses[0]?.object === 'listing', uses[0]?.title);`,
  'media.upload': `
    const fields: UploadFields = { alt: 'A cup', publication_id: 'id' };
    const media: Media = await client.media.upload(new Blob([]), fields);
    console.log(media.status === 'processing');`,
  'media.processed': `
    const media: Media = await client.media.processed('id', { signal: AbortSignal.timeout(1) });
    console.log(media);`,
  'media.update': `
    const patch: MediaPatch = { alt: null, focal_point: { x: 0.5, y: 0 } };
    const media: Media = await client.media.update('id', patch);
    console.log(media.focal_point?.x);`,
  'media.delete': `
    const deleted: DeletedMedia = await client.media.delete('id');
    console.log(deleted);`,
  'reviews.list': `
    const waiting: Review[] = await client.reviews.list({ status: 'pending' }).all();
    console.log(waiting[0]?.status);`,
  'reviews.create': `
    const body: NewReview = { rating: 5, author_name: 'Diego', verified_purchase: true, status: 'pending' };
    const review: Review = await client.reviews.create('id', body);
    console.log(review.verified);`,
  'reviews.update': `
    const patch: ReviewPatch = { status: 'rejected' };
    const review: Review = await client.reviews.update('id', patch);
    console.log(review.status);`,
  'reviews.delete': `
    const deleted: DeletedReview = await client.reviews.delete('id');
    console.log(deleted.deleted);`,
  'webhooks.create': `
    const webhook: Webhook = await client.webhooks.create({ url: 'https://erp.example', events: [{ type: 'listing.created' }] });
    console.log(webhook.secret);`,
  'webhooks.list': `
    for await (const { status, pending_count } of client.webhooks.list()) console.log(status, pending_count);`,
  'webhooks.get': `
    const webhook: Webhook = await client.webhooks.get('id');
    console.log(webhook.status_reason);`,
  'webhooks.update': `
    const webhook: Webhook = await client.webhooks.update('id', { status: 'active', description: null });
    console.log(webhook.url);`,
  'webhooks.delete': `
    const { deleted } = await client.webhooks.delete('id');
    console.log(deleted);`,
  'webhooks.ping': `
    const webhook: Webhook = await client.webhooks.ping('id');
    console.log(webhook.id);`,
  'webhooks.rotateSecret': `
    const webhook: Webhook = await client.webhooks.rotateSecret('id');
    console.log(webhook.secret);`,
  'webhooks.replay': `
    const webhook: Webhook = await client.webhooks.replay('id', { from: '-1' });
    console.log(webhook.after);`,
  'webhooks.deliveries': `
    const attempts: Delivery[] = await client.webhooks.deliveries('id').all();
    console.log(attempts[0]?.error, attempts[0]?.next_attempt_at);`,
  'keys.list': `
    for await (const { name, status, is_own } of client.keys.list()) console.log(name, status === 'active', is_own);`,
  'keys.create': `
    const { id, secret }: NewKey = await client.keys.create({ name: 'Ana', type: 'secret', permissions: ['read:media'] });
    console.log(id, secret);`,
  'keys.update': `
    const { name }: Key = await client.keys.update('id', { name: 'Ana' });
    console.log(name);`,
  'keys.rotate': `
    const { secret }: NewKey = await client.keys.rotate('id');
    console.log(secret);`,
  'keys.revoke': `
    const { status }: Key = await client.keys.revoke('id');
    console.log(status);`,
  'runs.undo': `
    const { reverted, kept, complete }: UndoneRun = await client.runs.undo('sale', { dry_run: true }, { run: 'x' });
    console.log(reverted, kept[0]?.reason, complete);`,
  'proposals.list': `
    for await (const { id, summary } of client.proposals.list({ status: 'waiting' })) console.log(id, summary);`,
  'proposals.get': `
    const { body, result }: Proposal = await client.proposals.get('id');
    console.log(body?.title, result?.status);`,
  'proposals.confirm': `
    const { result }: Proposal = await client.proposals.confirm('id');
    console.log(result?.error?.message);`,
  'proposals.reject': `
    const { reason }: Proposal = await client.proposals.reject('id', { reason: 'No' });
    console.log(reason);`,
  'imports.create': `
    const fields: ImportFields = { format: 'shopify', overwrite: true, columns: { Precio: 'Variant Price', Nota: null } };
    const created: Import = await client.imports.create(new Blob(['x']), fields, { idempotencyKey: 'key' });
    console.log(created.status === 'running', created.progress.total);`,
  'imports.list': `
    for await (const { file, step, report } of client.imports.list()) console.log(file, step, report?.rows.failed);`,
  'imports.get': `
    const { detected, known_columns }: Import = await client.imports.get('id');
    const columns: [string, string | null][] = detected?.columns.map(({ name, used_as }) => [name, used_as]) ?? [];
    console.log(columns, known_columns?.includes('Title'));`,
  'imports.preview': `
    const { settings }: Import = await client.imports.preview('id', { currency: null, columns: { Precio: 'price' } });
    console.log(settings.columns.Precio);`,
  'imports.start': `
    const { was_imported }: Import = await client.imports.start('id');
    console.log(was_imported);`,
  'imports.undo': `
    const { undone }: Import = await client.imports.undo('id');
    console.log(undone?.kept[0]?.reason);`,
  'imports.delete': `
    const { deleted } = await client.imports.delete('id');
    console.log(deleted);`,
  'imports.rows': `
    const rows: ImportRow[] = await client.imports.rows('id', { outcome: 'failed' }).all();
    console.log(rows[0]?.reason, rows[0]?.price?.amount);`,
  'tokens.current': `
    const token: string = await client.tokens.current();
    console.log(token);`,
  'tokens.issue': `
    const token: Token = await client.tokens.issue({ ttl_minutes: 5 });
    console.log(token.expires_in);`,
  'tokens.refresh': `
    const token: Token = await client.tokens.refresh('token');
    console.log(token.token_type);`,
  'tokens.validate': `
    const token: TokenDescription = await client.tokens.validate();
    const stores: string[] = token.stores;
    console.log(stores, token.key_type === 'public');`,
  answerOf: `
    const info: AnswerInfo | undefined = client.answerOf(await client.store.get());
    console.log(info?.etag, info?.rateLimit.remaining);`,
  position: `
    const position: string | undefined = client.position;
    console.log(position);`,
};

const TYPES = `AnswerInfo, AnswerOf, Batch, Change, ClientOptions, DeletedListing, DeletedMedia, DeletedPublication, DeletedReview,
  DeletedVariant, Delivery, ErrorCode, FeaturedOrder, FeedIssue, FetchOptions, Import, ImportFields, ImportRow, Key, Listing, ListingPatch, ListingPublications, Media, MediaPatch, MediaUse, MediaVariant,
  NewKey, NewListing, NewPublication, NewReview, NewVariant, PageMeta, PaymentMethod, Publication, PublicationPatch, PutListing, PutPublication,
  Proposal, QueryOf, Review, ReviewPatch, ReviewsMeta, Store, StorePatch, Token, TokenDescription, UndoneRun, UploadFields, Variant, VariantPatch, Webhook,
  NewListPrice, SetListPrices`;

const PROGRAM = `
import type { ${TYPES} } from 'catalog-client';
import { CatalogApiError, CatalogClient, CatalogConnectionError } from 'catalog-client';

declare const console: { log(...values: unknown[]): void };
const fetchOptions: FetchOptions = { credentials: 'omit', headers: { 'x-shop': 'tea' }, next: { revalidate: 60 } };
const options: ClientOptions = { baseUrl: 'http://127.0.0.1:8080', apiKey: 'pk_live_x', fetch, fetchOptions };

export async function use(): Promise<void> {
  const client = new CatalogClient(options);
${Object.values(USES)
  .map((use) => `  {${use}\n  }`)
  .join('\n')}
}

export function read(error: unknown): string | undefined {
  if (error instanceof CatalogConnectionError) return error.message;
  if (!(error instanceof CatalogApiError)) return undefined;
  const code: ErrorCode | undefined = error.code;
  return error.details?.errors[0]?.constraint ?? code ?? error.requestId;
}
`;

/** A program in which Next.js has added to the types of `fetch`. */
const NEXT = `
import { CatalogClient, type FetchOptions } from 'catalog-client';

declare global {
  interface NextFetchRequestConfig { revalidate?: number | false; tags?: string[] }
  interface RequestInit { next?: NextFetchRequestConfig | undefined }
}
const fetchOptions: FetchOptions = { next: { revalidate: false, tags: ['shop'] } };
export const client = new CatalogClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'pk_live_x', fetchOptions });
export const page = client.publications.list({}, { fetchOptions: { next: { revalidate: 60 } } }).page();
`;

function methodsOf(object: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)))
    .filter(([name]) => name !== 'constructor')
    .map(([name]) => name);
}

test('the program uses every method of the client', () => {
  const client = new CatalogClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'pk_test_x' });
  const {
    store,
    listings,
    publications,
    media,
    reviews,
    webhooks,
    imports,
    runs,
    proposals,
    feeds,
    keys,
    tokens,
  } = client;
  const resources = {
    store,
    listings,
    publications,
    media,
    reviews,
    webhooks,
    imports,
    runs,
    proposals,
    feeds,
    keys,
    tokens,
  };
  const of_resources = Object.entries(resources).flatMap(([name, resource]) =>
    methodsOf(resource).map((method) => `${name}.${method}`),
  );
  expect(Object.keys(USES).sort()).toEqual([...of_resources, ...methodsOf(client)].sort());
});

const BUNDLER = { module: 'esnext', moduleResolution: 'bundler', exactOptionalPropertyTypes: true };
const NODE16 = { module: 'node16', moduleResolution: 'node16', exactOptionalPropertyTypes: false };
/** The types of Node.js instead of those of browsers. */
const NODE_TYPES = { lib: ['es2022'], types: ['node'], typeRoots: [resolve('node_modules/@types')] };
/** The types of Node.js declare `console`. */
const NODE_PROGRAM = { 'main.ts': PROGRAM.replace(/^declare const console.*$/m, '') };
const BROWSER_PROGRAM = { 'main.ts': PROGRAM, 'next.ts': NEXT };

// Each compiler and each option, but not each combination: one compilation takes seconds.
test.each<[string, keyof typeof COMPILERS, object, Files]>([
  // A CommonJS module resolves the package by the condition `require`.
  ['modules of Node.js', '5.6', NODE16, { ...BROWSER_PROGRAM, 'main.cts': PROGRAM }],
  ['a bundler', '5.9', BUNDLER, BROWSER_PROGRAM],
  ['a bundler and the types of Node.js', '7', { ...BUNDLER, ...NODE_TYPES }, NODE_PROGRAM],
  ['modules and the types of Node.js', '7', { ...NODE16, ...NODE_TYPES }, NODE_PROGRAM],
])('for %s, TypeScript %s compiles the result of every method', (_target, compiler, options, files) =>
  compileOutside(files, compiler, options),
);

test('a wrong use of a result does not compile', async () => {
  const wrong = PROGRAM.replace('const first: Publication[]', 'const first: Listing[]').replace(
    "publications.list({ expand: ['media'] })",
    "publications.list({ expand: ['listing'] })",
  );
  const compiled = compileOutside({ 'main.ts': wrong }, '7');
  await expect(compiled).rejects.toThrow(/main\.ts.*TS2322/);
  await expect(compiled).rejects.toThrow(/main\.ts.*TS18048/);
});
