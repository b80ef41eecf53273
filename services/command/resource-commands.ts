import type { Aggregate, State } from '../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import type { StreamName } from '../../shared/catalog/events/envelope';
import type { FieldCommand, FieldResource } from '../../shared/catalog/field-aggregate';
import type { Changes, Fields, Input } from '../../shared/catalog/fields';
import type { PricedContent } from '../../shared/catalog/publication/currency-prices';
import type { Environment } from '../../shared/catalog/realm';
import { faultsInSpans } from '../../shared/catalog/schedule';
import type { Store } from '../../shared/catalog/store/store';
import type { Translated } from '../../shared/catalog/translations';
import { allEnded } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { AnyId, MediaId, StoreId } from '../../shared/kernel/ids';
import { findInLog, type Loaded, streamIn } from '../../shared/ports/stream-state';
import {
  execute,
  type Guard,
  idForNew,
  type Prepared,
  type StoreDeps,
  type Write,
  type WriteContext,
  type Written,
  withResource,
} from './execute';
import { lockMove } from './moves';
import { valueIn } from './names';
import {
  addedMedia,
  assertSameStore,
  checkCurrencies,
  checkReferences,
  checkTranslations,
  omitUnchangedReferences,
  type References,
} from './references';
import { type NamesDefinition, ResourceNames, type WriteScope } from './resource-names';
import { serialiseByStream } from './write-queue';

/** Where to create a resource. The caller must check that the store exists. */
export interface NewTarget<Id> {
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** Set if the caller derives the id; otherwise it is generated. */
  readonly id?: Id;
  /** Not called for a write that an earlier run completed. */
  readonly guard?: Guard<undefined>;
}

/** An existing resource. */
export interface Target<Id, Before> {
  readonly environment: Environment;
  readonly id: Id;
  readonly guard?: Guard<Before>;
  /** The state of its stream if it was read before. */
  readonly loaded?: Loaded<NonNullable<Before>>;
}

/** A resource to create or to patch. */
interface PutTarget<Id, Resource, New> extends Target<Id, Resource | undefined> {
  readonly store_id: StoreId;
  /** Whether a new resource without a handle gets one. */
  readonly makes_handle?: boolean;
  /**
   * Returns the changes of an existing resource, for example those of a file without the fields that were changed by hand.
   * Called in every attempt.
   */
  readonly revise?: (before: Resource, sent: New) => Promise<New>;
}

/** The result of a put. A deleted resource stays deleted; nothing is appended. */
export type PutResult<Resource> = WrittenResource<Resource> | { readonly outcome: 'deleted' };

export type WrittenResource<Resource> = Written<Resource> & {
  readonly outcome: 'created' | 'updated' | 'unchanged';
};

/** What every body of a write may have. */
export type Content = References &
  PricedContent &
  Translated & {
    readonly external_id?: string | null | undefined;
    readonly handle?: string | null | undefined;
    readonly store_id?: string | null | undefined;
  };

export type MediaResource = FieldResource<AnyId> & References & { readonly media_ids: readonly MediaId[] };

/** What `ResourceCommands` needs of a kind of resource. */
export interface CommandsDefinition<F extends Fields, Resource extends FieldResource<AnyId>, Patch>
  extends NamesDefinition<F, Resource> {
  /** The maximum number of media, and the patch that sets them. */
  readonly media: {
    readonly max: number;
    readonly patchOf: (media_ids: MediaId[] | undefined) => Patch;
  };
  /** The fields with the start and the end of a span of time. */
  readonly spans: readonly (readonly [start: keyof F & string, end: keyof F & string])[];
  /** Returns what the event that creates or restores a resource of the store has besides fields. */
  readonly ownOf?: (store: Store) => object | undefined;
}

/** The commands of a resource with declared fields and media. `execute` describes the steps of each command. */
export class ResourceCommands<
  F extends Fields,
  Resource extends MediaResource,
  New extends Input<F> & Content,
  Patch extends Changes<F> & Content,
