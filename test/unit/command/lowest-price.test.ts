import fc from 'fast-check';
import { ABSENT, type State } from '../../../shared/catalog/events/aggregate';
import { lowestPrice } from '../../../shared/catalog/publication/price-history';
import {
  type Publication,
  type PublicationEvent,
  publicationAggregate,
} from '../../../shared/catalog/publication/publication';
import type { Variant } from '../../../shared/catalog/publication/variants';
import type { PublicationId } from '../../../shared/kernel/ids';
import { timestamp } from '../../../shared/kernel/system';
import { cases } from '../../support/long';
import { newId } from './support';

const DAY = 24 * 3_600_000;
const START = Date.parse('2026-03-01T00:00:00.000Z');
const at = (day: number): string => timestamp(START + day * DAY);
const id = newId<PublicationId>();

interface Step {
  readonly day: number;
  readonly event: PublicationEvent;
}

const PRICED = { price_currency: 'EUR', price_amount: 100, price_active: true };
const NO_SALE = { compare_at_amount: null, sale_price_amount: null, sale_from: null, sale_to: null };
const variant = (name: string, fields: Partial<Variant> = {}): Variant =>
  ({
    ...{ id: name, option_values: { Size: name }, position: 1, price_amount: 100, quantity_available: null },
    ...{ compare_at_amount: null, sale_price_amount: null, allow_backorder: false, ...fields },
  }) as Variant;
const replaced = (...variants: Variant[]): PublicationEvent => ({
  type: 'VariantsReplaced',
  data: { variants },
});
const created = (fields: object = {}): PublicationEvent => {
  const data = { ...PRICED, ...NO_SALE, variants: [], options: [], listing_ids: [], listing_id: null };
  return { type: 'PublicationCreated', data: { ...data, ...fields } } as unknown as PublicationEvent;
};
const priced = (price_amount: number, fields: object = {}): PublicationEvent => ({
  type: 'PublicationPriced',
  data: { ...PRICED, price_amount, ...fields },
});
const sale = (fields: object) =>
  ({ type: 'PublicationSaleSet', data: { ...NO_SALE, ...fields } }) as unknown as PublicationEvent;
/** What the schedule appends when a sale begins or ends. */
const idle = sale({ idle: {} });
const described = { type: 'PublicationDescribed', data: { title: 'Tea' } } as unknown as PublicationEvent;

const fold = (steps: readonly Step[]): State<Publication> =>
  steps.reduce<State<Publication>>(
    (state, { day, event }) => publicationAggregate.evolve(state, event, id, at(day)),
    ABSENT,
  );
function publicationAfter(...steps: [day: number, event: PublicationEvent][]): Publication {
  const state = fold(steps.map(([day, event]) => ({ day, event })));
  if (state.tag !== 'present') throw new Error('no publication');
  return state.resource;
}
const lowestAfter = (...steps: Parameters<typeof publicationAfter>) =>
  lowestPrice(publicationAfter(...steps));
const week = (from: number, price = 60) =>
  sale({ sale_price_amount: price, sale_from: at(from), sale_to: at(from + 7) });

