import { errorBody, errorCatalogue } from '../../shared/api/error-catalogue';
import type { ApiOperation } from '../../shared/api/operations/operation';
import { writes } from '../../shared/api/operations/writes';
import {
  batchQuerySchema,
  type PublicationBatch,
  type PublicationBatchItem,
  publicationBatchBody,
} from '../../shared/api/requests/writes';
import { present, type State } from '../../shared/catalog/events/aggregate';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { storeAggregate } from '../../shared/catalog/store/store';
import { type Answer, type ApiRequest, type NameToGet, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { allEnded, longTurn, Semaphore } from '../../shared/kernel/async';
import { CatalogError, type Fault, invalidField } from '../../shared/kernel/errors';
import { deriveId, timeOfId } from '../../shared/kernel/ids';
import { load, streamIn } from '../../shared/ports/stream-state';
import type { StoreIdentity } from './derived-ids';
import { dryRun } from './dry-run';
import { listings } from './listing';
import { nameTaken } from './names';
import { publicationPatchSchema, publications } from './publication';
import { awaitProjection, type RouteDeps, storeForNew } from './request';

/** The answer to an item, or its error. */
type Outcome = Answer | CatalogError;
type Outcomes = Readonly<Record<'listings' | 'items', readonly Outcome[]>>;

/** What a batch needs of the body of an answer. Only a put has a `result`. */
interface WrittenData {
  readonly id: string;
  readonly result?: 'created' | 'updated' | 'unchanged';
}
const dataOf = ({ data }: Answer): WrittenData => data as object as WrittenData;

const { createPublication, updatePublication, putPublication, deletePublication } = writes;
const OPERATIONS = {
  create: createPublication,
  update: updatePublication,
  put: putPublication,
  delete: deletePublication,
};

/** Items that are carried out at the same time, so that they share commits of the log. */
const AT_ONCE = 32;
/** Time in which the items that have begun end, and in which the answer is made. */
const END_MS = 1_000;
/** The outcome of an item for which no time is left. */
const NOT_BEGUN = new CatalogError('too_large', {
  message: 'Not written, because the batch takes too long; send it in smaller batches',
});

/**
 * Returns the route of `POST /api/publications/batch`. Each item is a request to the route of its action, which does not
 * wait for the projection. A dry run carries out the same requests with `dryRun`, so both check the same.
 */
export function batchRoute(deps: RouteDeps): Route {
  return routeOf(writes.batchPublications, async (request) => {
    const { on_error, dry_run = false } = parseQuery(batchQuerySchema, request.query);
    const batch = parseBody(publicationBatchBody, request.body);
    await request.admitItems?.(batch.items.length + (batch.listings?.length ?? 0));
    const { environment } = request.principal;
    const store_id = storeForNew(request, undefined);
    const identity = await deps.stores.require(environment, store_id);
    const store = await load(streamIn(deps, environment, storeAggregate, store_id));
    const in_store = { ...request, query: { ...request.query, store_id: [store_id] } };
    const end_ms = request.answer_by_ms - END_MS;
    if (on_error === 'reject_all' && !dry_run) {
      // Writing takes as long as checking.
      const check_end_ms = (performance.now() + end_ms) / 2;
      assertValid(await runBatch(deps, in_store, identity, batch, true, check_end_ms));
    }
    const outcomes = await runBatch(deps, in_store, identity, batch, dry_run, end_ms);
    const headers = [...outcomes.listings, ...outcomes.items].flatMap((one) =>
      one instanceof CatalogError ? [] : [one.headers!],
    );
    // The positions of a dry run are not in the log.
    const positions = dry_run ? [] : headers.map((one) => BigInt(one['X-Catalog-Position']!));
    const written = {
      position: greatest([store.position, ...positions]),
      repeated: headers.some((one) => 'Idempotent-Replayed' in one),
    };
    return {
      data: summaryOf(batch, outcomes, dry_run),
      headers: await awaitProjection(deps, request, store_id, written),
    };
  });
}

type Handlers = ReadonlyMap<string, Route['handler']>;

/** Returns the handlers of the items, by method and path. */
const handlersOf = (deps: RouteDeps): Handlers =>
  new Map(
    [...publications.routes(deps), ...listings.routes(deps)].map((route) => [
      `${route.method} ${route.path}`,
      route.handler,
    ]),
  );

/**
 * Carries out one listing after the other, then the items. With `dry_run`, nothing is written. Rejects with the first server
 * error after all have ended. Items that have not begun at `until_ms` fail with `too_large`. Rejects with it if nothing was
 * written.
 */
async function runBatch(
  runtime: RouteDeps,
  sent: ApiRequest,
  store: StoreIdentity,
  batch: PublicationBatch,
  dry_run: boolean,
  until_ms: number,
): Promise<Outcomes> {
  const { environment } = sent.principal;
  const deps = dry_run ? dryRun(runtime, environment) : runtime;
  const request = dry_run ? withoutRecord(sent) : sent;
  const handlers = handlersOf(deps);
  const of_listings: Outcome[] = [];
  for (const [index, listing] of (batch.listings ?? []).entries()) {
    const put = () => requestOf(request, listing, `listing ${index}`);
    of_listings.push(await send(handlers, writes.putListing, put));
  }
  const ids = await listingIds(deps, environment, store, batch, of_listings);
  const sendItem = (
    to: Handlers,
    request: ApiRequest,
    item: PublicationBatchItem,
    index: number,
  ): Promise<Outcome> =>
    send(to, OPERATIONS[item.action], () => requestOf(request, inListing(item, ids), String(index)));
  const names: (readonly NameToGet[])[] = [];
  /** Checks an item, and notes in `names` which names it would get. Other items do not see what it would write. */
  const check = (planned: Planned, item: PublicationBatchItem, index: number): Promise<Outcome> => {
    const onNames = (of_item: readonly NameToGet[]) => {
      names[index] = of_item;
    };
    const checked = { ...withoutRecord(request), planned, onNames };
    return sendItem(handlersOf(dryRun(deps, environment)), checked, item, index);
  };
  const planOf = plannedBy(batch.items);
  const always = planOf(async () => true);
  const planned = planOf(
    async (item, index) => !((await check(always, item, index)) instanceof CatalogError),
  );
  const carryOut = async (item: PublicationBatchItem, index: number): Promise<Outcome> => {
    const turn = longTurn();
    if (turn) await turn;
    if (performance.now() > until_ms) return NOT_BEGUN;
    return dry_run ? check(planned, item, index) : sendItem(handlers, { ...request, planned }, item, index);
  };
  const slots = new Semaphore(AT_ONCE);
  const items = await allEnded(batch.items.map((item, index) => slots.run(() => carryOut(item, index))));
  const may_be_written = !dry_run && (of_listings.length > 0 || items[0] !== NOT_BEGUN);
  if (!may_be_written && items.includes(NOT_BEGUN)) throw NOT_BEGUN;
  return { listings: of_listings, items: dry_run ? withoutNamesTwice(items, names) : items };
}

/** Returns the outcomes of checked items. An item that would get a name of an earlier valid item has failed. */
function withoutNamesTwice(
  outcomes: readonly Outcome[],
  names: readonly (readonly NameToGet[])[],
): readonly Outcome[] {
  const taken = new Set<string>();
  return outcomes.map((outcome, index) => {
    if (outcome instanceof CatalogError) return outcome;
    const own = names[index] ?? [];
    const repeated = own.find(({ id }) => taken.has(id));
    if (repeated) return nameTaken(repeated.at);
    for (const { id } of own) taken.add(id);
    return outcome;
  });
}

/**
 * Returns the ids of the listings that the batch has put, and of the listings that its items name, by external id. A listing
 * that does not exist or failed is not in the map.
 */
async function listingIds(
  deps: RouteDeps,
  environment: Environment,
  store: StoreIdentity,
  { listings: sent = [], items }: PublicationBatch,
  outcomes: readonly Outcome[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  for (const [index, outcome] of outcomes.entries())
    if (!(outcome instanceof CatalogError)) ids.set(sent[index]!.external_id, dataOf(outcome).id);
  const put = new Set(sent.map(({ external_id }) => external_id));
  for (const name of new Set(items.flatMap(({ listing_external_id }) => listing_external_id ?? []))) {
    if (put.has(name)) continue;
    const { id, is_new } = await listings.names.idOfExternal(deps, environment, store, name);
    if (!is_new) ids.set(name, id);
  }
  return ids;
}

/** Sends a request to a handler. Returns its answer, or the error unless the server has caused it. */
async function send(
  handlers: Handlers,
  { method, path }: ApiOperation,
  request: () => ApiRequest,
): Promise<Outcome> {
  try {
    return await handlers.get(`${method} ${path}`)!(request());
  } catch (error) {
    if (!(error instanceof CatalogError) || errorCatalogue[error.condition].status >= 500) throw error;
    return error;
  }
}

/** Returns the request as one that appends nothing: the record of its operation stays as it is. */
function withoutRecord({ operation, ...request }: ApiRequest): ApiRequest {
  if (!operation) return request;
  const { onAppended: _, ...known } = operation;
  return { ...request, operation: known };
}

/** Returns the item with the id of the listing that it names by external id. Throws `field_invalid` if there is none. */
function inListing(item: PublicationBatchItem, ids: ReadonlyMap<string, string>): PublicationBatchItem {
  const { listing_external_id: name, body } = item;
  if (name === undefined) return item;
  const listing_id = ids.get(name);
  if (listing_id === undefined)
    throw CatalogError.ofFaults([invalidField('listing_external_id', 'the external id of a listing')]);
  return { ...item, body: { ...body, listing_id } };
}

type Planned = NonNullable<ApiRequest['planned']>;
type IsValid = (item: PublicationBatchItem, index: number) => Promise<boolean>;

/**
 * Predicts publications for `ApiRequest.planned`, so that publications of one batch can exchange their names. The result
 * returns how a publication looks after the item that writes it. It returns undefined if no item writes the publication,
 * or if `isValid` rejects the item. `isValid` is called once for each item.
 */
function plannedBy(items: readonly PublicationBatchItem[]) {
  // A new publication has no name here.
  const by_name = new Map<string | null, number>();
  for (const [index, { id, external_id }] of items.entries()) {
    const name = id ?? external_id;
    if (name !== undefined) by_name.set(name, index);
  }
  // A publication may have thousands of names, each of which asks for it.
  const known = new Map<string, object | undefined>();
  const afterItem = (before: Publication, item: PublicationBatchItem): object | undefined => {
    const version = `${before.id} ${before.version}`;
    if (!known.has(version)) known.set(version, publicationAfter(before, item));
    return known.get(version);
  };
  return (isValid: IsValid) => {
    const valid = new Map<number, Promise<boolean>>();
    return async (resource: object): Promise<object | undefined> => {
      const before = resource as Publication;
      const index = by_name.get(before.id) ?? by_name.get(before.external_id);
      const item = index === undefined ? undefined : items[index];
      const after = item && afterItem(before, item);
      if (!item || !after) return undefined;
      const is_valid = valid.get(index!) ?? isValid(item, index!);
      valid.set(index!, is_valid);
      return (await is_valid) ? after : undefined;
    };
  };
}

/** Returns the publication as the item leaves it, undefined if the item is not valid. A deleted one has no names. */
function publicationAfter(before: Publication, { action, body }: PublicationBatchItem): object | undefined {
  if (action === 'delete')
    return { ...before, external_id: null, handle: null, translations: null, variants: [] };
  const { success, data } = publicationPatchSchema.safeParse(body ?? {});
  if (!success) return undefined;
  const decision = publicationAggregate.decide(present(before), { type: 'Update', changes: data });
  if (!decision.ok) return undefined;
  const after = decision.events.reduce<State<Publication>>(
    (state, event) => publicationAggregate.evolve(state, event, before.id, before.updated_at),
    present(before),
  );
  return after.tag === 'present' ? after.resource : undefined;
}

/** Returns the request of an item. With an `Idempotency-Key`, each item is an operation of its own. */
function requestOf(
  request: ApiRequest,
  item: Pick<PublicationBatchItem, 'id' | 'external_id' | 'body'>,
  name: string,
): ApiRequest {
  const { id, external_id, body = {} } = item;
  const { operation } = request;
  const idOf = (of_batch: string): string => deriveId(timeOfId(of_batch), 'item', of_batch, name);
  return {
    ...request,
    is_item: true,
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
function assertValid(outcomes: Outcomes): void {
  const idOf = (outcome: Outcome): unknown =>
    outcome instanceof CatalogError ? outcome : (outcome.data as JsonObject).id;
  const ids = outcomes.items.map(idOf);
  const faultsIn = (list: keyof Outcomes) =>
    outcomes[list].flatMap((outcome, index) =>
      outcome instanceof CatalogError ? faultsOf(outcome, `${list}.${index}`) : [],
    );
  const repeated = ids.flatMap((id, index): Fault[] =>
    ids.indexOf(id) < index ? [invalidField(`items.${index}`, 'another publication')] : [],
  );
  const faults = [...faultsIn('listings'), ...faultsIn('items'), ...repeated];
  if (faults.length === 0) return;
  const { faults: reported } = CatalogError.ofFaults(faults);
  throw new CatalogError('field_invalid', { faults: reported });
}

function faultsOf({ condition, faults, message }: CatalogError, field: string): Fault[] {
  if (faults.length === 0)
    return [{ condition, field, constraint: message || errorCatalogue[condition].message }];
  return faults.map((fault) => {
    const parent = fault.field === 'listing_external_id' ? field : `${field}.body`;
    return { ...fault, field: `${parent}.${fault.field}` };
  });
}

/** Returns the body of the answer: the result of each listing and item, and how many items have each result. */
function summaryOf(
  { items, listings: sent }: PublicationBatch,
  outcomes: Outcomes,
  dry_run: boolean,
): JsonObject {
  const counts = { created: 0, updated: 0, unchanged: 0, deleted: 0, failed: 0 };
  const shown = items.map(({ action, id, external_id }, index): JsonObject => {
    const names = { ...(external_id !== undefined && { external_id }), ...(id !== undefined && { id }) };
    const result = resultOf(outcomes.items[index]!, action, dry_run);
    counts[result.result ?? 'failed'] += 1;
    return { index, action, ...names, ...result };
  });
  const listed = sent?.map(({ external_id }, index): JsonObject => {
    return { index, external_id, ...resultOf(outcomes.listings[index]!, 'put', dry_run) };
  });
  return { dry_run, ...counts, ...(listed && { listings: listed }), items: shown };
}

/** Returns what the summary shows of an outcome: its error, or its result and the id. */
function resultOf(outcome: Outcome, action: keyof typeof OPERATIONS, dry_run: boolean) {
  if (outcome instanceof CatalogError) return { error: errorBody(outcome).error! };
  const { id, result: of_put } = dataOf(outcome);
  const of_update = outcome.changed ? 'updated' : 'unchanged';
  const result = ({ create: 'created', update: of_update, put: of_put!, delete: 'deleted' } as const)[action];
  // A dry run makes up the id of a new resource.
  return dry_run && result === 'created' ? { result } : { id, result };
}
