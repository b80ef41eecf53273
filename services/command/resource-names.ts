import type { Aggregate, State } from '../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import { streamName } from '../../shared/catalog/events/envelope';
import type { FieldCommand, FieldResource } from '../../shared/catalog/field-aggregate';
import type { Changes, Fields } from '../../shared/catalog/fields';
import type { Environment } from '../../shared/catalog/realm';
import { handlesOf, withoutHandle } from '../../shared/catalog/translations';
import type { AnyId, StoreId } from '../../shared/kernel/ids';
import type { Operation } from '../../shared/ports/idempotency-store';
import { type Loaded, load, streamIn } from '../../shared/ports/stream-state';
import { derivedIdOf, type StoreIdentity } from './derived-ids';
import { findEventOf, type Prepared, type StoreDeps, type WriteContext } from './execute';
import { ownerOfName, prepareNames, valueIn, type WantedName } from './names';

export interface NamesDefinition<F extends Fields, Resource extends FieldResource<AnyId>> {
  readonly aggregate: Aggregate<Resource, DomainEvent, Resource['id'], FieldCommand<F>>;
  readonly fields: F;
  /** Part of the ids that are derived from external ids (`derivedIdOf`), so that each kind of resource has its own. */
  readonly derived_kind: string;
  /** The field that a handle is made from. */
  readonly handle_from: keyof F & string;
  /** Returns the names that a write adds to parts of the resource, such as the SKUs of variants. */
  readonly namesOfParts?: (
    store_id: StoreId,
    changes: object,
    before: Resource | undefined,
  ) => WantedName<Resource, FieldCommand<F>>[];
}

/** A resource of a store, and who writes to it. */
export interface WriteScope<Id> {
  readonly deps: StoreDeps;
  readonly context: WriteContext;
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly id: Id;
}

/** The names of a kind of resource: its external id, its handle, and the names of its parts. */
export class ResourceNames<F extends Fields, Resource extends FieldResource<AnyId>> {
  /** The fields whose values are names. */
  private readonly unique: readonly string[];

  constructor(private readonly definition: NamesDefinition<F, Resource>) {
    const { fields } = definition;
    this.unique = Object.keys(fields).filter((name) => fields[name]!.unique);
  }

  /** Returns the names of a stored resource. A missing handle is undefined, because null would ask for a new one. */
  of(resource: Resource): object {
    return Object.fromEntries(this.unique.map((field) => [field, valueIn(resource, field) ?? undefined]));
  }

  /**
   * Prepares a write with the names that its changes give to the resource (`prepareNames`). The changes get a handle if it
   * has to be made: if the client sends null, and with `makes_handle` for a new resource without a handle.
   */
  prepare<Wanted extends object>(
    { deps, context, environment, store_id, id }: WriteScope<Resource['id']>,
    state: State<Resource>,
    changes: Wanted,
    commandOf: (changes: Wanted) => FieldCommand<F>,
    { makes_handle = false }: { readonly makes_handle?: boolean | undefined } = {},
  ): Promise<Prepared<FieldCommand<F>>> {
    const { aggregate, handle_from, namesOfParts } = this.definition;
    const before = state.tag === 'present' ? state.resource : undefined;
    const others = this.unique.flatMap((field) => {
      const value = valueIn(changes, field);
      const is_new = field !== 'handle' && typeof value === 'string' && value !== valueIn(before, field);
      return is_new ? [this.wantedName(store_id, field, value)] : [];
    });
    const held = new Set(handlesOf(before).map(([, handle]) => handle));
    const handles = new Map<string, WantedName<Resource, FieldCommand<F>>>();
    for (const [at, handle] of handlesOf(changes))
      if (typeof handle === 'string' && !held.has(handle) && !handles.has(handle))
        handles.set(handle, this.wantedHandle(store_id, handle, at));
    const sent_handle = valueIn(changes, 'handle');
    const gets_handle = sent_handle === undefined ? !before && makes_handle : sent_handle === null;
    const to_make = gets_handle
      ? {
          title: String(valueIn(changes, handle_from) ?? valueIn(before, handle_from)),
          wantedOf: (handle: string) => this.wantedHandle(store_id, handle),
        }
      : undefined;
    return prepareNames(
      { deps, environment, aggregate, id },
      context,
      [...others, ...handles.values(), ...(namesOfParts?.(store_id, changes, before) ?? [])],
      (handle) => commandOf(handle === undefined ? changes : { ...changes, handle }),
      to_make,
    );
  }

