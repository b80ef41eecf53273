import { hash } from 'node:crypto';
import { type BodyOf, CatalogApiError, type Publication, type Store } from '../../../shared/client';
import type { HttpRequest } from '../../../shared/http/request';
import type { PublicAnswer, PublicRoute } from '../../../shared/http/route';
import type { ImportJobs } from '../../import/jobs';
import { htmlAnswer } from '../html';
import { planBulk } from './bulk';
import { exportCatalog } from './export';
import { changesIn, ifMatchOf, PRODUCT_FIELDS, shownName, textOf, VARIANT_FIELDS } from './fields';
import { HEADERS, isOwnForm, redirect, type Shown, STYLE_ROUTE } from './frame';
import { importPages } from './imports';
import { type KeyDeps, keyPages } from './keys';
import * as listingPages from './listings';
import { ORDER_SCRIPT } from './order';
import { BulkPreview, type Notice, Product, Products, Reviews, Webhooks } from './pages';
import { addPictures, arrangePictures, Pictures, picturesOf } from './pictures';
import * as storePages from './store';
import {
  HOME,
  noticeOf,
  type Page,
  type SessionDeps,
  type SignInDeps,
  showAgain,
  signIn,
  signOut,
  take,
  unlessInvalid,
  type Visit,
  visit,
} from './visit';

const LIMIT = 50;
const HISTORY_LIMIT = 20;

export interface ConsoleDeps extends SignInDeps {
  /** Returns the address of the service, undefined while the console is off. */
  readonly connect: () => string | undefined;
  readonly authenticate: SessionDeps['authenticate'];
  readonly imports: ImportJobs;
  readonly keys: KeyDeps;
}

/**
 * Builds the pages for merchants. They read and write through the interface with the merchant's own key, so all of its
 * rules hold here, too. Imports and keys, which the interface does not have, call the services with what the key may do.
 *
 * A sign-in exchanges the key for a token and begins a session with it: a cookie that only this site gets. The key itself
 * is not kept. A form of another site has no cookie (`SameSite`), and is refused by its origin.
 */
export function consoleRoutes(deps: ConsoleDeps): PublicRoute[] {
  const { connect, imports, keys } = deps;
  const at = (
    path: string,
    serve: (req: HttpRequest, base_url: string, id: string) => Promise<PublicAnswer>,
  ): PublicRoute => ({
    path,
    takes_forms: true,
    serve: async (req, { id = '' }) => {
      const base_url = connect();
      return base_url === undefined ? htmlAnswer('', 404, HEADERS) : serve(req, base_url, id);
    },
  });
  const route = (path: string, get: Page | undefined, post?: Page): PublicRoute =>
    at(path, async (req, base_url, id) => {
      const page = req.method === 'POST' ? post : get;
      return page ? visit(req, { ...deps, base_url }, id, page) : redirect(HOME);
    });
  const open = (path: string, serve: typeof signIn): PublicRoute =>
    at(path, async (req) => (req.method === 'POST' && isOwnForm(req) ? serve(req, deps) : redirect(HOME)));
  const of_imports = importPages(imports);
  const of_keys = keyPages(keys);
  return [
    STYLE_ROUTE,
    ORDER_SCRIPT,
    open('/console/sign-in', signIn),
    open('/console/sign-out', signOut),
    route('/console', async () => ({ location: HOME })),
    route(HOME, productsPage),
    route('/console/bulk', undefined, bulkPage),
    route('/console/product/new', productPage, createProduct),
    route('/console/product/:id', productPage, saveProduct),
    route('/console/product/:id/revert', undefined, revertProduct),
    route('/console/product/:id/pictures', undefined, unlessInvalid(productPage, arrangePictures)),
    route('/console/product/:id/upload', undefined, unlessInvalid(productPage, addPictures)),
    route('/console/product/:id/delete', undefined, deleteProduct),
    route('/console/product/:id/restore', undefined, restoreProduct),
    route('/console/listings', listingPages.list, listingPages.create),
    route('/console/listing/:id', listingPages.page, listingPages.save),
    route('/console/listing/:id/featured', undefined, listingPages.arrange),
    route('/console/listing/:id/delete', undefined, listingPages.remove),
    route('/console/listing/:id/restore', undefined, listingPages.restore),
    route('/console/imports', of_imports.list, of_imports.upload),
    route('/console/import/:id', of_imports.show, of_imports.startStep),
    route('/console/export', exportCatalog),
    route('/console/keys', of_keys.list, of_keys.create),
    route('/console/key/:id', undefined, of_keys.change),
    route('/console/reviews', reviewsPage),
    route('/console/review/:id', undefined, moderate),
    route('/console/webhooks', (each) => webhooksPage(each), createWebhook),
    route('/console/webhook/:id', undefined, changeWebhook),
    route('/console/store', storePages.page, storePages.save),
  ];
}

