import { inspect, isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { derivedAmount } from '../../shared/catalog/amounts';
import { cases } from '../support/long';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';

/* Random writes of one publication with two variants and one without, and of the rule. At rest, all prices are those of a model. */

const own = ownShop();
const { send } = own;

interface Rule {
  readonly percent: number;
  readonly ending: number | null;
}
interface Item {
  price: number;
  set?: number | undefined;
}

type Step =
  | { readonly type: 'rule'; readonly rule: Rule | undefined }
  | { readonly type: 'price' | 'set'; readonly item: number; readonly amount: number | undefined }
  | { readonly type: 'delete' };

const amount = fc.integer({ min: 0, max: 20_000 });
const item = fc.integer({ min: 0, max: 2 });
const rule = fc.record({
  percent: fc.integer({ min: 1, max: 40_000 }).map((n) => n / 100),
  ending: fc.option(fc.constantFrom(0, 50, 99)),
});
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('rule' as const), rule: fc.option(rule, { nil: undefined }) }),
    fc.record({ type: fc.constant('price' as const), item, amount }),
    fc.record({ type: fc.constant('set' as const), item, amount: fc.option(amount, { nil: undefined }) }),
    fc.record({ type: fc.constant('delete' as const) }),
  ),
  { minLength: 3, maxLength: 12 },
);

test('at rest, prices are those that are set, or follow from the base price by the rule of the store', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      own.shop = await own.harness.newShop();
      await send('PATCH', '/api/store', { body: { currencies: ['PEN', 'EUR'] } });
      const created = async (body: object) => (await send('POST', '/api/publication', { body })).body.data.id;
      const tea = { title: 'Tea', price_currency: 'PEN', price_amount: 1_000 };
      const plain = await created(tea);
      const values = ['S', 'M'].map((Size) => ({ option_values: { Size }, price_amount: 1_000 }));
      const shirt = await created({ ...tea, variants: values });
      const variants = (await send('GET', `/api/publication/${shirt}/variants`)).body.data;
      const paths = [plain, ...variants.map(({ id }: { id: string }) => id)].map((id, n) =>
        n === 0 ? `/api/publication/${id}` : `/api/variant/${id}`,
      );
      const items: Item[] = paths.map(() => ({ price: 1_000 }));
      let present: Rule | undefined;
      for (const step of all)
        if (step.type === 'rule') {
          present = step.rule;
          const market = { handle: 'eu', currency: 'EUR', countries: [], derived: present };
          expect((await send('PATCH', '/api/store', { body: { markets: [market] } })).status).toBe(200);
        } else if (step.type === 'delete') {
          await send('DELETE', `/api/publication/${plain}`);
          await send('POST', `/api/publication/${plain}/restore`, {});
        } else {
          const prices = { EUR: step.amount === undefined ? null : { price_amount: step.amount } };
          const body = step.type === 'set' ? { prices } : { price_amount: step.amount };
          expect((await send('PATCH', paths[step.item]!, { body })).status).toBe(200);
          if (step.type === 'set') items[step.item]!.set = step.amount;
          else items[step.item]!.price = step.amount!;
        }
      const expected = items.map(({ price, set }) => {
        if (set !== undefined) return [set, undefined];
        return present ? [derivedAmount(price, present, 'EUR'), true] : undefined;
      });
      const shown = async () => {
        const replies = await Promise.all(paths.map((path) => send('GET', path)));
        return replies.map(({ body }) => {
          const price = body.data?.prices?.EUR;
          return price && [price.price_amount, price.derived];
        });
      };
      await waitFor(async () => isDeepStrictEqual(await shown(), expected), { what: inspect(expected) });
      const cheapest = expected.slice(1).flatMap((price) => (price ? [price[0]] : []));
      const { prices } = (await send('GET', `/api/publication/${shirt}`)).body.data;
      expect(prices?.EUR.price_amount).toBe(
        cheapest.length > 0 ? Math.min(...(cheapest as number[])) : undefined,
      );
    }),
    cases(6, 60),
  );
});
