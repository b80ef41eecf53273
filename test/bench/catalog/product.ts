import type { PublicationInput } from '../../../shared/catalog/publication/publication';
import type { ListingId } from '../../../shared/kernel/ids';
import { integer, oneOf, type Random, randomFrom, seedOf, Zipf } from './random';
import { foreignWords, vocabulary } from './vocabulary';

/** What the command services would decide a new publication from. */
export type Product = PublicationInput & { readonly visibility: 'public' | 'private' };

const words = new Zipf(vocabulary.length);

const chance = (random: Random, percent: number): boolean => random() * 100 < percent;

/**
 * Returns product `index` of a catalog. The same arguments give the same product, so that the load generator knows what
 * the catalog contains without reading it.
 *
 * Two in a hundred are featured, five are private, five are in no listing, one has a word of another script. The first
 * listings have the most products.
 */
export function productAt(seed: number, index: number, listings: ListingPicker): Product {
  const random = randomFrom(seedOf(seed, index));
  const visibility = chance(random, 5) ? 'private' : 'public';
  return {
    visibility,
    title: title(random),
    description: text(random, integer(random, 2, 8)),
    description_html: chance(random, 5) ? `<p>${text(random, 2)}</p><p>${text(random, 2)}</p>` : null,
    price_currency: chance(random, 80) ? 'PEN' : 'USD',
    // From 1.00 to about 3,000.00; most prices are low.
    price_amount: 10 * Math.round(10 * Math.exp(random() * 8)),
    price_active: !chance(random, 3),
    free_shipping: oneOf(random, [true, false, false, null]),
    quantity_available: chance(random, 30) ? null : chance(random, 20) ? 0 : integer(random, 1, 200),
    featured_position: chance(random, 2) ? integer(random, 1, 10_000) : null,
    listing_id: chance(random, 5) ? null : listings.pick(random),
  };
}

/** Picks listings with Zipf frequencies. */
export class ListingPicker {
  private readonly ids: readonly ListingId[];
  private readonly ranks: Zipf;

  constructor(ids: readonly ListingId[]) {
    this.ids = ids;
    this.ranks = new Zipf(ids.length, 0.7);
  }

  pick(random: Random): ListingId {
    return this.ids[this.ranks.draw(random)]!;
  }
}

const word = (random: Random): string => vocabulary[words.draw(random)]!;

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Two to six words, in one of five with the number of a model. */
function title(random: Random): string {
  const parts = Array.from({ length: integer(random, 2, 6) }, () => word(random));
  if (chance(random, 1)) parts.push(oneOf(random, foreignWords));
  if (chance(random, 20))
    parts.push(`${oneOf(random, ['K', 'M', 'XT', 'Pro'])}-${integer(random, 1, 9_999)}`);
  return capitalised(parts.join(' '));
}

/** Sentences of 8 to 18 words. */
function text(random: Random, sentences: number): string {
  const sentence = (): string =>
    `${capitalised(Array.from({ length: integer(random, 8, 18) }, () => word(random)).join(' '))}.`;
  return Array.from({ length: sentences }, sentence).join(' ');
}
