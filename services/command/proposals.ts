import { errorBody, errorCatalogue } from '../../shared/api/error-catalogue';
import { type ApiOperation, permissionsFor } from '../../shared/api/operations/operation';
import { proposalRule, writes } from '../../shared/api/operations/writes';
import { batchQuerySchema, rejectionBody } from '../../shared/api/requests/writes';
import { keyStatus } from '../../shared/catalog/api-key/api-key';
import { type JsonObject, streamName } from '../../shared/catalog/events/envelope';
import {
  type Proposal,
  type ProposalCommand,
  type ProposalResult,
  proposalAggregate,
  proposalResource,
} from '../../shared/catalog/proposal/proposal';
import { requirePermissions } from '../../shared/http/auth';
import type { Principal } from '../../shared/http/request';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { deriveId, type ProposalId, type StoreId } from '../../shared/kernel/ids';
import { load, streamIn } from '../../shared/ports/stream-state';
import { readApiKey } from './api-key';
import { dryRun, storesWrittenIn } from './dry-run';
import { execute, executeOn, idForNew, type Written, withResource } from './execute';
import type { KeyDeps } from './keys';
import {
  ActiveStores,
  answerTo,
  guardFor,
  type RouteDeps,
  readView,
  storeForNew,
  writeContextOf,
} from './request';
import { commandRoutes } from './routes';
import { serialiseByStream } from './write-queue';

/** The most bytes of a body that is stored, and of a result. An event with it fits into one append. */
const STORED_BYTES_MAX = 262_144;
/** The most proposals of a key that wait in a store. Requests at the same time may exceed it. */
const WAITING_MAX = 100;

export type ProposalDeps = Parameters<typeof commandRoutes>[0];

/** Returns the store of the import that a request names, and the body of a proposed step. Throws `import_not_found`. */
export type ProposedImport = (
  request: ApiRequest,
) => Promise<{ readonly store_id: StoreId; readonly body: JsonObject }>;

/**
 * Returns the routes of writes and the routes of proposals. A write with a key that needs confirmation is stored as a proposal
 * or, if `proposalRule` says so, refused. A dry run and a preview are carried out.
 */
export function withProposals(
  deps: ProposalDeps,
  routes: readonly Route[],
  proposedImport: ProposedImport,
): Route[] {
  const proposals = new Proposals(deps, routes, proposedImport);
  return [...routes, ...proposals.routes()].map((route) => proposals.inFrontOf(route));
}

const operationOf = new Map<string, ApiOperation>(
  Object.values(writes).map((operation) => [`${operation.method} ${operation.path}`, operation]),
);
const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

class Proposals {
  private readonly deps: RouteDeps & KeyDeps;
  private readonly by_name: ReadonlyMap<string, Route>;

  constructor(
    private readonly options: ProposalDeps,
    routes: readonly Route[],
    private readonly proposedImport: ProposedImport,
  ) {
    this.deps = { ...options, stores: new ActiveStores(options) };
    this.by_name = new Map(routes.map((route) => [nameOf(route), route]));
  }

  /** Returns the route, which proposes or refuses a write with a key that needs confirmation. */
  inFrontOf(route: Route): Route {
    const operation = operationOf.get(nameOf(route))!;
    const rule = proposalRule(operation);
    if (rule === 'done') return route;
    const assertNotRefused = ({ needs_confirmation }: Principal): void => {
      if (needs_confirmation && rule === 'refused') throw refused(operation);
    };
    const handler: Route['handler'] = async (request) => {
      assertNotRefused(request.principal);
      const is_proposed = request.principal.needs_confirmation && !isDryRun(operation, request);
      return is_proposed ? this.propose(route, operation, request) : route.handler(request);
    };
    const { upload } = route;
    if (!upload) return { ...route, handler };
    const keep: typeof upload.keep = async (principal, ...file) => {
      // A refused file is not received.
      assertNotRefused(principal);
      return upload.keep(principal, ...file);
    };
    return { ...route, handler, upload: { ...upload, keep } };
  }

  routes(): Route[] {
    return [
      routeOf(writes.confirmProposal, (request) => this.confirm(request)),
      routeOf(writes.rejectProposal, (request) => this.reject(request)),
    ];
  }

