import type { VNode } from 'preact';
import { FEATURED_MAX } from '../../../shared/api/requests/writes';
import type { CatalogClient, Listing, Publication } from '../../../shared/client';
import { changesIn, type FormField, InvalidText, ifMatchOf, VISIBILITY } from './fields';
import { arranged, MoveButton, OrderScript } from './order';
import { Button, Deleted, Fields, Select, Submit, WideTable } from './parts';
import { type Page, take, unlessInvalid } from './visit';

const HOME = '/console/listings';
/** How many listings a page shows, or offers. */
export const LISTINGS_MAX = 200;
/** How many products are offered to be featured. */
const OFFERED_MAX = 20;

const FIELDS: readonly FormField[] = [
  { name: 'name', label: 'Name', kind: 'line' },
  VISIBILITY,
  { name: 'description', label: 'Description', kind: 'text', is_wide: true },
];

// --- All listings ---

export const listPage: Page = async ({ client, query }) => {
  const visibility = query.get('visibility') === 'deleted' ? 'deleted' : 'all';
  const found = await take(client.listings.list({ visibility }, { consistent: true }), LISTINGS_MAX + 1);
  const notice =
    found.length <= LISTINGS_MAX ? undefined : { text: `Only ${LISTINGS_MAX} listings are shown.` };
  const listings = found.slice(0, LISTINGS_MAX);
  const body =
    visibility === 'all' ? <Listings listings={listings} /> : <DeletedListings listings={listings} />;
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

/** The text by which the listings are sorted as a tree. */
const pathOf = ({ path = [], name }: Listing): string => [...path.map((each) => each.name), name].join('\n');

function Listings({ listings }: { listings: readonly Listing[] }) {
  const tree = listings.toSorted((a, b) => pathOf(a).localeCompare(pathOf(b)));
  const parents = tree.map(({ id, name }) => [id, name] as const);
  return (
    <>
      <div class="bar">
        <h1>Listings</h1>
        <a href={`${HOME}?visibility=deleted`}>Deleted listings</a>
      </div>
      <WideTable
        columns={[
          { label: 'Listing', classOf: (row) => `depth-${tree[row]!.path?.length ?? 0}` },
          'Visibility',
          { label: 'Products', is_number: true },
        ]}
        rows={tree.map(({ id, name, visibility, stats }) => [
          <a key="listing" href={`/console/listing/${id}`}>
            {name}
          </a>,
          visibility,
          stats?.publication_count,
        ])}
      />
      <form class="panel" method="post" action={HOME}>
        <h2>New listing</h2>
        <div class="fields">
          <label>
            <span>Name</span>
            <input name="name" required />
          </label>
          <label>
            <span>Below</span>
            <Select name="parent_id" options={[['', 'at the top'], ...parents]} />
          </label>
        </div>
        <Submit label="Create" />
      </form>
    </>
  );
}

export const create = unlessInvalid(listPage, async ({ client, form }) => {
  const parent_id = form.get('parent_id');
  await client.listings.create({ name: form.get('name') ?? '', ...(parent_id && { parent_id }) });
  return { location: HOME, saved: 'Created.' };
});

// --- A listing ---

/** Reads the featured products of a listing: at most one more than an order can have, to notice that there are too many. */
const featuredOf = (client: CatalogClient, id: string) =>
  take(
    client.listings.publications(id, { visibility: 'all', featured: true, limit: 50 }, { consistent: true }),
    FEATURED_MAX + 1,
  );

/** Reads some of the other products of a listing, found by `words` if there are any. */
async function othersOf(client: CatalogClient, id: string, words: string): Promise<readonly Publication[]> {
  const parameters = { visibility: 'all', featured: false, limit: OFFERED_MAX } as const;
  if (words === '') return (await client.listings.publications(id, parameters).page()).others;
  return (await client.store.search(words, { ...parameters, listing_id: id }).page()).data;
}

export const listingPage: Page = async ({ client, id, query, form }, notice) => {
  const words = query.get('q')?.trim() ?? '';
  const [listing, featured, others] = await Promise.all([
    client.listings.get(id, { visibility: 'all' }, { consistent: true }),
    featuredOf(client, id),
    othersOf(client, id, words),
  ]);
  const path = `/console/listing/${listing.id}`;
  const body = (
    <>
      <h1>{listing.name}</h1>
      <form method="post" class="panel">
        <input type="hidden" name="etag" value={client.answerOf(listing)?.etag} />
        <Fields fields={FIELDS} of={listing} form={form} notice={notice} />
        <p>
          <button type="submit">Save</button> <a href={HOME}>Back to the listings</a>
        </p>
      </form>
      <section class="panel">
        <h2>Featured products</h2>
        <p class="note">They come before the other products of the listing, in this order.</p>
        <OrderForm path={path} products={featured} order="down">
          {({ id, title }, index) => (
            <>
              {index > 0 && <MoveButton move="up" id={id} label="Up" name={title} />}
              <MoveButton move="remove" id={id} label="Take out" name={title} />
            </>
          )}
        </OrderForm>
        <OrderScript />
        <div class="bar">
          <h2>Other products</h2>
          <form>
            <input type="search" name="q" value={words} placeholder="Search" aria-label="Search" />
            <button type="submit">Show</button>
          </form>
        </div>
        {others.length === 0 && <p class="note">Nothing found.</p>}
        <OrderForm path={path} products={others}>
          {({ id, title }) => <MoveButton move="add" id={id} label="Feature" name={title} />}
        </OrderForm>
      </section>
      <Button action={`${path}/delete`} label="Delete this listing" />
    </>
  );
  return { title: listing.name, body };
};

interface OrderFormProps {
  readonly path: string;
  readonly products: readonly Publication[];
  /** Set if the products can be dragged to another place. */
  readonly order?: 'down';
  /** Returns the buttons of a product. */
  readonly children: (product: Publication, index: number) => VNode;
}

/** A form whose buttons change the order of the featured products. */
const OrderForm = ({ path, products, order, children }: OrderFormProps) => (
  <form class="scroll" method="post" action={`${path}/featured`}>
    <input type="hidden" name="shown" value={products.map(({ id }) => id).join(' ')} />
    <table>
      <tbody data-order={order}>
        {products.map((product, index) => (
          <tr key={product.id}>
            <td>
              <input type="hidden" name="publication_id" value={product.id} />
              <a href={`/console/product/${product.id}`}>{product.title}</a>
            </td>
            <td>{product.visibility}</td>
            <td>
              <div class="tags">{children(product, index)}</div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </form>
);

export const save = unlessInvalid(listingPage, async ({ client, id, form }) => {
  await client.listings.update(id, changesIn(form, FIELDS), ifMatchOf(form));
  return { location: `/console/listing/${id}`, saved: 'Saved.' };
});

/**
 * Changes the order of the featured products. If a button was pressed, moves its product within the stored order. If a
 * product was dragged, saves the order of the form, unless the stored order differs from the one that the page has shown.
 */
export const arrange = unlessInvalid(listingPage, async ({ client, id, form }) => {
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

export const remove = unlessInvalid(listingPage, async ({ client, id }) => {
  const { name } = await client.listings.get(id, { visibility: 'all' });
  await client.listings.delete(id);
  return { location: HOME, saved: `Deleted ${name}.` };
});

export const restore: Page = async ({ client, id }) => {
  await client.listings.restore(id);
  return { location: `/console/listing/${id}`, saved: 'Restored.' };
};
