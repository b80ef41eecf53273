import type { z } from 'zod';
import type { ApiOperation } from '../../shared/api/operations/operation';
import { externalIdPath } from '../../shared/api/requests/writes';
import type { Aggregate } from '../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { Changes, Fields, Input } from '../../shared/catalog/fields';
import type { Environment } from '../../shared/catalog/realm';
import type { Translated } from '../../shared/catalog/translations';
import type { Visibility } from '../../shared/catalog/vocabulary';
import { assertIfMatch } from '../../shared/http/respond';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { CatalogError, invalidField } from '../../shared/kernel/errors';
import type { AnyId, StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { streamIn } from '../../shared/ports/stream-state';
import type { StoreIdentity } from './derived-ids';
import { executeOn, type StoreDeps, type Written } from './execute';
import { assertSameStore, checkTranslations } from './references';
import {
  answerTo,
  awaitProjection,
  guardFor,
  type RouteDeps,
  readView,
  storeForNew,
  writeContextOf,
} from './request';
import {
  type CommandsDefinition,
  type Content,
  deleteResource,
  type MediaResource,
  ResourceCommands,
  type WrittenResource,
  withOutcome,
} from './resource-commands';

/**
 * Defines the writes of a resource with declared fields, a visibility and media
 * (docs/howto/add-an-endpoint.md#an-aggregate): its commands (`resource-commands.ts`), its names (`resource-names.ts`),
 * and the routes of POST, PATCH, PUT and DELETE.
 */
export function defineResource<
  F extends Fields,
  Resource extends ShownResource,
  New extends Input<F> & Content,
  Patch extends Changes<F> & Content,
  Counts,
>(definition: RoutesDefinition<F, Resource, New, Patch, Counts>) {
  const commands = new ResourceCommands<F, Resource, New, Patch>(definition);
  const { create, update, put, remove, restore, addMedia, find, names } = commands;
  const { routes, answerAfter } = new ResourceRoutes(definition, commands);
  return { create, update, put, remove, restore, addMedia, find, names, routes, answerAfter };
}

/** How often a put looks for the resource of an external id. */
const PUT_ATTEMPTS = 3;

/** What `ResourceRoutes` needs of a kind of resource. */
interface RoutesDefinition<F extends Fields, Resource extends ShownResource, New, Patch, Counts>
  extends CommandsDefinition<F, Resource, Patch> {
  /** The bodies of POST and PATCH. */
  readonly body: z.ZodType<New>;
  readonly patch: z.ZodType<Patch>;
  readonly operations: Readonly<
    Record<'create' | 'update' | 'put' | 'delete' | 'deleteExternal' | 'restore', ApiOperation>
  >;
  /** Returns the counts that only documents contain. Those of a new resource if there is no document yet. */
  count(version: DocumentReader, id: Resource['id']): Promise<Counts>;
  readonly counts_of_new: Counts;
  /** Returns the resource as an answer shows it. Without `counts`, it has no `stats`. */
  present(
    deps: StoreDeps,
    environment: Environment,
    resource: Resource,
    counts?: Counts,
  ): Promise<JsonObject>;
  /** Throws if the request must not patch the resource. */
  readonly beforeUpdate?: (
    deps: RouteDeps,
    request: ApiRequest,
    resource: Resource,
    patch: Patch,
  ) => Promise<void>;
  readonly beforeDelete?: BeforeDelete<Resource['id']>;
}

type ShownResource = MediaResource & { readonly visibility: Visibility };

/** Throws if the resource must not be deleted. Returns further fields of the answer. */
type BeforeDelete<Id> = (deps: RouteDeps, request: ApiRequest, id: Id) => Promise<JsonObject>;

/** The routes of POST, PATCH, PUT, DELETE and of the restoring of a resource. */
class ResourceRoutes<
  F extends Fields,
  Resource extends ShownResource,
  New extends Input<F> & Content,
  Patch extends Changes<F> & Content,
  Counts,
> {
  constructor(
    private readonly definition: RoutesDefinition<F, Resource, New, Patch, Counts>,
    private readonly commands: ResourceCommands<F, Resource, New, Patch>,
  ) {}

  readonly routes = (deps: RouteDeps): Route[] => {
    const { operations, aggregate, beforeDelete } = this.definition;
    const deletion = deletionRoute(deps, operations.delete, aggregate, beforeDelete);
    return [
      routeOf(operations.create, (request) => this.create(deps, request)),
      routeOf(operations.update, (request) => this.update(deps, request)),
      routeOf(operations.put, (request) => this.put(deps, request)),
      deletion,
      routeOf(operations.deleteExternal, async (request) =>
        deletion.handler({ ...request, params: { id: await this.idOfPath(deps, request) } }),
      ),
      routeOf(operations.restore, (request) => this.restore(deps, request)),
    ];
  };

  /** Returns the answer with the resource as it is after the write, and with the counts of its document. */
  readonly answerAfter = (deps: RouteDeps, request: ApiRequest, written: Written<Resource>) =>
    answerTo(deps, request, written, async (resource) => {
      if (request.is_item) return { id: resource.id };
      const { environment } = request.principal;
      const { count, present } = this.definition;
      const counted = await readView(deps, environment, (version) => count(version, resource.id));
      return present(deps, environment, resource, counted);
    });

  private async create(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const { aggregate, body, present, counts_of_new } = this.definition;
    const context = writeContextOf(request);
    const input = parseBody(body, request.body);
    const store_id = storeForNew(request, input.store_id);
    const { environment } = request.principal;
    const guard = () => deps.stores.require(environment, store_id);
    const written = await this.commands.create(deps, context, { environment, store_id, guard }, input);
    const { id, visibility } = written.value;
    const path = `/api/${aggregate.category}/${id}`;
    // Reads return a private resource only with `visibility` (docs/interface/reads.md#visibility).
    const location = visibility === 'private' ? `${path}?visibility=all` : path;
    const dataOf = (resource: Resource) =>
      request.is_item ? { id } : present(deps, environment, resource, counts_of_new);
    return answerTo(deps, request, written, dataOf, location);
  }

  private async update(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const { aggregate, beforeUpdate, patch } = this.definition;
    const context = writeContextOf(request);
    const target = targetOf(deps, request, aggregate);
    const changes = parseBody(patch, request.body);
    const guard = async (resource: Resource): Promise<void> => {
      await target.guard(resource);
      await beforeUpdate?.(deps, request, resource, changes);
    };
    const written = await this.commands.update(deps, context, { ...target, guard }, changes);
    return { ...(await this.answerAfter(deps, request, written)), changed: written.changed };
  }

  private async put(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const { environment } = request.principal;
    const external_id = externalIdOf(request);
    const changes = parseBody(this.definition.patch, request.body);
    if ((changes.external_id ?? external_id) !== external_id)
      throw CatalogError.ofFaults([invalidField('external_id', 'the external id in the path')]);
    const store = await deps.stores.require(environment, storeForNew(request, changes.store_id));
    const written = await this.putExternal(deps, request, store, { ...changes, external_id });
    const { outcome } = written;
    const answer = await this.answerAfter(deps, request, written);
    const status = outcome === 'created' ? 201 : 200;
    return { ...answer, status, data: { ...answer.data, result: outcome } };
  }

  /**
   * Creates or patches the resource with an external id. Looks for the resource again if it was deleted meanwhile, or if
   * another resource was faster to take the external id.
   */
  private async putExternal(
    deps: RouteDeps,
    request: ApiRequest,
    store: StoreIdentity,
    changes: Patch & { readonly external_id: string },
  ): Promise<WrittenResource<Resource>> {
    const { aggregate, body, beforeUpdate } = this.definition;
    const { environment } = request.principal;
    const { external_id } = changes;
    const context = writeContextOf(request);
    const guard = async (before: Resource | undefined): Promise<void> => {
      assertIfMatch(request.header('if-match'), before?.version);
      if (before) await beforeUpdate?.(deps, request, before, changes);
    };
    const write = async (): Promise<WrittenResource<Resource>> => {
      const { names } = this.commands;
      const found = await names.idOfExternal(deps, environment, store, external_id, request.operation);
      const { id, is_new, loaded } = found;
      const target = { environment, id, loaded, guard };
      if (!is_new) return withOutcome(await this.commands.update(deps, context, target, changes));
      const input = { ...parseBody(body, request.body), external_id };
      const of_new = { ...target, store_id: store.id, makes_handle: true };
      const written = await this.commands.put(deps, context, of_new, input);
      if (written.outcome === 'deleted') throw new CatalogError(aggregate.not_found);
      return written;
    };
    for (let attempt = 1; ; attempt++) {
      try {
        return await write();
      } catch (error) {
        const condition = error instanceof CatalogError ? error.condition : undefined;
        const was_deleted = condition === aggregate.not_found;
        if (!was_deleted && condition !== 'name_taken') throw error;
        if (attempt === PUT_ATTEMPTS) throw was_deleted ? new CatalogError('lost_race') : error;
      }
    }
  }

  /** Returns the id of the resource with the external id in the path. Throws `not_found` if there is none. */
  private async idOfPath(deps: RouteDeps, request: ApiRequest): Promise<Resource['id']> {
    const { environment } = request.principal;
    const external_id = externalIdOf(request);
    const store = await deps.stores.require(environment, storeForNew(request, undefined));
    const { names } = this.commands;
    const { id, is_new } = await names.idOfExternal(deps, environment, store, external_id, request.operation);
    if (is_new) throw new CatalogError(this.definition.aggregate.not_found);
    return id;
  }

  private async restore(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const target = targetOf(deps, request, this.definition.aggregate);
    const written = await this.commands.restore(deps, writeContextOf(request), target);
    return this.answerAfter(deps, request, written);
  }
}

const externalIdOf = ({ params }: ApiRequest): string =>
  parseBody(externalIdPath, { external_id: params.external_id ?? '' }).external_id;

type Stored = { readonly store_id: StoreId; readonly version: number };

/** Returns the route of a DELETE. */
export function deletionRoute<Resource extends Stored, Id extends AnyId>(
  deps: RouteDeps,
  operation: ApiOperation,
  aggregate: Aggregate<Resource, DomainEvent, Id, { readonly type: 'Delete' }>,
  beforeDelete?: BeforeDelete<Id>,
): Route {
  return routeOf(operation, async (request) => {
    const target = targetOf(deps, request, aggregate);
    const { id } = target;
    // An invalid query is reported before the resource is loaded.
    if (operation.query) parseQuery(operation.query, request.query);
    let further: JsonObject | undefined;
    const guard = async (resource: Resource): Promise<void> => {
      await target.guard(resource);
      further = await beforeDelete?.(deps, request, id);
    };
    const written = await deleteResource(deps, writeContextOf(request), aggregate, { ...target, guard });
    const headers = await awaitProjection(deps, request, written.value, written);
    return { data: { id, object: aggregate.category, deleted: true, ...further }, headers };
  });
}

/** Returns the route of a PATCH of a resource without references. */
export function patchRoute<
  Resource extends Stored & { readonly id: Id },
  Id extends AnyId,
  Changes extends Translated & { readonly store_id?: string | undefined },
>(
  deps: RouteDeps,
  operation: ApiOperation,
  aggregate: Aggregate<
    Resource,
    DomainEvent,
    Id,
    { readonly type: 'Update'; readonly changes: NoInfer<Changes> }
  >,
  body: z.ZodType<Changes>,
  present: (resource: Resource, environment: Environment) => JsonObject,
): Route {
  return routeOf(operation, async (request) => {
    const { environment, id, guard } = targetOf(deps, request, aggregate);
    const changes = parseBody(body, request.body);
    const ref = streamIn(deps, environment, aggregate, id);
    const command = { type: 'Update', changes } as const;
    const written = await executeOn(ref, writeContextOf(request), command, async (resource) => {
      await guard(resource);
      assertSameStore(resource.store_id, changes.store_id);
      await checkTranslations(deps, environment, resource.store_id, changes, resource);
    });
    return answerTo(deps, request, written, (resource) => present(resource, environment));
  });
}

/** Returns where the write goes: the environment, the id in the path, and the guard. */
function targetOf<Resource, Id extends AnyId>(
  deps: RouteDeps,
  request: ApiRequest,
  { not_found }: Pick<Aggregate<Resource, DomainEvent, Id, never>, 'not_found' | 'evolve'>,
) {
  return {
    environment: request.principal.environment,
    id: request.params.id as Id,
    guard: guardFor(request, deps.stores, not_found),
  };
}
