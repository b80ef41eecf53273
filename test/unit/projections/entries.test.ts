import fc from 'fast-check';
import { placeEntry } from '../../../projections/engine/entries';
import { compareByOrder, orderOf } from '../../../shared/catalog/sorting';
import { type Entry, EXPANDED_MAX } from '../../../shared/catalog/stored-document';

const order = orderOf('price_asc');
const entry = (n: number, price: number): Entry => ({ id: `e${n}`, keys: { price_up: price }, body: {} });

describe('the list of the first twenty entries', () => {
  test('is right after every insertion, change and removal, or is marked to be recomputed', () => {
    const histories = fc.array(fc.tuple(fc.nat(30), fc.option(fc.nat(8))), { maxLength: 200, size: 'max' });
    let compared = 0;
    fc.assert(
      fc.property(histories, (changes) => {
        const all = new Map<string, Entry>();
        let list: readonly Entry[] = [];
        for (const [n, price] of changes) {
          const after = price === null ? null : entry(n, price);
          if (after) all.set(after.id, after);
          else all.delete(`e${n}`);
          const placed = placeEntry(list, `e${n}`, after, { max: EXPANDED_MAX, total: all.size, order });
          const expected = [...all.values()]
            .sort((a, b) => compareByOrder(order, a, b))
            .slice(0, EXPANDED_MAX);
          if (!placed.must_recompute) {
            expect(placed.entries).toEqual(expected);
            compared++;
          }
          list = expected;
        }
      }),
    );
    expect(compared).toBeGreaterThan(100);
  });

  test('must be recomputed only if an item outside the list may now belong in it', () => {
    const full = Array.from({ length: EXPANDED_MAX }, (_, n) => entry(n, n));
    const place = (n: number, price: number | null, total: number) =>
      placeEntry(full, `e${n}`, price === null ? null : entry(n, price), {
        max: EXPANDED_MAX,
        total,
        order,
      }).must_recompute;
    expect(place(99, 5, 25)).toBe(false);
    expect(place(99, 50, 25)).toBe(false);
    expect(place(3, 0, 25)).toBe(false);
    expect(place(3, 50, 25)).toBe(true);
    expect(place(3, 50, EXPANDED_MAX)).toBe(false);
    expect(place(3, null, 24)).toBe(true);
    expect(place(3, null, EXPANDED_MAX - 1)).toBe(false);
  });
});