  /**
   * Checks a write in a dry run, and stores it. Throws what the write throws. If it would change nothing, returns its answer
   * instead.
   */
  private async propose(route: Route, operation: ApiOperation, request: ApiRequest): Promise<Answer> {
    const { principal, params, query, run = null } = request;
    const { environment, api_key_id } = principal;
    if (bytesOf(request.body) > STORED_BYTES_MAX)
      throw new CatalogError('too_large', {
        message: `A write that needs confirmation has at most ${STORED_BYTES_MAX} bytes; send smaller batches`,
      });
    const { answer, store_id, body = request.body } = await this.check(route, operation, request);
    if (store_id === undefined) return answer;
    const where = { store_id, api_key_id, status: 'waiting', expires_ms: { gte: this.deps.system.now() } };
    const count = await readView(this.deps, environment, (version) => version.count('proposals', where));
    if ((count ?? 0) >= WAITING_MAX)
      throw new CatalogError('proposal_refused', {
        message: `${WAITING_MAX} writes of the key wait for confirmation. Confirm or reject some first.`,
      });
    const parameters = Object.fromEntries(
      Object.entries(query).map(([name, values]) => [name, [...(values ?? [])]]),
    );
    const context = writeContextOf(request);
    const { id, loaded } = await idForNew(this.deps, environment, proposalAggregate, context);
    const command: ProposalCommand = {
      type: 'Make',
      proposal: {
        ...{ store_id, api_key_id, operation: operation.id, method: route.method },
        ...{ path: pathOf(route, params, parameters), params: { ...params }, query: parameters, body },
        ...{ if_match: request.header('if-match') ?? null, run, summary: summaryOf(operation, answer) },
      },
    };
    const ref = streamIn(this.deps, environment, proposalAggregate, id);
    const written = withResource<Proposal>(
      await execute<Proposal, ProposalCommand>({ ...ref, context, loaded, prepare: () => ({ command }) }),
    );
    const { data, headers } = await this.answer(request, written);
    return { status: 202, data, headers: { ...headers, Location: `/api/proposal/${id}` } };
  }

  /**
   * Returns the answer to a write in a dry run, and the store that it would change, undefined if it would change none. `body`
   * replaces the body of the request.
   */
  private async check(
    route: Route,
    { id, tag }: ApiOperation,
    { operation: _, ...request }: ApiRequest,
  ): Promise<{
    readonly answer: Answer;
    readonly store_id: StoreId | undefined;
    readonly body?: JsonObject;
  }> {
    // The steps of an import have no dry run but its preview.
    if (tag === 'Imports') return { answer: { data: {} }, ...(await this.proposedImport(request)) };
    const header: ApiRequest['header'] = (name) =>
      name === 'prefer' ? 'respond-async' : request.header(name);
    const checked: ApiRequest = { ...request, header, onNames: () => {} };
    if (id === writes.undoRun.id) {
      const answer = await route.handler({ ...checked, body: { ...request.body, dry_run: true } });
      return { answer, store_id: storeForNew(request, undefined) };
    }
    const { environment } = request.principal;
    const deps = dryRun(this.options, environment);
    const { handler } = commandRoutes(deps).find((other) => nameOf(other) === nameOf(route))!;
    const answer = await handler(checked);
    const [store_id] = storesWrittenIn(deps.events[environment]);
    return { answer, store_id: store_id as StoreId | undefined };
  }

  /**
   * Handles `POST /api/proposal/:id/confirm`. A proposal that was confirmed without a result is carried out again, which
   * changes nothing twice: all runs of the write are one operation.
   */
  private async confirm(request: ApiRequest): Promise<Answer> {
    const { principal } = request;
    const { environment } = principal;
    const id = request.params.id as ProposalId;
    const route = await this.assertMayDecide(request, { needs_working_key: true });
    // Confirmations at the same time take turns: the first one carries the write out, the others find its result.
    const turn = streamName(environment, 'proposal', `turn-${id}`);
    return serialiseByStream(this.deps.events[environment], turn, async () => {
      const decided_by = principal.api_key_id;
      const confirmed = await this.write(request, {
        ...{ type: 'Confirm', decided_by, now_ms: this.deps.system.now() },
      });
      if (confirmed.value.result) return this.answer(request, confirmed);
      const result = await this.carryOut(route, request, confirmed.value).catch(async (error: unknown) => {
        if (isPassing(error)) await this.write(request, { type: 'Reopen' });
        throw error;
      });
      return this.answer(request, await this.write(request, { type: 'RecordResult', result }));
    });
  }

  /** Handles `POST /api/proposal/:id/reject`. */
  private async reject(request: ApiRequest): Promise<Answer> {
    const { reason = null } = parseBody(rejectionBody, request.body);
    await this.assertMayDecide(request, { needs_working_key: false });
    const decided_by = request.principal.api_key_id;
    const command = { type: 'Reject', decided_by, reason, now_ms: this.deps.system.now() } as const;
    return this.answer(request, await this.write(request, command));
  }

  /**
   * Returns the route of the proposed write. Throws `proposal_not_found`, `insufficient_permissions` if the key of the request
   * may not make the write itself, and with `needs_working_key`, `proposal_refused` if the key that has proposed it does not
   * work any more.
   */
  private async assertMayDecide(
    request: ApiRequest,
    { needs_working_key }: { readonly needs_working_key: boolean },
  ): Promise<Route> {
    const { deps } = this;
    const guard = guardFor(request, deps.stores, 'proposal_not_found');
    const id = request.params.id as ProposalId;
    const { state } = await load<Proposal>(
      streamIn(deps, request.principal.environment, proposalAggregate, id),
    );
    if (state.tag !== 'present') throw new CatalogError('proposal_not_found');
    const { store_id, operation: name, status, result, api_key_id } = state.resource;
    await guard({ store_id });
    const operation = Object.values<ApiOperation>(writes).find((one) => one.id === name);
    const route = operation && this.by_name.get(nameOf(operation));
    if (!route) throw new CatalogError('proposal_refused', { message: `Unknown operation ${name}` });
    requirePermissions(request, permissionsFor(operation));
    if (!needs_working_key || result || status === 'rejected') return route;
    const is_working = keyStatus(await readApiKey(deps, api_key_id), deps.system.now()) === 'active';
    if (!is_working)
      throw new CatalogError('proposal_refused', {
        message: 'The key that has proposed the write does not work any more',
      });
    return route;
  }

