import { postReview } from '../../services/command/review';
import { addPaymentMethod } from '../../services/command/store';
import type { Environment } from '../../shared/catalog/realm';
import type { BodyOf } from '../../shared/client';
import type { PublicationId } from '../../shared/kernel/ids';
import type { Harness, Shop } from '../support/harness';
import { waitFor } from '../support/wait-for';

/** A shop with listings and publications, which were written over HTTP. */
export interface StockedShop extends Shop {
  readonly environment: Environment;
  /** `Shirts` is public and sorted by `price_asc`; `Cellar` is private. */
  readonly listings: Readonly<Record<'Shirts' | 'Cellar', string>>;
  /** By title. */
  readonly publications: Readonly<Record<string, string>>;
  /** `X-Catalog-Position` of the last write. */
  readonly position: string;
}

interface Stock extends Omit<BodyOf<'createPublication'>, 'price_currency'> {
  readonly listing?: 'Shirts' | 'Cellar';
}

/** In the order in which they are written. `Cheap shirt` is the cheapest; `Unpriced shirt` has an inactive price. */
const STOCK: readonly Stock[] = [
  { title: 'Plain shirt', price_amount: 3_000, listing: 'Shirts', quantity_available: 0 },
  { title: 'Cheap shirt', price_amount: 1_000, listing: 'Shirts', free_shipping: true },
  { title: 'Second star', price_amount: 9_000, listing: 'Shirts', featured_position: 2 },
  { title: 'Ärmelloses shirt', price_amount: 2_000, listing: 'Shirts', quantity_available: 5 },
  { title: 'First star', price_amount: 8_000, listing: 'Shirts', featured_position: 1 },
  { title: 'Unpriced shirt', price_amount: 1, listing: 'Shirts', price_active: false },
  { title: 'Hidden shirt', price_amount: 4_000, listing: 'Shirts', visibility: 'private' },
  { title: 'Wine', price_amount: 5_000, listing: 'Cellar' },
  { title: 'Hidden wine', price_amount: 6_000, listing: 'Cellar', visibility: 'private' },
  { title: 'Loose thing', price_amount: 2_000 },
];

export async function stockShop(harness: Harness, environment: Environment = 'live'): Promise<StockedShop> {
  const shop = await harness.newShop(environment);
  const { store_id } = shop;
  const merchant = harness.client(shop.secret);
  const shirts = await merchant.listings.create({
    name: 'Shirts',
    description: 'With sleeves or without',
    default_sort_mode: 'price_asc',
  });
  const cellar = await merchant.listings.create({ name: 'Cellar', visibility: 'private' });
  const listings = { Shirts: shirts.id, Cellar: cellar.id };
  const publications: Record<string, string> = {};
  for (const { listing, ...fields } of STOCK) {
    const listing_id = listing === undefined ? {} : { listing_id: listings[listing] };
    const written = await merchant.publications.create({ price_currency: 'EUR', ...fields, ...listing_id });
    publications[fields.title] = written.id;
  }
  const position = merchant.position!;
  await addPaymentMethodsAndReviews(
    harness,
    { environment, store_id },
    publications['Plain shirt'] as PublicationId,
  );
  await harness.settled();
  return { ...shop, environment, listings, publications, position };
}

async function addPaymentMethodsAndReviews(
  { deps }: Harness,
  { environment, store_id }: Pick<StockedShop, 'environment' | 'store_id'>,
  publication_id: PublicationId,
): Promise<void> {
  const context = { source: 'cli', request_id: `stock-${store_id}` } as const;
  const target = { environment, id: store_id };
  for (const [name, position] of [['Bank transfer', 2] as const, ['Cash', 1] as const]) {
    const method = { type: position === 1 ? 'cash' : 'bank_transfer', name, position } as const;
    const request_id = `${context.request_id}-${name}`;
    await addPaymentMethod(deps, { ...context, request_id }, target, method);
    // Two that are created in the same millisecond are sorted by their ids.
    const added_ms = Date.now();
    await waitFor(() => Date.now() > added_ms);
  }
  for (const [rating, day] of [[5, 1] as const, [4, 3] as const, [4, 2] as const]) {
    const review = { publication_id, rating, author_name: 'A buyer', body: `Day ${day}` };
    const created_at = `2026-01-0${day}T00:00:00.000Z`;
    const request_id = `${context.request_id}-${day}`;
    await postReview(deps, { ...context, request_id }, { environment, store_id }, { ...review, created_at });
  }
}

/** Returns the titles, or names, of the items of a response. */
export function namesOf(items: readonly { title?: string; name?: string }[]): string[] {
  return items.map((item) => item.title ?? item.name ?? '');
}
