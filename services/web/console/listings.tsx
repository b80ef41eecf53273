import type { VNode } from 'preact';
import { FEATURED_MAX } from '../../../shared/api/requests/writes';
import type { CatalogClient, Listing, Publication } from '../../../shared/client';
import { changesIn, type FormField, InvalidText, ifMatchOf, VISIBILITY } from './fields';
import { arranged, MoveButton, OrderScript } from './order';
import { Button, Deleted, Fields, type Notice } from './pages';
import { type Page, take, unlessInvalid } from './visit';

const HOME = '/console/listings';
/** How many listings a page shows, or offers. */
export const LISTINGS_MAX = 200;
/** One more than an order can have, which would leave out the rest. */
const FEATURED_READ_MAX = FEATURED_MAX + 1;
/** How many products are offered to be featured. */
const OFFERED = 20;

const FIELDS: readonly FormField[] = [
  { name: 'name', label: 'Name', kind: 'line' },
  VISIBILITY,
  { name: 'description', label: 'Description', kind: 'text', is_wide: true },
];

// --- All listings ---

export const list: Page = async ({ client, query }) => {
  const visibility = query.get('visibility') === 'deleted' ? 'deleted' : 'all';
  const found = await take(client.listings.list({ visibility }, { consistent: true }), LISTINGS_MAX);
  const notice =
    found.length < LISTINGS_MAX ? undefined : { text: `Only ${LISTINGS_MAX} listings are shown.` };
  const pathOf = (each: (typeof found)[number]) =>
    [...(each.path ?? []).map(({ name }) => name), each.name].join('\n');
  if (visibility === 'all') found.sort((a, b) => pathOf(a).localeCompare(pathOf(b)));
  const body = visibility === 'all' ? <Listings listings={found} /> : <DeletedListings listings={found} />;
  return { title: 'Listings', body, notice };
};

const DeletedListings = ({ listings }: { listings: readonly Listing[] }) => (
  <>
    <h1>Deleted listings</h1>
    {listings.length === 0 && <p class="empty">Nothing found.</p>}
    <Deleted
      path="/console/listing"
      items={listings.map(({ name, ...each }) => ({ ...each, title: name }))}
    />
  </>
);

