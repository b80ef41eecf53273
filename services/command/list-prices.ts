import { writes } from '../../shared/api/operations/writes';
import { listPricesBody } from '../../shared/api/requests/writes';
import { smallestAmount } from '../../shared/catalog/amounts';
import { greatest } from '../../shared/catalog/events/positions';
import {
  type ListPrice,
  listPriceAggregate,
  listPriceIdOf,
} from '../../shared/catalog/list-price/list-price';
import { publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { type Store, storeAggregate } from '../../shared/catalog/store/store';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { CatalogError, type Fault, invalidField } from '../../shared/kernel/errors';
import type { PublicationId } from '../../shared/kernel/ids';
import { findInLog, load, streamIn } from '../../shared/ports/stream-state';
import { execute, type StoreDeps, type Written } from './execute';
import { runPool } from './pool';
import { awaitProjection, type RouteDeps, storeForNew, writeContextOf } from './request';

/** Prices that are checked or written at the same time, so that they share commits of the log. */
const AT_ONCE = 20;

export const listPriceRoutes = (deps: RouteDeps): Route[] => [
  routeOf(writes.setListPrices, (request) => setPrices(deps, request)),
];

/** Handles `PUT /api/list-prices`. Checks all items before it writes the first one. A repetition after a crash writes the rest. */
async function setPrices(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const { environment } = request.principal;
  const { price_list, items } = parseBody(listPricesBody, request.body);
  await request.admitItems?.(items.length);
  const store_id = storeForNew(request, undefined);
  await deps.stores.require(environment, store_id);
  const store = await load<Store>(streamIn(deps, environment, storeAggregate, store_id));
  const { price_lists = {} } = store.state.tag === 'present' ? store.state.resource : {};
  const currency = Object.hasOwn(price_lists, price_list) ? price_lists[price_list]! : undefined;
  if (currency === undefined)
    throw CatalogError.ofFaults([invalidField('price_list', 'one of the `price_lists` of the store')]);
  const prices = items.map(({ publication_id, price, variants }) => ({
    ...{ store_id, price_list, publication_id, currency, price },
    ...(price && variants && { variants }),
  }));
  const faults: Fault[] = [];
  await runPool(prices.entries(), AT_ONCE, async ([index, price]) => {
    faults.push(...(await faultsOf(deps, environment, `items.${index}`, price)));
  });
  if (faults.length > 0) throw CatalogError.ofFaults(faults);

  const context = writeContextOf(request);
  const written: Written<unknown>[] = [];
  await runPool(prices, AT_ONCE, async (command) => {
    const id = listPriceIdOf(store_id, price_list, command.publication_id);
    const ref = streamIn(deps, environment, listPriceAggregate, id);
    const prepare = () => ({ command });
    written.push(await execute<ListPrice, ListPrice>({ ...ref, context, prepare }));
  });
  const headers = await awaitProjection(deps, request, store_id, {
    position: greatest([store.position, ...written.map(({ position }) => position)]),
    repeated: written.some(({ repeated }) => repeated),
  });
  const changed_count = written.filter(({ changed }) => changed).length;
  return { data: { object: 'list_prices', price_list, changed_count }, headers };
}

/** Returns what is wrong with the prices of a publication. `at`: their place in the body. */
async function faultsOf(
  deps: StoreDeps,
  environment: Environment,
  at: string,
  { store_id, publication_id, currency, price, variants = {} }: ListPrice,
): Promise<Fault[]> {
  // The prices of a deleted publication can still be removed.
  if (price === null) return [];
  const id = publication_id as PublicationId;
  const publication = await findInLog(deps, environment, publicationAggregate, id);
  if (publication?.store_id !== store_id)
    return [invalidField(`${at}.publication_id`, 'a publication of the store')];
  const known = new Set<string>(publication.variants.map((variant) => variant.id));
  const unit = smallestAmount(currency);
  const isBroken = (amounts: object): boolean => Object.values(amounts).some((amount) => amount % unit !== 0);
  const broken = `multiples of ${unit}: ${currency} has no minor unit`;
  const of_variants = Object.entries(variants).flatMap(([variant_id, amounts]) => {
    const field = `${at}.variants.${variant_id}`;
    if (!known.has(variant_id)) return invalidField(field, 'a variant of the publication');
    return isBroken(amounts) ? invalidField(field, broken) : [];
  });
  return isBroken(price) ? [invalidField(`${at}.price`, broken), ...of_variants] : of_variants;
}
