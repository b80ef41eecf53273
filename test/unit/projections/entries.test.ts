import fc from 'fast-check';
import { fitting, placeEntry } from '../../../projections/engine/entries';
import { compareByOrder, orderOf } from '../../../shared/catalog/sorting';
import { type Entry, EXPANDED_MAX } from '../../../shared/catalog/stored-document';
import { cases } from '../../support/long';

const order = orderOf('price_asc');
const entry = (n: number, price: number): Entry => ({ id: `e${n}`, keys: { price_up: price }, body: {} });

describe('the list of the first twenty entries', () => {
  test('must be recomputed only if an item outside the list may now belong in it', () => {
    const full = Array.from({ length: EXPANDED_MAX }, (_, n) => entry(n, n));
    const place = (n: number, price: number | null, total: number) =>
      placeEntry(full, `e${n}`, price === null ? null : entry(n, price), {
        max: EXPANDED_MAX,
        max_bytes: Number.POSITIVE_INFINITY,
        total_before: Math.max(total, EXPANDED_MAX),
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

  test.each([
    ['every change', Number.POSITIVE_INFINITY],
    ['every change with a maximum size', 200],
  ])('is right after %s, or is marked to be recomputed', (_, max_bytes) => {
    const change = fc.tuple(fc.nat(12), fc.option(fc.tuple(fc.nat(8), fc.integer({ min: 1, max: 60 }))));
    const max = 6;
    let compared = 0;
    let cut = 0;
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200, size: 'max' }), (changes) => {
        const all = new Map<string, Entry>();
        let list: readonly Entry[] = [];
        for (const [n, now] of changes) {
          const after = now && { ...entry(n, now[0]), body: { text: 'x'.repeat(now[1]) } };
          const total_before = all.size;
          if (after) all.set(after.id, after);
          else all.delete(`e${n}`);
          const limits = { max, max_bytes, total_before, total: all.size, order };
          const placed = placeEntry(list, `e${n}`, after, limits);
          const first = [...all.values()].sort((a, b) => compareByOrder(order, a, b)).slice(0, max);
          const expected = fitting(first, max_bytes);
          if (!placed.must_recompute) {
            expect(placed.entries).toEqual(expected);
            compared++;
            if (expected.length < first.length) cut++;
          }
          list = expected;
        }
      }),
      cases(),
    );
    expect(compared).toBeGreaterThan(100);
    expect(cut > 100).toBe(max_bytes === 200);
  });

  test('with a maximum size is seldom recomputed if new items come first', () => {
    const sized = (n: number): Entry => ({ ...entry(n, n), body: { text: 'x'.repeat(90) } });
    const limits = { max: 6, max_bytes: 250, total_before: 20, total: 21, order };
    const list = [sized(5), sized(6)];
    expect(placeEntry(list, 'e1', sized(1), limits)).toEqual({
      entries: [sized(1), sized(5)],
      must_recompute: false,
    });
    expect(placeEntry(list, 'e9', sized(9), limits)).toEqual({ entries: list, must_recompute: false });
  });

  test('has one entry, however large it is', () => {
    const large = { ...entry(1, 1), body: { text: 'x'.repeat(500) } };
    expect(fitting([large, entry(2, 2)], 200)).toEqual([large]);
  });
});