function Listings({ listings }: { listings: readonly Listing[] }) {
  return (
    <>
      <div class="bar">
        <h1>Listings</h1>
        <a href={`${HOME}?visibility=deleted`}>Deleted listings</a>
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Listing</th>
              <th>Visibility</th>
              <th class="number">Products</th>
            </tr>
          </thead>
          <tbody>
            {listings.map((listing) => (
              <tr key={listing.id}>
                <td class={`depth-${listing.path?.length ?? 0}`}>
                  <a href={`/console/listing/${listing.id}`}>{listing.name}</a>
                </td>
                <td>{listing.visibility}</td>
                <td class="number">{listing.stats?.publication_count}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <form class="panel" method="post" action="/console/listings">
        <h2>New listing</h2>
        <div class="fields">
          <label>
            <span>Name</span>
            <input name="name" required />
          </label>
          <label>
            <span>Below</span>
            <select name="parent_id">
              <option value="">at the top</option>
              {listings.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
        <p>
          <button type="submit">Create</button>
        </p>
      </form>
    </>
  );
}

export const create = unlessInvalid(list, async ({ client, form }) => {
  const parent_id = form.get('parent_id');
  await client.listings.create({ name: form.get('name') ?? '', ...(parent_id && { parent_id }) });
  return { location: HOME, saved: 'Created.' };
});

// --- A listing ---

const featuredOf = (client: CatalogClient, id: string) =>
  take(
    client.listings.publications(id, { visibility: 'all', featured: true, limit: 50 }, { consistent: true }),
    FEATURED_READ_MAX,
  );

export const page: Page = async ({ client, id, query, form }, notice) => {
  const words = query.get('q')?.trim() ?? '';
  const asked = { visibility: 'all', featured: false, limit: OFFERED } as const;
  const [listing, featured, offered] = await Promise.all([
    client.listings.get(id, { visibility: 'all' }, { consistent: true }),
    featuredOf(client, id),
    words === ''
      ? client.listings.publications(id, asked).page()
      : client.store.search(words, { ...asked, listing_id: id }).page(),
  ]);
  const others = 'others' in offered ? offered.others : offered.data;
  const etag = client.answerOf(listing)?.etag;
  const body = <ListingPage {...{ listing, etag, featured, others, words, form, notice }} />;
  return { title: listing.name, body };
};

interface ListingProps {
  readonly listing: Listing;
  readonly etag: string | undefined;
  readonly featured: readonly Publication[];
  /** Some of the other products of the listing, found by `words` if there are any. */
  readonly others: readonly Publication[];
  readonly words: string;
  /** What was sent, if it could not be saved. */
  readonly form: URLSearchParams;
  readonly notice: Notice | undefined;
}

function ListingPage({ listing, etag, featured, others, words, form, notice }: ListingProps) {
  const path = `/console/listing/${listing.id}`;
  const rows = (
    products: readonly Publication[],
    buttons: (product: Publication, index: number) => VNode,
  ) => (
    <form class="scroll" method="post" action={`${path}/featured`}>
      <input type="hidden" name="shown" value={products.map(({ id }) => id).join(' ')} />
      <table>
        <tbody data-order={products === featured ? 'down' : undefined}>
          {products.map((product, index) => (
            <tr key={product.id}>
              <td>
                <input type="hidden" name="publication_id" value={product.id} />
                <a href={`/console/product/${product.id}`}>{product.title}</a>
              </td>
              <td>{product.visibility}</td>
              <td>
                <div class="tags">{buttons(product, index)}</div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </form>
  );
  return (
    <>
      <h1>{listing.name}</h1>
      <form method="post" class="panel">
        <input type="hidden" name="etag" value={etag} />
        <Fields fields={FIELDS} of={listing} form={form} notice={notice} />
        <p>
          <button type="submit">Save</button> <a href={HOME}>Back to the listings</a>
        </p>
      </form>
      <section class="panel">
        <h2>Featured products</h2>
        <p class="note">They come before the other products of the listing, in this order.</p>
        {rows(featured, ({ id, title }, index) => (
          <>
            {index > 0 && <MoveButton move="up" id={id} label="Up" name={title} />}
            <MoveButton move="remove" id={id} label="Take out" name={title} />
          </>
        ))}
        <OrderScript />
        <div class="bar">
          <h2>Other products</h2>
          <form>
            <input type="search" name="q" value={words} placeholder="Search" aria-label="Search" />
            <button type="submit">Show</button>
          </form>
        </div>
        {others.length === 0 && <p class="note">Nothing found.</p>}
        {rows(others, ({ id, title }) => (
          <MoveButton move="add" id={id} label="Feature" name={title} />
        ))}
      </section>
      <Button action={`${path}/delete`} label="Delete this listing" />
    </>
  );
}

export const save = unlessInvalid(page, async ({ client, id, form }) => {
  await client.listings.update(id, changesIn(form, FIELDS), ifMatchOf(form));
  return { location: `/console/listing/${id}`, saved: 'Saved.' };
});

/**
 * A pressed button moves one product in the present order, whatever the page has shown. Without one, saves the order of the
 * form. Refuses if the order has changed since the page was shown.
 */
export const arrange = unlessInvalid(page, async ({ client, id, form }) => {
  const featured = (await featuredOf(client, id)).map((product) => product.id);
  if (featured.length > FEATURED_MAX)
    throw new InvalidText(
      'move',
      `More than ${FEATURED_MAX} products are featured. Change their positions instead.`,
    );
  let order = arranged(featured, form);
  if (!form.has('move')) {
    order = form.getAll('publication_id');
    const has_same = order.toSorted().join() === featured.toSorted().join();
    if (form.get('shown') !== featured.join(' ') || !has_same)
      throw new InvalidText('move', 'Somebody has changed the order meanwhile. Nothing was saved.');
  }
  await client.listings.arrangeFeatured(id, order);
  return { location: `/console/listing/${id}`, saved: 'The order is saved.' };
});

export const remove = unlessInvalid(page, async ({ client, id }) => {
  const { name } = await client.listings.get(id, { visibility: 'all' });
  await client.listings.delete(id);
  return { location: HOME, saved: `Deleted ${name}.` };
});

export const restore: Page = async ({ client, id }) => {
  await client.listings.restore(id);
  return { location: `/console/listing/${id}`, saved: 'Restored.' };
};
