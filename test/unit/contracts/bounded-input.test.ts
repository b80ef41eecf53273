import { z } from 'zod';
import { newPublicationBody } from '../../../shared/api/requests/writes';
import { fewNames, stopAtFaults } from '../../../shared/catalog/input-rules';
import { parseBody } from '../../../shared/http/validation';
import { CatalogError } from '../../../shared/kernel/errors';

const named = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`name-${n}`, value]));
const publication = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

function faultsOf(body: object): [field: string, constraint: string][] {
  try {
    parseBody(newPublicationBody, body);
    return [];
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return error.faults.map(({ field, constraint }) => [field, constraint]);
  }
}

test('of an object with too many names, only as many values are checked as it may have, and one more', () => {
  let checked = 0;
  const counted = z.unknown().transform((value) => {
    checked += 1;
    return value;
  });
  const schema = fewNames(z.record(z.string(), counted), 50);
  expect(schema.safeParse(named(49_000, 1)).error?.issues.map(({ message }) => message)).toEqual([
    'at most 50 names',
  ]);
  expect(checked).toBe(51);
  expect(schema.safeParse(named(50, 1)).data).toEqual(named(50, 1));
  expect(schema.safeParse([1]).success).toBe(false);
});

test.each([
  ['attributes', { attributes: named(49_000, 1) }, 'attributes', 'at most 50 names'],
  [
    'option values',
    { variants: [{ option_values: named(49_000, 'M') }] },
    'variants.0.option_values',
    'at most 5 names',
  ],
])('refuses too many %s with one fault', (_, fields, field, constraint) => {
  expect(faultsOf({ ...publication, ...fields })).toEqual([[field, constraint]]);
});

test('names every invalid name of the attributes', () => {
  const attributes = { ' a': 1, 'b\n': 2, c: 3, [`d${'x'.repeat(60)}`]: 4 };
  expect(faultsOf({ ...publication, attributes }).map(([field]) => field)).toEqual([
    'attributes. a',
    'attributes.b\n',
    `attributes.d${'x'.repeat(60)}`,
  ]);
});

test('of a list with many faults, the items after the first 50 faults are not checked, in each parse', () => {
  let checked = 0;
  const item = z.unknown().refine((value) => {
    checked += 1;
    return value !== 'wrong';
  });
  const list = z.object({ items: z.array(stopAtFaults(item)) });
  const items = [...Array(100).fill('right'), ...Array(2_000).fill('wrong')];
  for (let parses = 1; parses <= 2; parses++) {
    expect(list.safeParse({ items }).error?.issues).toHaveLength(50);
    expect(checked).toBe(150 * parses);
  }
  expect(list.safeParse({ items: ['right'] }).data).toEqual({ items: ['right'] });
});

test('names the first 50 faults of variants', () => {
  const variants = Array.from({ length: 2_048 }, () => ({ attributes: named(45, [1]), position: 0 }));
  const faults = faultsOf({ ...publication, variants });
  expect(faults).toHaveLength(50);
  expect(faults[0]).toEqual(['variants.0.position', 'at least 1']);
});
