import { hash } from 'node:crypto';
import {
  type BodyOf,
  CatalogApiError,
  CatalogClient,
  type Publication,
  type Store,
} from '../../../shared/client';
import { readForm } from '../../../shared/http/body';
import type { HttpRequest } from '../../../shared/http/request';
import type { PublicRoute, TextAnswer } from '../../../shared/http/route';
import { htmlAnswer } from '../html';
import { planBulk } from './bulk';
import { changesIn, InvalidText, PRODUCT_FIELDS, shownName, textOf, VARIANT_FIELDS } from './fields';
import {
  cookieIn,
  cookieOf,
  HEADERS,
  isOwnForm,
  redirect,
  refuse,
  render,
  SESSION_MINUTES,
  type Shown,
  STYLE_ROUTE,
  show,
} from './frame';
import {
  BulkPreview,
  Listings,
  Message,
  type Notice,
  Product,
  Products,
  Reviews,
  SignIn,
  STORE_FIELDS,
  StorePage,
  siteOf,
  Webhooks,
} from './pages';

const HOME = '/console/products';
const COOKIE = { name: 'catalog_console', path: '/console' };
const SIGN_IN = (
  <SignIn
    {...{ heading: 'Console', label: 'Secret key', name: 'key', action: '/console/sign-in' }}
    note="Sign in with a secret key of your store. It begins with sk_."
  />
);
/** How long a page waits for a busy service. */
const WAIT_MS = 3_000;
const LIMIT = 50;
const HISTORY_LIMIT = 20;
/** How many listings a page shows, or offers. */
const LISTINGS_MAX = 200;

/** A request of somebody who has signed in. `form` is empty for a GET. */
interface Visit {
  readonly client: CatalogClient;
  readonly store: Store;
  readonly id: string;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
}

type Page = (visit: Visit) => Promise<Shown>;

/**
 * Builds the pages for merchants. They read and write through the interface with the merchant's own key, so all of its
 * rules hold here, too. `connect` returns the address of the service, undefined while the console is off.
 *
 * A sign-in exchanges the key for a token, which is the session: a cookie that only this site gets. The key itself is not
 * kept. A form of another site has no cookie (`SameSite`), and is refused by its origin.
 */
export function consoleRoutes(connect: () => string | undefined): PublicRoute[] {
  const route = (path: string, get: Page | undefined, post?: Page): PublicRoute => ({
    path,
    takes_forms: true,
    serve: async (req, params) => {
      const base_url = connect();
      if (base_url === undefined) return htmlAnswer('', 404, HEADERS);
      const page = req.method === 'POST' ? post : get;
      if (!page) return redirect(HOME);
      return visit(req, base_url, params.id ?? '', page);
    },
  });
  const open = (
    path: string,
    serve: (req: HttpRequest, base_url: string) => Promise<TextAnswer>,
  ): PublicRoute => ({
    path,
    takes_forms: true,
    serve: async (req) => {
      const base_url = connect();
      if (base_url === undefined) return htmlAnswer('', 404, HEADERS);
      return req.method === 'POST' && isOwnForm(req) ? serve(req, base_url) : redirect(HOME);
    },
  });
  return [
    STYLE_ROUTE,
    open('/console/sign-in', signIn),
    open('/console/sign-out', async (req) => redirect(HOME, { 'Set-Cookie': cookieOf(COOKIE, '', 0, req) })),
    route('/console', async () => ({ location: HOME })),
    route(HOME, productsPage),
    route('/console/bulk', undefined, bulkPage),
    route('/console/product/new', (each) => productPage(each), createProduct),
    route('/console/product/:id', (each) => productPage(each), saveProduct),
    route('/console/product/:id/revert', undefined, revertProduct),
    route('/console/product/:id/delete', undefined, deleteProduct),
    route('/console/product/:id/restore', undefined, restoreProduct),
    route('/console/listings', listingsPage, createListing),
    route('/console/listing/:id', undefined, renameListing),
    route('/console/reviews', reviewsPage),
    route('/console/review/:id', undefined, moderate),
    route('/console/webhooks', (each) => webhooksPage(each), createWebhook),
    route('/console/webhook/:id', undefined, changeWebhook),
    route(
      '/console/store',
      async ({ store }) => ({ title: 'Store', body: <StorePage store={store} /> }),
      saveStore,
    ),
  ];
}

// --- Session ---