// --- Products ---

const productsPage: Page = async ({ client, query }) => {
  const words = query.get('q')?.trim() ?? '';
  const page = Number(query.get('page') ?? 1);
  const visibility =
    (['public', 'private', 'deleted'] as const).find((each) => each === query.get('visibility')) ?? 'all';
  const in_stock = (['true', 'false'] as const).find((each) => each === query.get('in_stock'));
  const asked = {
    ...({ visibility, limit: LIMIT, expand: ['media'] } as const),
    ...(in_stock && { in_stock: in_stock === 'true' }),
    ...(Number.isSafeInteger(page) && page > 0 && { page }),
  };
  const { data, meta } = await (words === '' || visibility === 'deleted'
    ? client.publications.list(asked).page()
    : client.store.search(words, { ...asked, visibility }).page());
  const { total_items: total, ...position } = meta.pagination;
  return { title: 'Products', body: <Products products={data} total={total} {...position} query={query} /> };
};

/** Previews a bulk edit, and does it if the form has the same plan: nothing has changed meanwhile. */
const bulkPage: Page = async ({ client, form }) => {
  if (form.getAll('id').length === 0) return { location: HOME, saved: 'Select products first.' };
  let notice: Notice | undefined;
  const planned = await planBulk(client, form).catch((error: unknown) => {
    notice = noticeOf(error);
    return [];
  });
  const plan = hash('sha256', JSON.stringify(planned), 'base64url');
  const sent = form.get('plan');
  const preview = (shown: Notice | undefined): Shown => ({
    title: 'Preview',
    notice: shown,
    body: <BulkPreview form={form} planned={planned} plan={plan} notice={shown} />,
  });
  if (sent === null || notice || planned.length === 0) return preview(notice);
  if (sent !== plan)
    return preview({ text: 'Somebody has changed these products meanwhile. Look again.', is_bad: true });
  const { updated, failed, items } = await client.publications.batch(
    { items: planned.map(({ item }) => item) },
    { on_error: 'skip_failed' },
  );
  if (failed === 0) return { location: HOME, saved: `${updated} changed.` };
  const details = items.flatMap(({ index, error }) =>
    error ? `${planned[index]!.title}: ${error.message}` : [],
  );
  return preview({ text: `${updated} changed, ${failed} not.`, is_bad: true, details });
};

async function productPage({ client, store, id, form }: Visit, notice?: Notice): Promise<Shown> {
  const rejected = notice && { notice, form: changedIn(form) };
  const listings = await take(
    client.listings.list({ visibility: 'all', sort: 'name', order: 'asc' }),
    listingPages.LISTINGS_MAX,
  );
  if (id === '')
    return {
      title: 'New product',
      body: <Product listings={listings} history={[]} form={formOfNew(store)} {...rejected} />,
    };
  const [product, history] = await Promise.all([
    client.publications.get(id, { visibility: 'all', expand: ['media', 'variants'] }, { consistent: true }),
    client.publications.history(id, { limit: HISTORY_LIMIT }).page(),
  ]);
  const etag = client.answerOf(product)?.etag;
  const pictures = <Pictures id={id} etag={etag} pictures={await picturesOf(client, product)} />;
  const { listing_id } = product;
  if (listing_id && !listings.some((listing) => listing.id === listing_id))
    listings.push(await client.listings.get(listing_id, { visibility: 'all' }));
  return {
    title: product.title,
    body: <Product {...{ product, etag, pictures, listings, history: history.data, ...rejected }} />,
  };
}

/** Fills in the currency of the store, which the user may replace. */
const formOfNew = ({ currency = '' }: Store) => new URLSearchParams({ price_currency: currency });

/** Returns the fields of a form that the user has changed. The others are shown as they are now. */
function changedIn(form: URLSearchParams): URLSearchParams {
  const shown = ([name, text]: [string, string]) => form.get(shownName(name)) === text;
  return new URLSearchParams([...form].filter((entry) => !shown(entry)));
}

const createProduct = unlessInvalid(productPage, async ({ client, form }) => {
  const body = changesIn(form, PRODUCT_FIELDS) as unknown as BodyOf<'createPublication'>;
  const { id } = await client.publications.create(body);
  return { location: `/console/product/${id}`, saved: 'Created.' };
});