  private wantedName(store_id: StoreId, field: string, value: string): WantedName<Resource, FieldCommand<F>> {
    return {
      name: { store_id, kind: this.definition.aggregate.category, field, value },
      has: (resource) => valueIn(resource, field) === value,
      interrupt: { type: 'Interrupt', field },
      giveUp: () => ({ type: 'Update', changes: { [field]: null } as Changes<F> }),
      at: field,
    };
  }

  /** Returns the name of a handle. A resource has one name for a handle that it has in several locales. */
  private wantedHandle(
    store_id: StoreId,
    handle: string,
    at = 'handle',
  ): WantedName<Resource, FieldCommand<F>> {
    return {
      ...this.wantedName(store_id, 'handle', handle),
      has: (resource) => handlesOf(resource).some(([, one]) => one === handle),
      giveUp: (resource) => ({ type: 'Update', changes: withoutHandle(resource, handle) as Changes<F> }),
      at,
    };
  }

  /**
   * Returns the id of the resource with this external id, or an id that no resource has. The resource is the one that has
   * reserved the external id, unless it was deleted or has another external id now. It is also that resource if
   * `operation` has written to it before: a repetition whose idempotency record was lost finds its first run there.
   */
  async idOfExternal(
    deps: StoreDeps,
    environment: Environment,
    store: StoreIdentity,
    external_id: string,
    operation?: Operation,
  ): Promise<{ readonly id: Resource['id']; readonly is_new: boolean; readonly loaded: Loaded<Resource> }> {
    const { aggregate, derived_kind } = this.definition;
    const loadOne = async (id: Resource['id']) => {
      const ref = streamIn(deps, environment, aggregate, id);
      const loaded = await load<Resource>(ref);
      const event = operation && (await findEventOf<Resource>(operation, ref, loaded));
      return { loaded, state: loaded.state, is_written_before: event !== undefined };
    };
    const name = { store_id: store.id, kind: aggregate.category, field: 'external_id', value: external_id };
    const owner_id = (await ownerOfName(deps, environment, name)) as Resource['id'] | undefined;
    if (owner_id !== undefined) {
      const { loaded, state, is_written_before } = await loadOne(owner_id);
      if (state.tag === 'absent') return { id: owner_id, is_new: true, loaded };
      const has_name = state.tag === 'present' && valueIn(state.resource, 'external_id') === external_id;
      if (has_name || is_written_before) return { id: owner_id, is_new: false, loaded };
    }
    for (let generation = 1; ; generation++) {
      const id = derivedIdOf<Resource['id']>(store, derived_kind, external_id, generation);
      const { loaded, state, is_written_before } = await loadOne(id);
      if (state.tag === 'absent') return { id, is_new: true, loaded };
      const has_none = state.tag === 'present' && (valueIn(state.resource, 'external_id') ?? null) === null;
      // A resource with this id and no external id was created by an import, unless it once had the external id.
      const is_imported = has_none && !(await this.hadExternalId(deps, environment, id, external_id));
      if (is_imported || is_written_before) return { id, is_new: false, loaded };
    }
  }

  /** Whether an event of the resource has the external id. */
  private async hadExternalId(
    deps: StoreDeps,
    environment: Environment,
    id: Resource['id'],
    external_id: string,
  ): Promise<boolean> {
    const stream = streamName(environment, this.definition.aggregate.category, id);
    const recorded = await deps.events[environment].readStream(stream);
    return recorded.some(({ data }) => data.external_id === external_id);
  }
}