test.each<[story: string, expected: number | undefined, ...Parameters<typeof publicationAfter>]>([
  ['a price that is not reduced has none', undefined, [0, created()], [10, priced(80)]],
  [
    'a product that is created reduced has its first price',
    80,
    [0, created({ ...PRICED, price_amount: 80, compare_at_amount: 100 })],
  ],
  [
    'a compare-at price that is added to a price tells that the price is not lower',
    100,
    [0, created()],
    [10, sale({ compare_at_amount: 150 })],
  ],
  ['the price before a sale', 100, [0, created()], [40, week(40)]],
  [
    'the lowest one of several prices',
    70,
    [0, created()],
    [20, priced(70)],
    [25, priced(120)],
    [40, week(40)],
  ],
  [
    'a price that ended 30 days before does not count',
    120,
    [0, created()],
    [10, priced(120)],
    [40, week(40)],
  ],
  ['a price that ended a day later counts', 100, [0, created()], [11, priced(120)], [40, week(40)]],
  [
    'a younger product has the lowest since its creation',
    90,
    [0, created()],
    [2, priced(90)],
    [3, priced(95)],
    [4, week(4)],
  ],
  [
    'an earlier sale counts, also if nothing was appended at its ends',
    60,
    [0, created()],
    [1, week(5)],
    [20, week(20, 50)],
  ],
  [
    'a further reduction keeps the price before the first one',
    100,
    [0, created()],
    [40, sale({ sale_price_amount: 80 })],
    [50, sale({ sale_price_amount: 60 })],
  ],
  [
    'a sale that becomes a lower price with a compare-at price is one reduction',
    100,
    [0, created()],
    [40, week(40)],
    [47, sale({ compare_at_amount: 100, sale_price_amount: 90 })],
  ],
  ['a sale that has ended has none', undefined, [0, created()], [40, week(40)], [48, idle]],
  ['a scheduled sale has none before it begins', undefined, [0, created()], [1, week(40)], [39, described]],
  [
    'a hidden price ends the reduction and does not count',
    60,
    [0, created()],
    [40, sale({ sale_price_amount: 60 })],
    [41, priced(100, { price_active: false })],
    [50, priced(100)],
  ],
  [
    'another currency begins anew',
    70,
    [0, created()],
    [5, priced(10)],
    [10, sale({ compare_at_amount: 99 })],
    [12, priced(70, { price_currency: 'USD' })],
  ],
  [
    'with variants, the price of the cheapest one',
    50,
    [0, created()],
    [10, replaced(variant('S', { price_amount: 50 }), variant('M'))],
    [12, sale({ sale_price_amount: 40 })],
  ],
  [
    'time on the deleted list counts',
    100,
    [0, created()],
    [5, { type: 'PublicationDeleted', data: {} }],
    [
      20,
      {
        type: 'PublicationRestored',
        data: { listing_id: null, media_ids: [], listing_ids: [] },
      } as unknown as PublicationEvent,
    ],
    [21, week(21)],
  ],
])('%s', (_story, expected, ...steps) => {
  expect(lowestAfter(...steps)).toBe(expected);
});

test('each variant has the lowest price before its own reduction', () => {
  const [s, m] = [variant('S', { price_amount: 90 }), variant('M', { price_amount: 120 })];
  const publication = publicationAfter(
    [0, created({ variants: [s, m] })],
    [10, { type: 'VariantChanged', data: { variant: { ...m, price_amount: 110, compare_at_amount: 130 } } }],
  );
  expect(['own', 'S', 'M'].map((one) => lowestPrice(publication, one))).toEqual([undefined, undefined, 120]);
});

test('a history is only kept while it can matter, and is bounded', () => {
  expect(publicationAfter([0, created({ variants: [variant('S')] })], [5, described])).not.toHaveProperty(
    'price_history',
  );
  expect(publicationAfter([0, created()], [1, priced(90)], [20, described])).toHaveProperty('price_history');
  expect(publicationAfter([0, created()], [1, priced(90)], [32, described])).not.toHaveProperty(
    'price_history',
  );
  const rising = Array.from(
    { length: 500 },
    (_, index) => [1 + index / 100, priced(101 + index)] as [number, PublicationEvent],
  );
  const publication = publicationAfter([0, created()], ...rising, [7, sale({ compare_at_amount: 1_000 })]);
  expect(publication.price_history?.records.own?.past).toHaveLength(100);
  expect(lowestPrice(publication)).toBe(100);
});

// --- The same by looking at every price that applied ---

/** Returns the prices in one state, from the definition of sales: of the publication, and of its variants by id. */
function naivePrices(
  publication: Publication,
  time: number,
): Map<string, { price: number; reduced: boolean }> {
  const { variants, price_active, sale_from, sale_to, sale_price_amount } = publication;
  const prices = new Map<string, { price: number; reduced: boolean }>();
  if (!price_active) return prices;
  const runs = time >= Date.parse(sale_from ?? at(-1_000)) && time < Date.parse(sale_to ?? at(1_000));
  const costs = (one: Variant | Publication): number => {
    const in_sale = one.sale_price_amount ?? sale_price_amount;
    return runs && in_sale !== null && in_sale < one.price_amount ? in_sale : one.price_amount;
  };
  const isBelow = (price: number, one: Variant | Publication) =>
    price < one.price_amount || (one.compare_at_amount !== null && price < one.compare_at_amount);
  for (const one of variants) prices.set(one.id, { price: costs(one), reduced: isBelow(costs(one), one) });
  const own = variants.length > 0 ? Math.min(...variants.map(costs)) : costs(publication);
  return prices.set('own', { price: own, reduced: isBelow(own, publication) });
}