> {
  readonly names: ResourceNames<F, Resource>;

  constructor(private readonly definition: CommandsDefinition<F, Resource, Patch>) {
    this.names = new ResourceNames(definition);
  }

  /**
   * Creates the resource. Throws `field_invalid` for invalid references. Repeating it with the same id appends nothing.
   */
  readonly create = async (
    deps: StoreDeps,
    context: WriteContext,
    { environment, store_id, id: given_id, guard }: NewTarget<Resource['id']>,
    input: New,
  ): Promise<Written<Resource>> => {
    const { aggregate } = this.definition;
    const { id, loaded } = await idForNew(deps, environment, aggregate, context, given_id);
    const scope = { deps, context, environment, store_id, id };
    const prepare = async (state: State<Resource>): Promise<Prepared<FieldCommand<F>>> => {
      const own = await this.ownOf(scope);
      const commandOf = (input: New) => ({ type: 'Create', store_id, id, input, own }) as const;
      // A repetition finds the resource with the handle that was made for it.
      const has_handle = state.tag === 'present' && input.handle == null;
      const wanted = has_handle ? { ...input, handle: valueIn(state.resource, 'handle') ?? null } : input;
      // Reads of a server take as long as each other, so they run side by side.
      const [, , prepared] = await allEnded([
        guard?.(undefined),
        this.checkContent(scope, input),
        this.names.prepare(scope, state, wanted, commandOf, { makes_handle: true }),
      ]);
      return prepared;
    };
    const ref = streamIn(deps, environment, aggregate, id);
    return withResource(await execute<Resource, FieldCommand<F>>({ ...ref, context, loaded, prepare }));
  };

  /**
   * Patches the resource. `patch`: the changes, or a function that returns them for the resource as it is, which is called in
   * every attempt. Throws the `not_found` of the aggregate, `field_invalid` for invalid references and for another
   * `store_id`, and errors of the guard.
   */
  readonly update = async (
    deps: StoreDeps,
    context: WriteContext,
    { environment, id, guard, loaded }: Target<Resource['id'], Resource>,
    patch: Patch | ((before: Resource) => Promise<Patch>),
  ): Promise<Written<Resource>> => {
    const { aggregate } = this.definition;
    const commandOf = (changes: Patch) => ({ type: 'Update', changes }) as const;
    const prepare = async (state: State<Resource>): Promise<Prepared<FieldCommand<F>>> => {
      if (state.tag !== 'present') throw new CatalogError(aggregate.not_found);
      const before = state.resource;
      const { store_id } = before;
      await guard?.(before);
      const changes =
        typeof patch === 'function'
          ? await patch(before)
          : await omitUnchangedReferences(deps, environment, before, patch);
      assertSameStore(store_id, changes.store_id);
      const scope = { deps, context, environment, store_id, id };
      await lockIfMoved(scope, before, changes);
      const [, prepared] = await allEnded([
        this.checkContent(scope, changes, before),
        this.names.prepare(scope, state, changes, commandOf),
      ]);
      return prepared;
    };
    const write = { ...streamIn(deps, environment, aggregate, id), context, loaded, prepare };
    return withResource(await this.inQueueOfMoves(write, typeof patch === 'function' ? {} : patch));
  };

  /**
   * Creates the resource, or patches it with the fields of `input`. An import calls this for every row, so importing
   * the same file again changes nothing. Does not restore a deleted resource. Throws `field_invalid` for invalid
   * references.
   */
  readonly put = async (
    deps: StoreDeps,
    context: WriteContext,
    target: PutTarget<Resource['id'], Resource, New>,
    input: New,
  ): Promise<PutResult<Resource>> => {
    const { environment, store_id, id, loaded, revise, guard, makes_handle } = target;
    const scope = { deps, context, environment, store_id, id };
    const prepare = async (state: State<Resource>): Promise<Prepared<FieldCommand<F>>> => {
      const own = state.tag === 'absent' ? await this.ownOf(scope) : undefined;
      const commandOf = (input: New) => ({ type: 'Put', store_id, id, input, own }) as const;
      if (state.tag === 'deleted') return { command: commandOf(input) };
      const before = state.tag === 'present' ? state.resource : undefined;
      await guard?.(before);
      if (before) await lockIfMoved(scope, before, input);
      const sent = before ? await omitUnchangedReferences(deps, environment, before, input) : input;
      const changes = before && revise ? await revise(before, sent) : sent;
      const [, prepared] = await allEnded([
        this.checkContent(scope, input, before),
        this.names.prepare(scope, state, changes, commandOf, { makes_handle }),
      ]);
      return prepared;
    };
    const write = { ...streamIn(deps, environment, this.definition.aggregate, id), context, loaded, prepare };
    const written = await this.inQueueOfMoves(write, input);
    return written.value.tag === 'deleted' ? { outcome: 'deleted' } : withOutcome(withResource(written));
  };

  /** Undoes a deletion. Reserves the names of the resource again, which another one may have taken meanwhile. */
  readonly restore = async (
    deps: StoreDeps,
    context: WriteContext,
    { environment, id, guard }: Target<Resource['id'], Pick<Resource, 'store_id'>>,
  ): Promise<Written<Resource>> => {
    const { aggregate } = this.definition;
    const now_ms = deps.system.now();
    const prepare = async (state: State<Resource>): Promise<Prepared<FieldCommand<F>>> => {
      if (state.tag === 'absent') return { command: { type: 'Restore', now_ms } };
      const { store_id } = state.tag === 'deleted' ? state : state.resource;
      await guard?.({ store_id });
      if (state.tag === 'present' || !state.resource) return { command: { type: 'Restore', now_ms } };
      const { parent_id } = state.resource;
      await checkReferences(deps, environment, store_id, { parent_id }, id);
      const named = { ...state.resource, ...this.names.of(state.resource) };
      const scope = { deps, context, environment, store_id, id };
      const own = await this.ownOf(scope);
      return this.names.prepare(scope, state, named, () => ({ type: 'Restore', now_ms, own }));
    };
    const ref = streamIn(deps, environment, aggregate, id);
    return withResource(await execute<Resource, FieldCommand<F>>({ ...ref, context, prepare }));
  };

  /**
   * Adds a media after the existing ones. Changes nothing if it is already there. Throws the `not_found` of the
   * aggregate, and `field_invalid` if the resource has the maximum number of media.
   */
  readonly addMedia = (
    deps: StoreDeps,
    context: WriteContext,
    target: Target<Resource['id'], Resource>,
    media_id: MediaId,
  ): Promise<Written<Resource>> => {
    const { max, patchOf } = this.definition.media;
    return this.update(deps, context, target, async ({ media_ids }) =>
      patchOf(await addedMedia(deps, target.environment, media_ids, media_id, max)),
    );
  };

  readonly remove = (deps: StoreDeps, context: WriteContext, target: Target<Resource['id'], Resource>) =>
    deleteResource(deps, context, this.definition.aggregate, target);

  /** Returns the resource from the event log, undefined if it does not exist or is deleted. */
  readonly find = (deps: Pick<StoreDeps, 'events'>, environment: Environment, id: Resource['id']) =>
    findInLog(deps, environment, this.definition.aggregate, id);

  /**
   * Throws `field_invalid` if a span of time ends before its start after the write, for invalid references, and for
   * translations and prices in a locale or currency that the store does not have.
   */
  private async checkContent(
    { deps, environment, store_id }: WriteScope<Resource['id']>,
    changes: References & Translated & PricedContent,
    before?: Resource & Translated & PricedContent,
  ): Promise<void> {
    const faults = faultsInSpans(this.definition.spans, (name) => {
      const sent = valueIn(changes, name);
      return sent === undefined ? valueIn(before, name) : sent;
    });
    if (faults.length > 0) throw CatalogError.ofFaults(faults);
    await allEnded([
      checkReferences(deps, environment, store_id, changes, before?.id),
      checkTranslations(deps, environment, store_id, changes, before),
      checkCurrencies(deps, environment, store_id, changes, before),
    ]);
  }

  /** Returns what the event has besides fields. Most requests have read the store before. */
  private async ownOf({ deps, environment, store_id }: WriteScope<Resource['id']>) {
    const { ownOf } = this.definition;
    const store = ownOf && (await deps.stores?.known(environment, store_id));
    return store && ownOf(store);
  }

  /** Executes a write. Moves of this process follow each other, so that they do not take the lock from each other. */
  private inQueueOfMoves(write: Write<Resource, FieldCommand<F>>, { parent_id }: References) {
    if (typeof parent_id !== 'string') return execute(write);
    const queue = `${write.realm}.turns-${this.definition.aggregate.category}` as StreamName;
    return serialiseByStream(write.events, queue, () => execute(write));
  }
}

