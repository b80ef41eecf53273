import { z } from 'zod';
import { accept } from '../../kernel/decision';
import { deriveId, type ListPriceId, type StoreId } from '../../kernel/ids';
import { isSameValue } from '../../kernel/same-value';
import { type Aggregate, present } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { withoutNulls } from '../fields';
import { amountField } from '../input-rules';

const amount = z.int().min(0);
const storedPrice = z.object({ price_amount: amount, compare_at_amount: amount.exactOptional() });
type Price = Readonly<z.output<typeof storedPrice>>;

/** A price of a price list in requests and answers. */
export const listPrice = z.strictObject({
  price_amount: amountField.meta({ description: 'The price, in hundredths.', example: 800 }),
  compare_at_amount: amountField
    .exactOptional()
    .meta({ description: 'The price to compare with.', example: 990 }),
});

export const listPriceEvents = [
  /** The prices of a publication in a price list, as a whole. `price` is null if it has none any more. */
  defineEvent(
    'ListPriceSet',
    z.object({
      store_id: z.string(),
      price_list: z.string(),
      publication_id: z.string(),
      currency: z.string(),
      price: storedPrice.nullable(),
      /** By the id of the variant. A variant that is not in it has `price`. */
      variants: z.record(z.string(), storedPrice).exactOptional(),
    }),
  ),
] as const;

export type ListPriceEvent = EventOf<typeof listPriceEvents>;
/** The prices of a publication in a price list: the state of their stream, and the command that sets them. */
export type ListPrice = ListPriceEvent['data'];

/**
 * Returns the id of the stream and of the document. A reader computes it from the list of its key, so it finds the prices of no
 * other list.
 */
export const listPriceIdOf = (store_id: string, price_list: string, publication_id: string): ListPriceId =>
  deriveId(0, 'list_price', store_id, price_list, publication_id);

export const listPriceAggregate: Aggregate<ListPrice, ListPriceEvent, ListPriceId, ListPrice> = {
  category: 'list_price',
  events: listPriceEvents,
  state_version: 1,
  // Only an operator can delete the stream.
  not_found: 'lost_race',
  evolve: (_state, { data }) => present(data),
  decide: (state, data) => {
    const before = state.tag === 'present' ? state.resource : { ...data, price: null };
    return isSameValue(before, data) ? accept() : accept({ type: 'ListPriceSet', data });
  },
  owner: ({ store_id }) => ({ store_id: store_id as StoreId }),
};

/** The prices as an answer shows them. `price` is absent if the publication has none any more. */
export type ListPriceBody = JsonObject & {
  readonly publication_id: string;
  readonly currency: string;
  readonly price?: Price;
  readonly variants?: Readonly<Record<string, Price>>;
};

export function listPriceResource(id: string, list_price: ListPrice): ListPriceBody {
  const { store_id: _, ...fields } = list_price;
  return withoutNulls({ id, object: 'list_price', ...fields }) as ListPriceBody;
}