  /**
   * Carries the write out, in the name of the key that has proposed it, with the permissions that both keys have. Returns its
   * answer or its refusal. Throws errors after which the proposal can be confirmed again.
   */
  private async carryOut(route: Route, request: ApiRequest, proposal: Proposal): Promise<ProposalResult> {
    const { principal } = request;
    const { id, params, query, body, if_match, run, created_at } = proposal;
    const key = await readApiKey(this.deps, proposal.api_key_id);
    const started_at_ms = Date.parse(created_at);
    const operation_id = deriveId(started_at_ms, 'proposal', id);
    const proposer: Principal = {
      ...{ api_key_id: key.id, account_id: key.account_id, key_type: key.type, environment: key.environment },
      stores: key.stores.filter((store_id) => principal.stores.includes(store_id)),
      permissions: key.permissions.filter((permission) => principal.permissions.includes(permission)),
    };
    try {
      const answer = await route.handler({
        ...{ ...request, method: route.method, principal: proposer, params, query },
        body: body as JsonObject,
        request_id: `proposal-${id}`,
        run: run ?? undefined,
        operation: { id: operation_id, idempotency_key: `proposal-${id}`, started_at_ms, resumed: true },
        header: (name) => (name === 'if-match' ? (if_match ?? undefined) : request.header(name)),
      });
      const data = JSON.parse(JSON.stringify(answer.data)) as JsonObject;
      return { status: answer.status ?? 200, ...(bytesOf(data) <= STORED_BYTES_MAX && { data }) };
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      const { status } = errorCatalogue[error.condition];
      if (status >= 500 || isPassing(error) || error.condition === 'lost_race') throw error;
      return { status, error: errorBody(error).error as JsonObject };
    }
  }

  private write(request: ApiRequest, command: ProposalCommand): Promise<Written<Proposal>> {
    const { environment } = request.principal;
    const ref = streamIn(this.deps, environment, proposalAggregate, request.params.id as ProposalId);
    // A repetition changes nothing, so it needs no operation.
    const { operation: _, ...context } = writeContextOf(request);
    return executeOn(ref, context, command);
  }

  private answer(request: ApiRequest, written: Written<Proposal>) {
    return answerTo(this.deps, request, written, (one) => proposalResource(one, this.deps.system.now()));
  }
}

/** Statuses of refusals that come before a write has changed anything: another person, or a later request, may succeed. */
const PASSING: ReadonlySet<number> = new Set([401, 403, 429]);

/** Returns whether the proposal waits again after the error. */
const isPassing = (error: unknown): boolean =>
  error instanceof CatalogError &&
  (error.condition === 'import_refused' || PASSING.has(errorCatalogue[error.condition].status));

const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

/** Returns whether a request only asks what a write would do. Only a batch and an undo have the parameter `dry_run`. */
function isDryRun({ id }: ApiOperation, { query, body }: ApiRequest): boolean {
  if (id === writes.batchPublications.id) return parseQuery(batchQuerySchema, query).dry_run === true;
  return id === writes.undoRun.id && body.dry_run === true;
}

const refused = ({ tag, summary }: ApiOperation): CatalogError => {
  const what = tag === 'Media' ? 'upload files' : `do this (${summary})`;
  const message = `A key that needs confirmation may not ${what}`;
  return new CatalogError('insufficient_permissions', { message });
};

function pathOf(
  { path }: Route,
  params: ApiRequest['params'],
  query: Readonly<Record<string, readonly string[]>>,
): string {
  const address = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const pairs = Object.entries(query).flatMap(([name, values]) => values.map((value) => [name, value]));
  return pairs.length === 0 ? address : `${address}?${new URLSearchParams(pairs)}`;
}

const SUMMARY_COUNTS = ['created', 'updated', 'deleted', 'failed', 'reverted', 'restored'];

/** Returns a line for people, such as `Update a publication: Green tea` or `Write many publications: 40 updated`. */
function summaryOf({ summary }: ApiOperation, { data }: Answer): string {
  const { title, name, ...others } = data as JsonObject;
  const counts = SUMMARY_COUNTS.filter((each) => typeof others[each] === 'number' && others[each] > 0);
  const about = title ?? name ?? counts.map((each) => `${others[each]} ${each}`).join(', ');
  return about ? `${summary}: ${about}` : summary;
}
