import type { ImportItem } from '../../import/item';
import { ceramics } from './ceramics';
import { coffee } from './coffee';
import { candles, prints } from './home';
import { pantry } from './pantry';
import { type DemoListing, itemsOf, publicationOf } from './product';
import { stationery } from './stationery';
import { textiles } from './textiles';
import { season, workshops } from './workshops';

const LIVE = [ceramics, coffee, stationery, textiles, pantry, candles, prints, workshops, season];

/** What a developer tries writes on: a handful, in two listings, one product of each kind that matters. */
const TEST: readonly DemoListing[] = [
  { ...ceramics, products: ceramics.products.filter((_, index) => index < 4 || index === 6 || index === 8) },
  { ...coffee, products: coffee.products.filter((_, index) => index < 4 || index === 8) },
];

/** Eight listings that anybody sees, one that nobody does, and two products in none. */
export function liveItems(): ImportItem[] {
  const unlisted = [
    publicationOf(
      {
        id: 'bolsa-tela',
        title: 'Bolsa de tela Amancay',
        price: '20.00',
        stock: 100,
        text: 'Tocuyo crudo con la flor impresa.',
      },
      null,
    ),
    publicationOf(
      {
        id: 'envoltura',
        title: 'Envoltura para regalo',
        price: '5.00',
        text: 'Papel, cinta y una tarjeta escrita a mano.',
      },
      null,
    ),
  ];
  return [...LIVE.flatMap(itemsOf), ...unlisted];
}

export function testItems(): ImportItem[] {
  return TEST.flatMap(itemsOf);
}
