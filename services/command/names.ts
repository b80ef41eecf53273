import { TAKEN } from '../../shared/api/error-catalogue';
import type { Aggregate } from '../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import { slugOf } from '../../shared/catalog/input-rules';
import { type Name, nameAggregate, nameIdOf } from '../../shared/catalog/name/name';
import type { Environment } from '../../shared/catalog/realm';
import { CatalogError } from '../../shared/kernel/errors';
import type { AnyId, StoreId } from '../../shared/kernel/ids';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { execute, executeUnqueued, type StoreDeps, type WriteContext } from './execute';

type Owner<Resource, Event, Id extends AnyId, Field extends string> = Aggregate<
  Resource,
  Event,
  Id,
  { readonly type: 'Interrupt'; readonly field: Field }
>;

/** How a resource shows that it has a name. */
export interface Holding<Resource, Field extends string> {
  readonly has: (resource: Resource) => boolean;
  /** A field of the resource. An event of this field makes a write that is under way lose the race. */
  readonly interrupt: Field;
  /** The field that the error names. */
  readonly at: string;
}

/** Of a name that is the value of a field. */
export const heldIn = <Resource, Field extends string>(
  field: Field,
  value: string,
): Holding<Resource, Field> => ({
  has: (resource) => valueIn(resource, field) === value,
  interrupt: field,
  at: field,
});

/**
 * Reserves a name for the resource `owner_id`, whose next append may then use it (docs/decisions/0030-names-are-reserved.md).
 * Throws `name_taken` if another resource has the name. If another resource has only reserved it, takes it over: that
 * resource never got the name, has another one now, or is deleted. With `only_free`, throws `name_taken` then, too.
 */
export async function reserveName<
  Resource,
  Event extends DomainEvent,
  Id extends AnyId,
  Field extends string,
>(
  deps: StoreDeps,
  { operation, idempotency_key, ...context }: WriteContext,
  environment: Environment,
  aggregate: Owner<Resource, Event, Id, Field>,
  name: Name,
  owner_id: Id,
  holding: Holding<Resource, Field>,
  only_free = false,
): Promise<void> {
  await execute({
    ...streamIn(deps, environment, nameAggregate, nameIdOf(name)),
    context,
    check: async (state) => {
      const other_id = state.tag === 'present' ? (state.resource.owner_id as Id) : owner_id;
      if (other_id !== owner_id) {
        if (only_free) throw nameTaken(holding.at);
        const owner = { store_id: name.store_id as StoreId };
        await release(deps, context, environment, aggregate, owner, other_id, holding);
      }
      return { ...name, owner_id };
    },
  });
}

/**
 * Throws `name_taken` if the resource has the name. Otherwise appends an event to its stream. If a write of the resource
 * has reserved the name and not yet appended it, it loses the race and must reserve the name again.
 */
async function release<Resource, Event extends DomainEvent, Id extends AnyId, Field extends string>(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  aggregate: Owner<Resource, Event, Id, Field>,
  owner: { readonly store_id: StoreId },
  id: Id,
  { has, interrupt, at }: Holding<Resource, Field>,
): Promise<void> {
  await executeUnqueued({
    ...streamIn(deps, environment, aggregate, id),
    context,
    owner,
    check: (state) => {
      if (state.tag === 'present' && has(state.resource)) throw nameTaken(at);
      return { type: 'Interrupt', field: interrupt };
    },
  });
}

/** How many numbers are tried for a handle before it gets the id instead. */
const NUMBERS_MAX = 5;

/**
 * Makes a handle from a title and reserves it: the letters and digits of the title with hyphens between the words. If
 * another resource has or had that handle, appends `-2`, `-3` and so on. `reserve` throws `name_taken` for such a handle.
 */
export async function reserveHandle(
  title: string,
  id: AnyId,
  reserve: (handle: string) => Promise<void>,
): Promise<string> {
  const slug = slugOf(title);
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? slug : `${slug}-${number}`;
    const handle = slug === '' ? id : number > NUMBERS_MAX ? `${slug}-${id}` : numbered;
    try {
      await reserve(handle);
      return handle;
    } catch (error) {
      const is_taken = error instanceof CatalogError && error.condition === 'name_taken';
      if (!is_taken || handle.endsWith(id)) throw error;
    }
  }
}

/** Returns the id of the resource that reserved the name last. */
export async function ownerOfName(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  name: Name,
): Promise<string | undefined> {
  return (await findInLog(deps, environment, nameAggregate, nameIdOf(name)))?.owner_id;
}

/** Returns the value of a field, null if the resource has none. */
export const valueIn = (resource: unknown, field: string): unknown =>
  (resource as Readonly<Record<string, unknown>> | undefined)?.[field] ?? null;

const nameTaken = (field: string): CatalogError =>
  new CatalogError('name_taken', { faults: [{ condition: 'name_taken', field, constraint: TAKEN }] });