async function signIn(req: HttpRequest, base_url: string): Promise<TextAnswer> {
  const key = (await readForm(req)).get('key')?.trim() ?? '';
  const refused = (text: string) =>
    render(siteOf(undefined), {
      ...{ title: 'Sign in', body: SIGN_IN, notice: { text, is_bad: true }, status: 403 },
    });
  if (!key.startsWith('sk_')) return refused('This is not a secret key: it begins with sk_.');
  const client = new CatalogClient({ baseUrl: base_url, apiKey: key, retryForMs: WAIT_MS });
  try {
    const { token, expires_in } = await client.tokens.issue({ ttl_minutes: SESSION_MINUTES });
    return redirect(HOME, { 'Set-Cookie': cookieOf(COOKIE, token, expires_in, req) });
  } catch (error) {
    if (!(error instanceof CatalogApiError) || error.status >= 500) throw error;
    return refused(
      error.status === 429
        ? 'Too many attempts. Try again later.'
        : 'This key is unknown, expired or revoked.',
    );
  }
}

/** Returns a client that has a token instead of a key. */
function clientOf(base_url: string, token: string): CatalogClient {
  const issued = {
    code: 200,
    status: 'OK',
    data: { token, token_type: 'Bearer', expires_in: SESSION_MINUTES * 60 },
  };
  const send: typeof fetch = async (input, init) =>
    String(input).endsWith('/auth/token') ? Response.json(issued) : fetch(input, init);
  return new CatalogClient({ baseUrl: base_url, apiKey: 'sk_session', fetch: send, retryForMs: WAIT_MS });
}

async function visit(req: HttpRequest, base_url: string, id: string, page: Page): Promise<TextAnswer> {
  const token = cookieIn(req, COOKIE);
  const signInPage = (notice?: Notice) =>
    render(siteOf(undefined), {
      ...{ title: 'Sign in', body: SIGN_IN, notice, status: token ? 401 : 200 },
    });
  if (token === undefined) return signInPage();
  if (req.method === 'POST' && !isOwnForm(req)) return refuse(siteOf(undefined));
  const form = req.method === 'POST' ? await readForm(req) : new URLSearchParams();
  const query = new URL(req.url, 'http://console').searchParams;
  const client = clientOf(base_url, token);
  let store: Store | undefined;
  try {
    store = await client.store.get();
    return show(siteOf(store), await page({ client, store, id, query, form }), query);
  } catch (error) {
    if (!(error instanceof CatalogApiError)) throw error;
    if (error.status === 401)
      return signInPage({ text: 'The session has ended. Sign in again.', is_bad: true });
    const hint = error.message;
    const heading = error.status === 404 ? 'Not found' : 'This did not work';
    const body = <Message heading={heading} hint={hint} />;
    return render(siteOf(store), { title: heading, body, status: error.status });
  }
}