/** Locks the tree of listings if the changes move the listing below another one. */
async function lockIfMoved(
  scope: WriteScope<AnyId>,
  before: References,
  { parent_id }: References,
): Promise<void> {
  if (parent_id && parent_id !== before.parent_id) await lockMove(scope, parent_id);
}

/** Returns the result of a write to a resource, with what the write did to the resource. */
export function withOutcome<Resource>(written: Written<Resource>): WrittenResource<Resource> {
  const changed = written.changed ? 'updated' : 'unchanged';
  return { ...written, outcome: written.created ? 'created' : changed };
}

/** Deletes the resource. Returns the id of its store. Throws the `not_found` of the aggregate, and errors of the guard. */
export async function deleteResource<Resource, Id extends AnyId>(
  deps: StoreDeps,
  context: WriteContext,
  aggregate: Aggregate<Resource, DomainEvent, Id, { readonly type: 'Delete' }>,
  { environment, id, guard }: Target<Id, Resource>,
): Promise<Written<StoreId>> {
  const written = await execute<Resource, { readonly type: 'Delete' }>({
    ...streamIn(deps, environment, aggregate, id),
    context,
    prepare: async (state) => {
      if (state.tag === 'present') await guard?.(state.resource);
      return { command: { type: 'Delete' } };
    },
  });
  if (written.value.tag !== 'deleted') throw new Error('the resource exists after its deletion');
  return { ...written, value: written.value.store_id };
}
