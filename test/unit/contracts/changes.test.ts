import { changeOf, changingAggregate } from '../../../shared/catalog/changes';
import { initialValues } from '../../../shared/catalog/fields';
import { publicationFields } from '../../../shared/catalog/publication/fields';
import { variantFields } from '../../../shared/catalog/publication/variants';

/** How often the values of a variant are compared. */
let comparisons = 0;
const defaults = initialValues(variantFields);
const variantsWith = (price_amount: (index: number) => number) =>
  Array.from({ length: 2_048 }, (_, index) => ({
    ...defaults,
    id: `variant-${index}`,
    option_values: new Proxy(
      { Size: String(index) },
      {
        ownKeys: (values) => {
          comparisons += 1;
          return Reflect.ownKeys(values);
        },
      },
    ),
    price_amount: price_amount(index),
  }));

test('of replaced variants, a change has those that differ, and compares each with one other', () => {
  const { evolve } = changingAggregate('publication')!;
  const store_id = 'store';
  const created = { ...initialValues(publicationFields), store_id, variants: variantsWith(() => 1) };
  const AT = '2026-01-31T12:00:00.000Z';
  const before = evolve({ tag: 'absent' }, { type: 'PublicationCreated', data: created } as never, 'id', AT);
  const replaced = { variants: variantsWith((index) => (index === 7 ? 2 : 1)).reverse() };
  const event = { type: 'VariantsReplaced', data: replaced } as never;
  const after = evolve(before, event, 'id', AT);
  comparisons = 0;
  const change = changeOf('publication', 'id', event, before, after)!;
  const found = (price_amount: number) => [expect.objectContaining({ id: 'variant-7', price_amount })];
  expect(change.changed.variants).toEqual({ before: found(1), after: found(2) });
  expect(comparisons).toBeLessThan(10 * 2_048);
});
