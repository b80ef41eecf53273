import type { z } from 'zod';
import type { ApiOperation } from '../../shared/api/operations/operation';
import { externalIdPath } from '../../shared/api/requests/writes';
import type { Aggregate, State } from '../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import { type JsonObject, type StreamName, streamName } from '../../shared/catalog/events/envelope';
import type { FieldCommand, FieldResource } from '../../shared/catalog/field-aggregate';
import type { Changes, Fields, Input } from '../../shared/catalog/fields';
import type { Environment } from '../../shared/catalog/realm';
import type { Visibility } from '../../shared/catalog/vocabulary';
import { assertIfMatch } from '../../shared/http/respond';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { allEnded } from '../../shared/kernel/async';
import { CatalogError, type Fault } from '../../shared/kernel/errors';
import type { AnyId, MediaId, StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { Operation } from '../../shared/ports/idempotency-store';
import { findInLog, type Loaded, load, NOTHING_LOADED, streamIn } from '../../shared/ports/stream-state';
import { derivedIdOf, type StoreIdentity } from './derived-ids';
import {
  execute,
  executeOn,
  findEventOf,
  idForNew,
  type StoreDeps,
  type WriteContext,
  type Written,
  withResource,
} from './execute';
import {
  lookUpHandles,
  lookUpNames,
  type NameTaker,
  ownerOfName,
  reserveHandle,
  reserveNames,
  valueIn,
  type WantedName,
} from './names';
import {
  addedMedia,
  assertSameStore,
  checkReferences,
  omitUnchangedReferences,
  type References,
} from './references';
import {
  accessGuardFor,
  awaitProjection,
  guardFor,
  type RouteDeps,
  readCount,
  storeForNew,
  writeContextOf,
} from './request';
import { serialiseByStream } from './write-queue';

/** Where to create a resource. The caller must check that the store exists. */
export interface NewTarget<Id> {
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** Set if the caller derives the id; otherwise it is generated. */
  readonly id?: Id;
  /** Throws if the client must not create a resource. Not called for a write that an earlier run completed. */
  readonly guard?: () => unknown;
}

/** An existing resource. `guard` throws if the client must not write to the resource or to this version of it. */
export interface Target<Id, Resource> {
  readonly environment: Environment;
  readonly id: Id;
  readonly guard?: (resource: Resource) => void | Promise<void>;
}

/** Returns the changes to make in an existing resource instead of `changes`. Called in every attempt. */
type Revise<Resource, Input> = (before: Resource, changes: Input) => Promise<Input>;

/** A resource to create or to patch. */
interface PutTarget<Id, Resource, New> extends Omit<NewTarget<Id>, 'guard'> {
  readonly id: Id;
  /** Whether the resource probably does not exist. Saves reading its stream. */
  readonly is_probably_new?: boolean;
  /** The state of its stream if it was read before. */
  readonly loaded?: Loaded<Resource>;
  /** Whether a new resource without a handle gets one. */
  readonly makes_handle?: boolean;
  /** Throws if the client must not write to this version of the resource. Undefined: there is none yet. */
  readonly guard?: (before: Resource | undefined) => void | Promise<void>;
  readonly revise?: Revise<Resource, New>;
}

/** The result of a put. A deleted resource stays deleted; nothing is appended. */
export type PutResult<Resource> =
  | ({ readonly outcome: 'created' | 'updated' | 'unchanged' } & Written<Resource>)
  | { readonly outcome: 'deleted' };

/** How often a put looks for the resource of an external id. */
const PUT_ATTEMPTS = 3;

/** The names of a resource. */
interface Names {
  readonly external_id?: string | null | undefined;
  readonly handle?: string | null | undefined;
}

type Content = References & Names & { readonly store_id?: string | null | undefined };

interface Definition<F extends Fields, Resource, Event, Id extends AnyId, New, Patch, Counts> {
  readonly aggregate: Aggregate<Resource, Event, Id, FieldCommand<F>>;
  readonly fields: F;
  /** The bodies of POST and PATCH. */
  readonly body: z.ZodType<New>;
  readonly patch: z.ZodType<Patch>;
  /** The maximum number of media. */
  readonly media_max: number;
  readonly operations: Readonly<Record<'create' | 'update' | 'put' | 'delete', ApiOperation>> & {
    /** Set if the aggregate has an event that undoes a deletion. */
    readonly restore?: ApiOperation;
  };
  /** The kind of the ids that are derived from external ids. */
  readonly derived_kind: string;
  /** The field that a handle is made from. */
  readonly handle_from: keyof F & string;
  readonly parts?: NamedParts<Resource, FieldCommand<F>>;
  /** Returns what is wrong with the values together. `valueAfter` returns a value as it is after the write. */
  readonly faultsOf?: (valueAfter: (name: keyof F & string) => unknown) => readonly Fault[];
  /** Returns the counts that only documents contain. Those of a new resource if there is no document yet. */
  count(version: DocumentReader, id: Id): Promise<Counts>;
  readonly counts_of_new: Counts;
  /** Returns the resource as an answer shows it. Without `counts`, it has no `stats`. */
  present(
    deps: StoreDeps,
    environment: Environment,
    resource: Resource,
    counts?: Counts,
  ): Promise<JsonObject>;
  /** Throws if the deleted resource must not be restored. */
  readonly beforeRestore?: (deps: StoreDeps, environment: Environment, resource: Resource) => Promise<void>;
  /** Throws if the request must not patch the resource. */
  readonly beforeUpdate?: (
    deps: RouteDeps,
    request: ApiRequest,
    resource: Resource,
    patch: Patch,
  ) => Promise<void>;
  readonly beforeDelete?: BeforeDelete<Id>;
  /** Set if some changes must not be made at the same time in several resources of a store. */
  readonly turns?: {
    readonly areNeeded: (changes: object) => boolean;
    /** Called before the references are checked, also if no turn is needed. */
    readonly take: (
      deps: StoreDeps,
      context: WriteContext,
      environment: Environment,
      before: Resource,
      changes: object,
    ) => Promise<void>;
  };
}

/** Parts of a resource that have names of their own, such as the SKUs of variants. */
interface NamedParts<Resource, Command> {
  /** Whether the write may add such a name. */
  readonly areIn: (changes: object) => boolean;
  /** Returns the names that the write adds. */
  readonly namesIn: (
    store_id: StoreId,
    changes: object,
    before: Resource | undefined,
  ) => WantedName<Resource, Command>[];
}

/** The changes of a write whose names were looked up. */
interface LookedUpChanges<Wanted> {
  readonly changes: Wanted;
  readonly reserve: (context: WriteContext) => Promise<Wanted | undefined>;
}

/** Returns a function that throws if the resource must not be deleted. It returns further fields of the answer. */
type BeforeDelete<Id> = (deps: RouteDeps, request: ApiRequest, id: Id) => () => Promise<JsonObject>;

/**
 * Defines the writes of a resource with declared fields, a visibility and media: the commands, and the routes of POST,
 * PATCH, PUT and DELETE (docs/howto/add-an-endpoint.md#an-aggregate).
 */
export function defineResource<
  F extends Fields,
  Resource extends FieldResource<Id> & References & { readonly visibility: Visibility },
  Event extends DomainEvent,
  Id extends AnyId,
  New extends Input<F> & Content,
  Patch extends Changes<F> & Content,
  Counts,
>(definition: Definition<F, Resource, Event, Id, New, Patch, Counts>) {
  const { aggregate, fields, body, patch, media_max, operations, faultsOf, count, present } = definition;
  const { beforeUpdate, beforeDelete, beforeRestore, derived_kind, handle_from, parts, turns } = definition;
  const { category } = aggregate;
  const unique = Object.keys(fields).filter((name) => fields[name]!.unique);

  /**
   * Looks up the names that the write gives to the resource. Throws `name_taken` if another resource has one of them. Returns
   * the changes with a handle if it has to be made: if the client sends null, and with `makes_handle` for a new resource
   * without one. `reserve` reserves the names. It returns other changes if it had to make another handle.
   */
  async function lookUp<Wanted extends object>(
    deps: StoreDeps,
    context: WriteContext,
    { environment, store_id, id }: Pick<PutTarget<Id, Resource, New>, 'environment' | 'store_id' | 'id'>,
    state: State<Resource>,
    changes: Wanted,
    makes_handle = false,
  ): Promise<LookedUpChanges<Wanted>> {
    const before = state.tag === 'present' ? state.resource : undefined;
    const taker: NameTaker<Resource, Event, Id, FieldCommand<F>> = { deps, environment, aggregate, id };
    const wantedOf = (field: string, value: string): WantedName<Resource, FieldCommand<F>> => ({
      name: { store_id, kind: category, field, value },
      has: (resource) => valueIn(resource, field) === value,
      interrupt: { type: 'Interrupt', field },
      giveUp: () => ({ type: 'Update', changes: { [field]: null } as Changes<F> }),
      at: field,
    });
    const named = unique.flatMap((field) => {
      const value = valueIn(changes, field);
      return typeof value === 'string' && value !== valueIn(before, field) ? [wantedOf(field, value)] : [];
    });
    const has_handle = 'handle' in changes && changes.handle !== undefined;
    const makes = has_handle ? changes.handle === null : !before && makes_handle;
    const title = String(valueIn(changes, handle_from) ?? valueIn(before, handle_from));
    const [names, handles] = await allEnded([
      lookUpNames(taker, context, [...named, ...(parts?.namesIn(store_id, changes, before) ?? [])]),
      makes ? lookUpHandles(taker, title, (handle) => wantedOf('handle', handle)) : [],
    ]);
    const first = handles[0]?.name.value;
    return {
      changes: first === undefined ? changes : { ...changes, handle: first },
      reserve: async (context) => {
        const [, handle] = await allEnded([
          reserveNames(taker, context, names),
          makes ? reserveHandle(taker, context, handles) : undefined,
        ]);
        return handle === first ? undefined : { ...changes, handle };
      },
    };
  }

  /** Runs a write. Those of this process that need a turn follow each other, so that they do not interrupt each other. */
  const inTurn = <Result>(
    deps: StoreDeps,
    environment: Environment,
    changes: object,
    write: () => Promise<Result>,
  ): Promise<Result> =>
    turns?.areNeeded(changes)
      ? serialiseByStream(deps.events[environment], `${environment}.turns-${category}` as StreamName, write)
      : write();

  /** Throws `field_invalid` if the changes do not go together with each other or with what stays as it was. */
  async function checkContent(
    deps: StoreDeps,
    environment: Environment,
    store_id: StoreId,
    changes: Changes<F> & Content,
    before?: Resource,
  ): Promise<void> {
    const [values, old_values] = [changes, before ?? {}] as [
      Record<string, unknown>,
      Record<string, unknown>,
    ];
    const faults = faultsOf?.((name) => (values[name] === undefined ? old_values[name] : values[name]));
    if (faults?.length) throw CatalogError.ofFaults(faults);
    await checkReferences(deps, environment, store_id, changes, before?.id);
  }

  /**
   * Creates the resource. Throws `field_invalid` for invalid references. Repeating it with the same id appends nothing.
   */
  async function create(
    deps: StoreDeps,
    context: WriteContext,
    target: NewTarget<Id>,
    input: New,
  ): Promise<Written<Resource>> {
    const { environment, store_id } = target;
    const { id, loaded } = await idForNew(deps, environment, aggregate, context, target.id);
    let named: LookedUpChanges<New> | undefined;
    const commandOf = (input: New) => ({ type: 'Create', store_id, id, input }) as const;
    const written = await execute<Resource, FieldCommand<F>>({
      ...streamIn(deps, environment, aggregate, id),
      context,
      loaded,
      check: async (state) => {
        const made = state.tag === 'present' && { handle: valueIn(state.resource, 'handle') };
        const wanted = made && input.handle == null ? { ...input, ...made } : input;
        // Reads of a server take as long as each other, so they run side by side.
        [, , named] = await allEnded([
          Promise.resolve(target.guard?.()),
          checkContent(deps, environment, store_id, input),
          lookUp(deps, context, { environment, store_id, id }, state, wanted, true),
        ]);
        return commandOf(named.changes);
      },
      reserve: async () => {
        const renamed = await named?.reserve(context);
        return renamed && commandOf(renamed);
      },
    });
    return withResource(written);
  }

  /**
   * Patches the resource. Throws the `not_found` of the aggregate, `field_invalid` for invalid references and for another
   * `store_id`, and errors of `guard`.
   */
  async function update(
    deps: StoreDeps,
    context: WriteContext,
    { environment, id, guard, revise }: Target<Id, Resource> & { readonly revise?: Revise<Resource, Patch> },
    patch: Patch,
  ): Promise<Written<Resource>> {
    let named: LookedUpChanges<Patch> | undefined;
    const commandOf = (changes: Patch) => ({ type: 'Update', changes }) as const;
    const check = async (state: State<Resource>): Promise<FieldCommand<F>> => {
      if (state.tag !== 'present') return commandOf(patch);
      const before = state.resource;
      await guard?.(before);
      assertSameStore(before.store_id, patch.store_id);
      const changes = await revised(deps, environment, before, patch, revise);
      const { store_id } = before;
      await turns?.take(deps, context, environment, before, changes);
      [, named] = await allEnded([
        checkContent(deps, environment, store_id, changes, before),
        lookUp(deps, context, { environment, store_id, id }, state, changes),
      ]);
      return commandOf(named.changes);
    };
    const reserve = async () => {
      const renamed = await named?.reserve(context);
      return renamed && commandOf(renamed);
    };
    const ref = streamIn(deps, environment, aggregate, id);
    const write = () => execute<Resource, FieldCommand<F>>({ ...ref, context, check, reserve });
    return withResource(await inTurn(deps, environment, patch, write));
  }

  /**
   * Creates the resource, or patches it with the fields of `input`. An import calls this for every row, so importing
   * the same file again changes nothing. Does not restore a deleted resource. Throws `field_invalid` for invalid
   * references.
   */
  async function put(
    deps: StoreDeps,
    context: WriteContext,
    target: PutTarget<Id, Resource, New>,
    input: New,
  ): Promise<PutResult<Resource>> {
    const { environment, store_id, id, revise, guard, is_probably_new = false, makes_handle } = target;
    // Reserving a name appends an event, so it must be known whether the resource has the name.
    const has_names = unique.some((field) => valueIn(input, field) !== null) || parts?.areIn(input);
    let named: LookedUpChanges<New> | undefined;
    const commandOf = (input: New) => ({ type: 'Put', store_id, id, input }) as const;
    const write = () =>
      execute<Resource, FieldCommand<F>>({
        ...streamIn(deps, environment, aggregate, id),
        context,
        loaded: target.loaded ?? (is_probably_new && !has_names ? NOTHING_LOADED : undefined),
        check: async (state) => {
          if (state.tag === 'deleted') return commandOf(input);
          const before = state.tag === 'present' ? state.resource : undefined;
          await guard?.(before);
          if (before) await turns?.take(deps, context, environment, before, input);
          const changes = before ? await revised(deps, environment, before, input, revise) : input;
          [, named] = await allEnded([
            checkContent(deps, environment, store_id, input, before),
            lookUp(deps, context, target, state, changes, makes_handle),
          ]);
          return commandOf(named.changes);
        },
        reserve: async () => {
          const renamed = await named?.reserve(context);
          return renamed && commandOf(renamed);
        },
      });
    const written = await inTurn(deps, environment, input, write);
    if (written.value.tag === 'deleted') return { outcome: 'deleted' };
    const changed = written.changed ? 'updated' : 'unchanged';
    return { ...withResource(written), outcome: written.created ? 'created' : changed };
  }

  /**
   * Adds a media after the existing ones. Changes nothing if it is already there. Throws the `not_found` of the
   * aggregate, and `field_invalid` if the resource has the maximum number of media.
   */
  function addMedia(
    deps: StoreDeps,
    context: WriteContext,
    target: Target<Id, Resource>,
    media_id: MediaId,
  ): Promise<Written<Resource>> {
    const revise = ({ media_ids = [] }: Resource): Promise<Patch> =>
      addedMedia(deps, target.environment, media_ids as MediaId[], media_id, media_max) as Promise<never>;
    return update(deps, context, { ...target, revise }, {} as Patch);
  }

  const remove = (deps: StoreDeps, context: WriteContext, target: Target<Id, Resource>) =>
    deleteResource(deps, context, aggregate, target);

  /** Returns the resource from the event log, undefined if it does not exist or is deleted. */
  const find = (deps: Pick<StoreDeps, 'events'>, environment: Environment, id: Id) =>
    findInLog(deps, environment, aggregate, id);

  async function answerCreate(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const context = writeContextOf(request);
    const input = parseBody(body, request.body);
    const store_id = storeForNew(request, input.store_id);
    const { environment } = request.principal;
    const guard = (): Promise<unknown> => deps.stores.require(environment, store_id);
    const written = await create(deps, context, { environment, store_id, guard }, input);
    const { value } = written;
    const headers = await awaitProjection(deps, request, store_id, written);
    const path = `/api/${category}/${value.id}`;
    // Reads return a private resource only with `visibility` (docs/interface/reads.md#visibility).
    const Location = value.visibility === 'private' ? `${path}?visibility=all` : path;
    const data = request.is_item
      ? { id: value.id }
      : await present(deps, environment, value, definition.counts_of_new);
    return { status: 201, data, version: value.version, headers: { ...headers, Location } };
  }

  /**
   * Returns the id of the resource with this external id, or for a new one. That is the resource that has reserved the
   * external id, unless it was deleted or has another one now. It is also that resource if `operation` has written to it
   * before: a repetition whose idempotency record was lost finds its first run there.
   */
  async function idOfExternal(
    deps: StoreDeps,
    environment: Environment,
    store: StoreIdentity,
    external_id: string,
    operation?: Operation,
  ): Promise<{ readonly id: Id; readonly is_new: boolean; readonly loaded: Loaded<Resource> }> {
    const loadOne = async (id: Id) => {
      const ref = streamIn(deps, environment, aggregate, id);
      const loaded = await load<Resource>(ref);
      const event = operation && (await findEventOf<Resource>(operation, ref, loaded));
      return { loaded, state: loaded.state, is_written_before: event !== undefined };
    };
    const name = { store_id: store.id, kind: category, field: 'external_id', value: external_id };
    const owner_id = (await ownerOfName(deps, environment, name)) as Id | undefined;
    if (owner_id !== undefined) {
      const { loaded, state, is_written_before } = await loadOne(owner_id);
      if (state.tag === 'absent') return { id: owner_id, is_new: true, loaded };
      const has_name = state.tag === 'present' && valueIn(state.resource, 'external_id') === external_id;
      if (has_name || is_written_before) return { id: owner_id, is_new: false, loaded };
    }
    for (let generation = 1; ; generation++) {
      const id = derivedIdOf<Id>(store, derived_kind, external_id, generation);
      const { loaded, state, is_written_before } = await loadOne(id);
      if (state.tag === 'absent') return { id, is_new: true, loaded };
      const has_none = state.tag === 'present' && valueIn(state.resource, 'external_id') === null;
      // An import has created it under this name. A resource that had the name gave it up.
      const is_imported = has_none && !(await hadExternalId(deps, environment, id, external_id));
      if (is_imported || is_written_before) return { id, is_new: false, loaded };
    }
  }

  /** Whether an event of the resource has the external id. */
  async function hadExternalId(
    deps: StoreDeps,
    environment: Environment,
    id: Id,
    external_id: string,
  ): Promise<boolean> {
    const recorded = await deps.events[environment].readStream(streamName(environment, category, id));
    return recorded.some(({ data }) => data.external_id === external_id);
  }

  /**
   * Creates or patches the resource with an external id. Looks for the resource again if it was deleted meanwhile, or if
   * another resource was faster to take the external id.
   */
  async function putExternal(
    deps: RouteDeps,
    request: ApiRequest,
    store: StoreIdentity,
    external_id: string,
  ): Promise<Exclude<PutResult<Resource>, { readonly outcome: 'deleted' }>> {
    const { environment } = request.principal;
    const guard = async (before: Resource | undefined): Promise<void> => {
      assertIfMatch(request.header('if-match'), before?.version);
      if (before) await beforeUpdate?.(deps, request, before, parseBody(patch, request.body));
    };
    for (let attempt = 1; ; attempt++) {
      const found = await idOfExternal(deps, environment, store, external_id, request.operation);
      const { id, is_new, loaded } = found;
      const input = {
        ...parseBody<object>(is_new ? body : patch, request.body),
        external_id,
      } as unknown as New;
      const target = { environment, store_id: store.id, id, loaded, guard, makes_handle: true };
      try {
        const written = await put(deps, writeContextOf(request), target, input);
        if (written.outcome !== 'deleted') return written;
      } catch (error) {
        const is_taken = error instanceof CatalogError && error.condition === 'name_taken';
        if (!is_taken || attempt === PUT_ATTEMPTS) throw error;
      }
      if (attempt === PUT_ATTEMPTS) throw new CatalogError('lost_race');
    }
  }

  async function answerPut(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const { environment } = request.principal;
    const { external_id } = parseBody(externalIdPath, { external_id: request.params.external_id ?? '' });
    const changes = parseBody(patch, request.body);
    if ((changes.external_id ?? external_id) !== external_id)
      throw CatalogError.ofFaults([
        { condition: 'field_invalid', field: 'external_id', constraint: 'the external id in the path' },
      ]);
    const store_id = storeForNew(request, changes.store_id);
    const store = await deps.stores.require(environment, store_id);
    const written = await putExternal(deps, request, store, external_id);
    const { outcome } = written;
    const answer = await answerAfter(deps, request, written);
    const status = outcome === 'created' ? 201 : 200;
    return { ...answer, status, data: { ...answer.data, result: outcome } };
  }

  async function answerUpdate(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const context = writeContextOf(request);
    const target = targetOf<Resource, Event, Id>(deps, request, aggregate);
    const wanted = parseBody(patch, request.body);
    const guard = async (resource: Resource): Promise<void> => {
      await target.guard(resource);
      await beforeUpdate?.(deps, request, resource, wanted);
    };
    const written = await update(deps, context, { ...target, guard }, wanted);
    return { ...(await answerAfter(deps, request, written)), changed: written.changed };
  }

  /** Undoes a deletion. Reserves the names of the resource again, which another one may have taken meanwhile. */
  async function answerRestore(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
    const context = writeContextOf(request);
    const { environment } = request.principal;
    const id = request.params.id as Id;
    const guard = accessGuardFor(request, deps.stores, aggregate.not_found);
    let named: LookedUpChanges<object> | undefined;
    const written = withResource(
      await execute<Resource, FieldCommand<F>>({
        ...streamIn(deps, environment, aggregate, id),
        context,
        check: async (state) => {
          if (state.tag !== 'absent') await guard(state.tag === 'deleted' ? state : state.resource);
          if (state.tag === 'deleted') {
            if (state.resource) await beforeRestore?.(deps, environment, state.resource);
            const names = unique.map((field) => [field, valueIn(state.resource, field) ?? undefined]);
            const target = { environment, store_id: state.store_id, id };
            named = await lookUp(deps, context, target, state, {
              ...state.resource,
              ...Object.fromEntries(names),
            });
          }
          return { type: 'Restore', now_ms: deps.system.now() };
        },
        reserve: async () => void (await named?.reserve(context)),
      }),
    );
    return answerAfter(deps, request, written);
  }

  /** Returns the answer with the resource as it is after the write, and with the counts of its document. */
  async function answerAfter(deps: RouteDeps, request: ApiRequest, written: Written<Resource>) {
    const { environment } = request.principal;
    const { value } = written;
    const headers = await awaitProjection(deps, request, value.store_id, written);
    if (request.is_item) return { data: { id: value.id }, version: value.version, headers };
    const counted = await readCount(deps, environment, (version) => count(version, value.id));
    const data = await present(deps, environment, value, counted);
    return { data, version: value.version, headers };
  }

  const routes = (deps: RouteDeps): Route[] => [
    routeOf(operations.create, (request) => answerCreate(deps, request)),
    routeOf(operations.update, (request) => answerUpdate(deps, request)),
    routeOf(operations.put, (request) => answerPut(deps, request)),
    deletionRoute(deps, operations.delete, aggregate, beforeDelete),
    ...(operations.restore ? [routeOf(operations.restore, (request) => answerRestore(deps, request))] : []),
  ];

  return { create, update, put, idOfExternal, remove, addMedia, find, answerAfter, routes };
}

async function revised<Resource extends References, Changes extends References>(
  deps: StoreDeps,
  environment: Environment,
  before: Resource,
  wanted: Changes,
  revise: Revise<Resource, Changes> | undefined,
): Promise<Changes> {
  const changes = await omitUnchangedReferences(deps, environment, before, wanted);
  return revise ? revise(before, changes) : changes;
}

type Deletable<Resource, Event, Id extends AnyId> = Aggregate<
  Resource,
  Event,
  Id,
  { readonly type: 'Delete' }
>;

/** Deletes the resource. Returns the id of its store. Throws the `not_found` of the aggregate, and errors of `guard`. */
export async function deleteResource<Resource, Event extends DomainEvent, Id extends AnyId>(
  deps: StoreDeps,
  context: WriteContext,
  aggregate: Deletable<Resource, Event, Id>,
  { environment, id, guard }: Target<Id, Resource>,
): Promise<Written<StoreId>> {
  const written = await execute<Resource, { readonly type: 'Delete' }>({
    ...streamIn(deps, environment, aggregate, id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await guard?.(state.resource);
      return { type: 'Delete' };
    },
  });
  if (written.value.tag !== 'deleted') throw new Error('the resource exists after its deletion');
  return { ...written, value: written.value.store_id };
}

type Stored = { readonly store_id: StoreId; readonly version: number };

/** Returns the route of a DELETE. */
export function deletionRoute<Resource extends Stored, Event extends DomainEvent, Id extends AnyId>(
  deps: RouteDeps,
  operation: ApiOperation,
  aggregate: Deletable<Resource, Event, Id>,
  beforeDelete?: BeforeDelete<Id>,
): Route {
  return routeOf(operation, async (request) => {
    const target = targetOf(deps, request, aggregate);
    const { id } = target;
    const check = beforeDelete?.(deps, request, id);
    let further: JsonObject | undefined;
    const guard = async (resource: Resource): Promise<void> => {
      await target.guard(resource);
      further = await check?.();
    };
    const written = await deleteResource(deps, writeContextOf(request), aggregate, { ...target, guard });
    const headers = await awaitProjection(deps, request, written.value, written);
    return { data: { id, object: aggregate.category, deleted: true, ...further }, headers };
  });
}

/** Returns the route of a PATCH of a resource without references. */
export function patchRoute<
  Resource extends Stored & { readonly id: Id },
  Event extends DomainEvent,
  Id extends AnyId,
  Changes extends { readonly store_id?: string | undefined },
>(
  deps: RouteDeps,
  operation: ApiOperation,
  aggregate: Aggregate<Resource, Event, Id, { readonly type: 'Update'; readonly changes: NoInfer<Changes> }>,
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
    });
    const { value } = written;
    const headers = await awaitProjection(deps, request, value.store_id, written);
    return { data: present(value, environment), version: value.version, headers };
  });
}

/** Returns the resource that the path names. */
function targetOf<Resource extends Stored, Event, Id extends AnyId>(
  deps: RouteDeps,
  request: ApiRequest,
  { not_found }: Pick<Aggregate<Resource, Event, Id, never>, 'not_found' | 'owner' | 'evolve'>,
) {
  return {
    environment: request.principal.environment,
    id: request.params.id as Id,
    guard: guardFor(request, deps.stores, not_found),
  };
}
