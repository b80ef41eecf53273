import { reads } from '../../shared/api/operations/reads';
import type { ListQuery } from '../../shared/api/requests/reads';
import type { SortOrder } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import { orderWithin, pageOf, sortModeOf } from './list-query';
import { parseRead } from './read-query';
import { assertActive, namedStore, openStore, type ReadSides } from './store-guard';

/** `GET /api/payment-methods` */
export async function readPaymentMethods(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listPaymentMethods, request, []);
  const store_id = namedStore(request);
  const version = await openStore(sides, request, store_id);
  const [store, page] = await Promise.all([
    version.get('stores', store_id, ['state']),
    version.find('payment_methods', { where: { store_id }, order: orderOfMethods(query), ...pageOf(query) }),
  ]);
  const total = assertActive(store).state.payment_methods;
  const data = page.flatMap(({ document }) => (document ? [document.body] : []));
  return { data, meta: pageMeta({ ...query, total }) };
}

/** The merchant's own order, by `position`, unless another was asked for. */
function orderOfMethods(query: Pick<ListQuery, 'sort' | 'order'>): SortOrder {
  if (query.sort) return orderWithin('payment_methods', sortModeOf(query));
  const direction = query.order ?? 'asc';
  return [
    ['position', direction],
    ['id', direction],
  ];
}