const saveProduct = unlessInvalid(productPage, async (each) => {
  const { client, id, form } = each;
  try {
    const body = changesIn(form, PRODUCT_FIELDS);
    if (Object.keys(body).length > 0) await client.publications.update(id, body, ifMatchOf(form));
  } catch (error) {
    if (!(error instanceof CatalogApiError) || error.status !== 412) throw error;
    const product = await client.publications.get(id, { visibility: 'all' }, { consistent: true });
    const text = 'Somebody has changed this product meanwhile. Nothing was saved. Compare, and save again.';
    return showAgain(productPage, each, { text, is_bad: true, details: differencesIn(product, form) });
  }
  const variants = new Set([...form.keys()].flatMap((name) => /^variant:([^:]+):/.exec(name)?.[1] ?? []));
  for (const variant_id of variants) {
    const changes = changesIn(form, VARIANT_FIELDS, `variant:${variant_id}:`);
    if (Object.keys(changes).length > 0) await client.publications.updateVariant(variant_id, changes);
  }
  return { location: `/console/product/${id}`, saved: 'Saved.' };
});

/** Returns a line for each field that has another value than the page has shown. */
function differencesIn(product: Publication, form: URLSearchParams): string[] {
  return PRODUCT_FIELDS.flatMap((field) => {
    const value = (product as unknown as Record<string, unknown>)[field.name];
    const now = textOf({ ...field, currency: product.price_currency }, value);
    const shown = form.get(shownName(field.name));
    return shown === null || shown === now ? [] : `${field.label} is now: ${now.slice(0, 100) || 'empty'}`;
  });
}

const revertProduct: Page = async ({ client, id, form }) => {
  const { not_restored } = await client.publications.revert(id, Number(form.get('revision')));
  const rest =
    not_restored.length > 0 ? ` Not restored, because it was deleted: ${not_restored.join(', ')}.` : '';
  return { location: `/console/product/${id}`, saved: `Returned to the earlier values.${rest}` };
};

const restoreProduct: Page = async ({ client, id }) => {
  await client.publications.restore(id);
  return { location: `/console/product/${id}`, saved: 'Restored.' };
};

const deleteProduct: Page = async ({ client, id }) => {
  const { title } = await client.publications.get(id, { visibility: 'all' });
  await client.publications.delete(id);
  return { location: HOME, saved: `Deleted ${title}.` };
};

// --- Reviews, webhooks, store ---

const STATUSES = ['pending', 'published', 'rejected', 'all'] as const;

const reviewsPage: Page = async ({ client, query }) => {
  const status = STATUSES.find((each) => each === query.get('status')) ?? 'pending';
  const { data } = await client.reviews.list({ status, limit: LIMIT }, { consistent: true }).page();
  return { title: 'Reviews', body: <Reviews reviews={data} status={status} /> };
};

const moderate: Page = async ({ client, id, form }) => {
  const status = form.get('status');
  if (status === 'deleted') await client.reviews.delete(id);
  else await client.reviews.update(id, { status: status === 'published' ? 'published' : 'rejected' });
  const shown = STATUSES.find((each) => each === form.get('shown')) ?? 'pending';
  return { location: `/console/reviews?status=${shown}`, saved: `The review is ${status}.` };
};

/** How many attempts to deliver are shown of each webhook. */
const DELIVERIES = 10;

/** Shows the webhooks. `secret`: that of one that was just made. */
const webhooksPage = async ({ client }: Visit, secret?: string): Promise<Shown> => {
  const { data } = await client.webhooks.list({ limit: LIMIT }, { consistent: true }).page();
  const webhooks = await Promise.all(
    data.map(async (webhook) => {
      const { data: deliveries } = await client.webhooks.deliveries(webhook.id, { limit: DELIVERIES }).page();
      return { ...webhook, deliveries };
    }),
  );
  return { title: 'Webhooks', body: <Webhooks webhooks={webhooks} {...(secret && { secret })} /> };
};

const createWebhook = unlessInvalid(
  (each) => webhooksPage(each),
  async (each) => {
    const { secret } = await each.client.webhooks.create({ url: each.form.get('url') ?? '' });
    return webhooksPage(each, secret);
  },
);

const changeWebhook: Page = async (each) => {
  const { client, id, form } = each;
  const location = '/console/webhooks';
  switch (form.get('action')) {
    case 'ping':
      await client.webhooks.ping(id);
      return { location, saved: 'A ping is on its way.' };
    case 'rotate':
      return webhooksPage(each, (await client.webhooks.rotateSecret(id)).secret);
    case 'delete':
      await client.webhooks.delete(id);
      return { location, saved: 'Deleted.' };
    default: {
      const status = form.get('action') === 'pause' ? 'paused' : 'active';
      await client.webhooks.update(id, { status });
      return { location, saved: `The webhook is ${status}.` };
    }
  }
};