/** Returns what is wrong with a form. Throws any other error. */
function noticeOf(error: unknown): Notice {
  if (error instanceof InvalidText) return { text: error.message, is_bad: true, fields: [error.field] };
  if (!(error instanceof CatalogApiError) || (error.status !== 400 && error.status !== 409)) throw error;
  const faults = (error.details?.errors ?? []) as { field?: string; constraint?: string }[];
  return {
    ...{ text: error.message, is_bad: true },
    details:
      faults.length > 1 ? faults.map(({ field, constraint }) => `${field}: expected ${constraint}`) : [],
    fields: [
      ...faults.flatMap(({ field }) => field ?? []),
      ...(error.details?.field ? [error.details.field] : []),
    ],
  };
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

/** What the editor shows again, if it could not save. */
interface Rejected {
  readonly form: URLSearchParams;
  readonly notice: Notice;
}

async function productPage({ client, id }: Visit, sent?: Rejected): Promise<Shown> {
  const rejected = sent && { ...sent, form: changedIn(sent.form) };
  const listings = await take(
    client.listings.list({ visibility: 'all', sort: 'name', order: 'asc' }),
    LISTINGS_MAX,
  );
  if (id === '')
    return {
      ...editorOf('New product', rejected),
      body: <Product listings={listings} history={[]} {...rejected} />,
    };
  const [product, history] = await Promise.all([
    client.publications.get(id, { visibility: 'all', expand: ['media', 'variants'] }, { consistent: true }),
    client.publications.history(id, { limit: HISTORY_LIMIT }).page(),
  ]);
  const etag = client.answerOf(product)?.etag;
  const { listing_id } = product;
  if (listing_id && !listings.some((listing) => listing.id === listing_id))
    listings.push(await client.listings.get(listing_id, { visibility: 'all' }));
  return {
    ...editorOf(product.title, rejected),
    body: <Product product={product} etag={etag} listings={listings} history={history.data} {...rejected} />,
  };
}

/** Returns the fields of a form that the user has changed. The others are shown as they are now. */
function changedIn(form: URLSearchParams): URLSearchParams {
  const shown = ([name, text]: [string, string]) => form.get(shownName(name)) === text;
  return new URLSearchParams([...form].filter((entry) => !shown(entry)));
}

const editorOf = (title: string, rejected: Rejected | undefined) => ({
  title,
  notice: rejected?.notice,
  status: rejected ? 422 : 200,
});

const createProduct: Page = async (each) => {
  try {
    const body = changesIn(each.form, PRODUCT_FIELDS) as unknown as BodyOf<'createPublication'>;
    const { id } = await each.client.publications.create(body);
    return { location: `/console/product/${id}`, saved: 'Created.' };
  } catch (error) {
    return productPage(each, { form: each.form, notice: noticeOf(error) });
  }
};

const saveProduct: Page = async (each) => {
  const { client, id, form } = each;
  try {
    const body = changesIn(form, PRODUCT_FIELDS);
    if (Object.keys(body).length > 0) await client.publications.update(id, body, ifMatchOf(form));
    const variants = new Set([...form.keys()].flatMap((name) => /^variant:([^:]+):/.exec(name)?.[1] ?? []));
    for (const variant_id of variants) {
      const changes = changesIn(form, VARIANT_FIELDS, `variant:${variant_id}:`);
      if (Object.keys(changes).length > 0) await client.publications.updateVariant(variant_id, changes);
    }
    return { location: `/console/product/${id}`, saved: 'Saved.' };
  } catch (error) {
    if (!(error instanceof CatalogApiError) || error.status !== 412)
      return productPage(each, { form, notice: noticeOf(error) });
    const product = await client.publications.get(id, { visibility: 'all' }, { consistent: true });
    const notice = {
      text: 'Somebody has changed this product meanwhile. Nothing was saved. Compare, and save again.',
      is_bad: true,
    };
    return productPage(each, { form, notice: { ...notice, details: differencesIn(product, form) } });
  }
};

const ifMatchOf = (form: URLSearchParams) => ({ ifMatch: form.get('etag') ?? '*' });

/** Returns a line for each field that has another value than the page has shown. */
function differencesIn(product: Publication, form: URLSearchParams): string[] {
  return PRODUCT_FIELDS.flatMap((field) => {
    const now = textOf(field, (product as unknown as Record<string, unknown>)[field.name]);
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

// --- Listings, reviews, webhooks, store ---

const listingsPage: Page = async ({ client }) => {
  const found = await take(client.listings.list({ visibility: 'all' }, { consistent: true }), LISTINGS_MAX);
  const pathOf = (each: (typeof found)[number]) =>
    [...(each.path ?? []).map(({ name }) => name), each.name].join('\n');
  const sorted = found.sort((a, b) => pathOf(a).localeCompare(pathOf(b)));
  const notice =
    found.length < LISTINGS_MAX ? undefined : { text: `Only ${LISTINGS_MAX} listings are shown.` };
  return { title: 'Listings', body: <Listings listings={sorted} />, notice };
};

/** Returns the first items of a list, whose pages are read one after another. */
async function take<Item>(items: AsyncIterable<Item>, max: number): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) if (found.push(item) >= max) break;
  return found;
}

const createListing: Page = async (each) => {
  const { client, form } = each;
  const parent_id = form.get('parent_id');
  return unlessInvalid(each, listingsPage, async () => {
    await client.listings.create({ name: form.get('name') ?? '', ...(parent_id && { parent_id }) });
    return { location: '/console/listings', saved: 'Created.' };
  });
};

const renameListing: Page = async (each) =>
  unlessInvalid(each, listingsPage, async () => {
    await each.client.listings.update(each.id, { name: each.form.get('name') ?? '' });
    return { location: '/console/listings', saved: 'Renamed.' };
  });

/** Shows the page with the reason if the service refuses the form. */
async function unlessInvalid(each: Visit, page: Page, write: () => Promise<Shown>): Promise<Shown> {
  try {
    return await write();
  } catch (error) {
    return { ...(await page(each)), notice: noticeOf(error) } as Shown;
  }
}

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

const createWebhook: Page = async (each) =>
  unlessInvalid(
    each,
    (visit) => webhooksPage(visit),
    async () => {
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

const saveStore: Page = async (each) => {
  const { client, store, form } = each;
  try {
    const changes = Object.entries(changesIn(form, STORE_FIELDS));
    const contact = changes
      .filter(([name]) => name.startsWith('contact.'))
      .map(([name, value]) => [name.slice(8), value]);
    const body = Object.fromEntries(changes.filter(([name]) => !name.startsWith('contact.')));
    if (contact.length > 0) body.contact = withoutNulls({ ...store.contact, ...Object.fromEntries(contact) });
    await client.store.update(body);
    return { location: '/console/store', saved: 'Saved.' };
  } catch (error) {
    const notice = noticeOf(error);
    return {
      title: 'Store',
      notice,
      status: 422,
      body: <StorePage store={store} form={form} notice={notice} />,
    };
  }
};

const withoutNulls = (values: object): object =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
