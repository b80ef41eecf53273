import { errorBody, errorCatalogue } from '../../shared/api/error-catalogue';
import { writes } from '../../shared/api/operations/writes';
import {
  batchQuerySchema,
  type PublicationBatchItem,
  publicationBatchBody,
} from '../../shared/api/requests/writes';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import { storeAggregate } from '../../shared/catalog/store/store';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { allEnded } from '../../shared/kernel/async';
import { CatalogError, type Fault } from '../../shared/kernel/errors';
import { deriveId, timeOfId } from '../../shared/kernel/ids';
import { load, streamIn } from '../../shared/ports/stream-state';
import { publications } from './publication';
import { awaitProjection, type RouteDeps, storeForNew } from './request';

/** The answer to an item, or its error. */
type Outcome = Answer | CatalogError;

const { createPublication, updatePublication, putPublication, deletePublication } = writes;
const OPERATIONS = {
  create: createPublication,
  update: updatePublication,
  put: putPublication,
  delete: deletePublication,
};

/**
 * Returns the route of `POST /api/publications/batch`. Each item is a request to the route of its action, which does not
 * wait for the projection. A dry run is the same request with `dry_run`, so both check the same.
 */
export function batchRoute(deps: RouteDeps): Route {
  const handlers = new Map(
    publications.routes(deps).map((route) => [`${route.method} ${route.path}`, route.handler]),
  );

  /** Carries out all items at once. Rejects with the first server error after all have ended. */
  async function runAll(request: ApiRequest, items: readonly PublicationBatchItem[]): Promise<Outcome[]> {
    const run = async (item: PublicationBatchItem, index: number): Promise<Outcome> => {
      const { method, path } = OPERATIONS[item.action];
      try {
        return await handlers.get(`${method} ${path}`)!(requestOf(request, item, index));
      } catch (error) {
        if (!(error instanceof CatalogError) || errorCatalogue[error.condition].status >= 500) throw error;
        return error;
      }
    };
    return allEnded(items.map(run));
  }

  return routeOf(writes.batchPublications, async (request) => {
    const { on_error, dry_run = false } = parseQuery(batchQuerySchema, request.query);
    const { items } = parseBody(publicationBatchBody, request.body);
    await request.admitItems?.(items.length);
    const { environment } = request.principal;
    const store_id = storeForNew(request, undefined);
    await deps.stores.require(environment, store_id);
    const store = await load(streamIn(deps, environment, storeAggregate, store_id));
    const in_store = { ...request, query: { ...request.query, store_id: [store_id] } };
    if (on_error === 'reject_all' && !dry_run)
      assertValid(await runAll({ ...in_store, dry_run: true }, items));
    const outcomes = await runAll({ ...in_store, dry_run }, items);
    const headers = outcomes.flatMap((one) => (one instanceof CatalogError ? [] : [one.headers!]));
    const written = {
      position: greatest([store.position, ...headers.map((one) => BigInt(one['X-Catalog-Position']!))]),
      repeated: headers.some((one) => 'Idempotent-Replayed' in one),
    };
    return {
      data: summaryOf(items, outcomes, dry_run),
      headers: await awaitProjection(deps, request, store_id, written),
    };
  });
}

/** Returns the request of an item. With an `Idempotency-Key`, each item is an operation of its own. */
function requestOf(request: ApiRequest, item: PublicationBatchItem, index: number): ApiRequest {
  const { id, external_id, body = {} } = item;
  const { operation } = request;
  const idOf = (of_batch: string): string => deriveId(timeOfId(of_batch), 'item', of_batch, String(index));
  return {
    ...request,
    params: { ...(id && { id }), ...(external_id && { external_id }) },
    body: body as JsonObject,
    header: (name) => (name === 'prefer' ? 'respond-async' : undefined),
    ...(operation && {
      operation: {
        ...operation,
        id: idOf(operation.id),
        earlier_ids: (operation.earlier_ids ?? []).map(idOf),
      },
    }),
  };
}

/**
 * Throws `field_invalid` if an item has failed, or if two are of one publication: one may name it by its id and the other by
 * its external id. The faults have the place of the item, and codes of their own.
 */
function assertValid(outcomes: readonly Outcome[]): void {
  const idOf = (outcome: Outcome): unknown =>
    outcome instanceof CatalogError ? outcome : (outcome.data as JsonObject).id;
  const ids = outcomes.map(idOf);
  const faults = outcomes.flatMap((outcome, index): readonly Fault[] => {
    const field = `items.${index}`;
    if (!(outcome instanceof CatalogError)) {
      const is_repeated = ids.indexOf(idOf(outcome)) < index;
      return is_repeated ? [{ condition: 'field_invalid', field, constraint: 'another publication' }] : [];
    }
    const { condition, faults, message } = outcome;
    if (faults.length > 0)
      return faults.map((fault) => ({ ...fault, field: `${field}.body.${fault.field}` }));
    return [{ condition, field, constraint: message || errorCatalogue[condition].message }];
  });
  if (faults.length === 0) return;
  const { faults: reported } = CatalogError.ofFaults(faults);
  throw new CatalogError('field_invalid', { faults: reported });
}

/** Returns the body of the answer: the result of each item, and how many items have each result. */
function summaryOf(
  items: readonly PublicationBatchItem[],
  outcomes: readonly Outcome[],
  dry_run: boolean,
): JsonObject {
  const counts = { created: 0, updated: 0, unchanged: 0, deleted: 0, failed: 0 };
  const shown = outcomes.map((outcome, index): JsonObject => {
    const { action, id, external_id } = items[index]!;
    const item = { index, action, ...(external_id !== undefined && { external_id }) };
    if (outcome instanceof CatalogError) {
      counts.failed += 1;
      return { ...item, ...(id !== undefined && { id }), error: errorBody(outcome).error! };
    }
    const data = outcome.data as {
      readonly id: string;
      readonly result?: 'created' | 'updated' | 'unchanged';
    };
    const of_update = outcome.changed ? 'updated' : 'unchanged';
    const result = { create: 'created', update: of_update, put: data.result!, delete: 'deleted' } as const;
    counts[result[action]] += 1;
    // A dry run makes up the id of a new publication.
    const has_id = !dry_run || result[action] !== 'created';
    return { ...item, ...(has_id && { id: data.id }), result: result[action] };
  });
  return { dry_run, ...counts, items: shown as readonly JsonValue[] as JsonValue[] };
}
