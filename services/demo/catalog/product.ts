import type { ListingItem, PublicationItem } from '../../import/item';
import { parsePrice } from '../../import/price';

/** A review: stars, title, what it says, who wrote it, on which day. */
export type DemoReview = readonly [rating: number, title: string, body: string, author: string, day: string];

/** A product of the demo store, short to write. Prices in soles. */
export interface DemoProduct {
  readonly id: string;
  readonly title: string;
  readonly price: string;
  readonly text: string;
  readonly details?: readonly string[];
  /** Not counted where it is left out. */
  readonly stock?: number;
  readonly featured?: number;
  readonly private?: true;
  /** The price is not to be shown: on request, or not on sale yet. */
  readonly price_hidden?: true;
  readonly free_shipping?: boolean;
  readonly reviews?: readonly DemoReview[];
}

export interface DemoListing {
  readonly name: string;
  readonly description: string;
  readonly sort_mode?: string;
  readonly private?: true;
  readonly products: readonly DemoProduct[];
}

/** The listing and its products as an import brings them, so that the demo passes the same rules as a merchant's file. */
export function itemsOf(listing: DemoListing): (ListingItem | PublicationItem)[] {
  const fields = {
    name: listing.name,
    description: listing.description,
    visibility: listing.private ? 'private' : 'public',
    default_sort_mode: listing.sort_mode ?? 'created_at_desc',
  };
  const products = listing.products.map((product) => publicationOf(product, listing.name));
  return [{ kind: 'listing', line: 0, fields }, ...products];
}

export function publicationOf(product: DemoProduct, listing: string | null): PublicationItem {
  const price = parsePrice(product.price);
  if (!price.ok) throw new Error(`demo product ${product.id}: ${price.reason}`);
  return {
    kind: 'publication',
    line: 0,
    external_id: product.id,
    listing,
    images: [],
    fields: {
      title: product.title,
      description: [product.text, ...(product.details ?? [])].join('\n'),
      description_html: htmlOf(product),
      visibility: product.private ? 'private' : 'public',
      price_currency: 'PEN',
      price_amount: price.amount,
      price_active: product.price_hidden !== true,
      free_shipping: product.free_shipping ?? null,
      quantity_available: product.stock ?? null,
      featured_position: product.featured ?? null,
    },
    reviews: (product.reviews ?? []).map(([rating, title, body, author_name, day], index) => ({
      external_id: null,
      fields: {
        ...{ rating, title, body, author_name },
        verified: index % 3 !== 2,
        created_at: `${day}T15:00:00.000Z`,
      },
    })),
  };
}

function htmlOf(product: DemoProduct): string {
  const details = product.details?.map((detail) => `<li>${detail}</li>`).join('');
  return `<p>${product.text}</p>${details ? `<ul>${details}</ul>` : ''}`;
}