function naiveLowest(steps: readonly Step[], one: string): number | undefined {
  const states = steps.map((_, index) => fold(steps.slice(0, index + 1)));
  /** Each moment at which a price may change, with the prices from that moment on. */
  const timeline: { time: number; kind: string; price?: number; reduced: boolean }[] = [];
  steps.forEach(({ day }, index) => {
    const state = states[index]!;
    if (state.tag !== 'present') return;
    const [from, until] = [START + day * DAY, START + (steps[index + 1]?.day ?? day) * DAY];
    const sale_times = [state.resource.sale_from, state.resource.sale_to].map((time) =>
      Date.parse(time ?? ''),
    );
    const times = [from, ...sale_times.filter((time) => time > from && time < until)];
    for (const time of times) {
      const found = naivePrices(state.resource, time).get(one);
      const { price_currency, variants } = state.resource;
      const exists = one === 'own' || variants.some(({ id }) => id === one);
      timeline.push({ time, kind: `${price_currency} ${exists}`, reduced: false, ...found });
    }
  });
  const kind = timeline.at(-1)?.kind;
  const since = timeline.findLastIndex((each) => each.kind !== kind) + 1;
  const same = timeline.slice(since);
  if (!same.at(-1)?.reduced) return undefined;
  const first = same.findLastIndex(({ reduced }) => !reduced) + 1;
  const begin = same[first]!.time;
  const counts = same.slice(0, first).filter((_, index) => same[index + 1]!.time > begin - 30 * DAY);
  const prices = counts.flatMap(({ price }) => price ?? []);
  return prices.length > 0 ? Math.min(...prices) : same[first]!.price;
}

const amount = fc.integer({ min: 1, max: 9 }).map((n) => n * 10);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 2 });
const day = fc.nat(120).map((half) => half / 2);
const variants = fc
  .tuple(
    ...['S', 'M'].map((name) =>
      maybe(
        fc
          .record({
            price_amount: amount,
            compare_at_amount: maybe(amount),
            sale_price_amount: maybe(amount),
          })
          .map((fields) => variant(name, fields)),
      ),
    ),
  )
  .map((all) => replaced(...all.filter((one) => one !== null)));
const sales = fc
  .record({
    compare_at_amount: maybe(amount),
    sale_price_amount: maybe(amount),
    bounds: maybe(fc.tuple(day, day)),
  })
  .map(({ bounds, ...amounts }) => {
    if (!bounds || bounds[0] === bounds[1]) return sale(amounts);
    return sale({ ...amounts, sale_from: at(Math.min(...bounds)), sale_to: at(Math.max(...bounds)) });
  });
const event = fc.oneof(
  { weight: 3, arbitrary: amount.map((price) => priced(price)) },
  {
    weight: 1,
    arbitrary: fc
      .record({ price_active: fc.boolean(), price_currency: fc.constantFrom('EUR', 'EUR', 'USD') })
      .map((fields) => priced(50, fields)),
  },
  { weight: 3, arbitrary: sales },
  { weight: 1, arbitrary: variants },
  { weight: 2, arbitrary: fc.constantFrom(idle, described) },
);

test('the lowest price is that of all prices in the log, whenever the events are folded', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(day, event), { maxLength: 25 }), (later) => {
      const days = later.map(([each]) => each).sort((a, b) => a - b);
      const steps = [
        { day: 0, event: created() },
        ...later.map(([, each], index) => ({ day: days[index]!, event: each })),
      ];
      const state = fold(steps);
      if (state.tag !== 'present') throw new Error('no publication');
      for (const one of ['own', 'S', 'M'])
        expect(lowestPrice(state.resource, one)).toBe(naiveLowest(steps, one));
    }),
    cases(1_000),
  );
});

test('the lowest price in another currency is what it would be in the currency of the publication', () => {
  const steps = fc.array(
    fc.tuple(
      day,
      fc.oneof(
        amount.map((price) => priced(price)),
        sales,
      ),
    ),
    { maxLength: 25 },
  );
  fc.assert(
    fc.property(steps, (later) => {
      const own = [{ day: 0, event: created() }];
      const other = [{ day: 0, event: created({ prices: { USD: { price_amount: 100 } } }) }];
      for (const [at_day, event] of later.sort(([a], [b]) => a - b)) {
        own.push({ day: at_day, event });
        const { resource } = fold(own) as { resource: Publication };
        const { price_amount, compare_at_amount, sale_price_amount, sale_from, sale_to } = resource;
        const all = { price_amount, compare_at_amount, sale_price_amount, sale_from, sale_to };
        const USD = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
        const prices = { USD } as unknown as NonNullable<Publication['prices']>;
        other.push({ day: at_day, event: { type: 'PublicationPricesSet', data: { prices } } });
      }
      const [base, foreign] = [own, other].map(fold) as { resource: Publication }[];
      expect(lowestPrice(foreign!.resource, 'own', 'USD')).toBe(lowestPrice(base!.resource));
      expect(lowestPrice(foreign!.resource)).toBeUndefined();
    }),
    cases(),
  );
});
