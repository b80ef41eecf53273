import { TAKEN } from '../../shared/api/error-catalogue';
import type { Aggregate, State } from '../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import type { Position, StreamName } from '../../shared/catalog/events/envelope';
import { slugOf } from '../../shared/catalog/input-rules';
import { type Name, nameAggregate, nameIdOf, type ReservedName } from '../../shared/catalog/name/name';
import type { Environment } from '../../shared/catalog/realm';
import { allEnded, Semaphore } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { AnyId, StoreId } from '../../shared/kernel/ids';
import { findInLog, type Loaded, load, streamIn, streamNameOf } from '../../shared/ports/stream-state';
import { execute, executeUnqueued, type Prepared, type StoreDeps, type WriteContext } from './execute';
import { serialiseByStream } from './write-queue';

/** A name that a write gives to a resource, and how a resource shows that it has the name. */
export interface WantedName<Resource, Command> {
  readonly name: Name;
  readonly has: (resource: Resource) => boolean;
  /** Makes a write that is under way lose the race. */
  readonly interrupt: Command;
  /**
   * Returns the command that takes from the resource this name and every other name that the resource loses in `after`, the
   * write of the same batch.
   */
  readonly giveUp: (resource: Resource, after: Resource) => Command;
  /** The field that the error names. */
  readonly at: string;
}

/** The resource that a write gives names to. */
export interface NameTaker<Resource, Command> {
  readonly deps: StoreDeps;
  readonly environment: Environment;
  readonly aggregate: Aggregate<Resource, DomainEvent, AnyId, Command>;
  readonly id: AnyId;
}

/** A handle to make for a resource. `wantedOf` returns the name of a handle. */
interface HandleToMake<Resource, Command> {
  readonly title: string;
  readonly wantedOf: (handle: string) => WantedName<Resource, Command>;
}

/** A name with the state of its stream, and the other resource that reserved the name last. */
interface LookedUp<Resource, Command> extends WantedName<Resource, Command> {
  /** Undefined if the stream was not read. */
  readonly loaded?: Loaded<ReservedName>;
  readonly other_id?: AnyId | undefined;
}

/** Names that are looked up or reserved at the same time, so that many of them share one commit of the log. */
const AT_ONCE = 64;

/**
 * Prepares a write that gives names to a resource (docs/decisions/0030-names-are-reserved.md). Looks up the streams of the
 * names side by side. Throws `name_taken` if another resource has one of them, unless another write of the same batch takes
 * the name from that resource. `commandOf` returns the command with the handle, if one is to be made.
 */
export async function prepareNames<Resource, Command>(
  taker: NameTaker<Resource, Command>,
  context: WriteContext,
  wanted: readonly WantedName<Resource, Command>[],
  commandOf: (handle?: string) => Command,
  to_make?: HandleToMake<Resource, Command>,
): Promise<Prepared<Command>> {
  const { deps, environment, aggregate } = taker;
  const [names, handles] = await allEnded([
    forEachName(wanted, async (one) => {
      const looked_up = await lookUp(taker, one);
      const other = looked_up.other_id && (await findInLog(deps, environment, aggregate, looked_up.other_id));
      if (other && one.has(other)) await resourceWithout(one, context, other);
      return looked_up;
    }),
    to_make ? lookUpHandles(taker, to_make) : [],
  ]);
  const first = handles[0]?.name.value;
  const command = commandOf(first);
  if (context.onNames) {
    context.onNames(names.map(({ name, at }) => ({ id: nameIdOf(name), at })));
    return { command };
  }
  return {
    command,
    reserve: async () => {
      const [handle] = await allEnded([
        first === undefined ? undefined : reserveHandle(taker, context, handles),
        forEachName(names, (one) => reserveName(taker, context, one)),
      ]);
      return handle === first ? undefined : commandOf(handle);
    },
  };
}

/** Returns the name with its stream, and the other resource that reserved the name last. */
async function lookUp<Resource, Command>(
  { deps, environment, id }: NameTaker<Resource, Command>,
  wanted: WantedName<Resource, Command>,
): Promise<LookedUp<Resource, Command>> {
  const loaded = await load<ReservedName>(streamIn(deps, environment, nameAggregate, nameIdOf(wanted.name)));
  const owner_id = loaded.state.tag === 'present' ? (loaded.state.resource.owner_id as AnyId) : id;
  return { ...wanted, loaded, other_id: owner_id === id ? undefined : owner_id };
}

/**
 * Returns the resource as another write of the same batch leaves it: without the name. Throws `name_taken` if no other write
 * takes the name from it.
 */
async function resourceWithout<Resource>(
  { has, at }: WantedName<Resource, unknown>,
  { planned }: WriteContext,
  resource: Resource,
): Promise<Resource> {
  const after = (await planned?.(resource as object)) as Resource | undefined;
  if (after === undefined || has(after)) throw nameTaken(at);
  return after;
}

const forEachName = <One, Result>(
  names: readonly One[],
  work: (one: One) => Promise<Result>,
): Promise<Result[]> => {
  const slots = new Semaphore(AT_ONCE);
  return allEnded(names.map((one) => slots.run(() => work(one))));
};

/**
 * Reserves a name for the resource, whose next append may then use it. Throws `name_taken` if another resource has the name.
 * If another resource has only reserved it, takes it over: that resource never got the name, has another one now, or is
 * deleted. With `only_free`, throws `name_taken` then, too.
 */
async function reserveName<Resource, Command>(
  taker: NameTaker<Resource, Command>,
  { operation, idempotency_key, ...context }: WriteContext,
  { loaded, ...wanted }: LookedUp<Resource, Command>,
  { only_free = false } = {},
): Promise<void> {
  const { deps, environment, id } = taker;
  const { name, at } = wanted;
  await execute({
    ...streamIn(deps, environment, nameAggregate, nameIdOf(name)),
    context,
    loaded,
    prepare: async (state, { position }) => {
      const other_id = state.tag === 'present' ? (state.resource.owner_id as AnyId) : id;
      if (other_id !== id) {
        if (only_free) throw nameTaken(at);
        await release({ ...taker, id: other_id }, context, wanted, position);
      }
      return { command: { ...name, owner_id: id } };
    },
  });
}

/**
 * Throws `name_taken` if the resource has the name. If a write of the resource has reserved the name and not yet appended
 * it, that write loses the race and must reserve the name again: the resource has an event after `reserved_at`, or this
 * function appends one. If another write of the same batch takes the name from the resource, that event takes it already.
 */
function release<Resource, Command>(
  { deps, environment, aggregate, id }: NameTaker<Resource, Command>,
  context: WriteContext,
  wanted: WantedName<Resource, Command>,
  reserved_at: Position,
): Promise<void> {
  const ref = streamIn(deps, environment, aggregate, id);
  const hasName = (state: State<Resource>) => state.tag === 'present' && wanted.has(state.resource);
  // Not the queue of the stream: the write that waits there may wait for this one. A write may take many names of a resource.
  return serialiseByStream(ref.events, `${streamNameOf(ref)}.released` as StreamName, async () => {
    const loaded = await load<Resource>(ref);
    if (loaded.position > reserved_at && !hasName(loaded.state)) return;
    await executeUnqueued<Resource, Command>({
      ...ref,
      context,
      loaded,
      owner: { store_id: wanted.name.store_id as StoreId },
      prepare: async (state) => {
        if (state.tag !== 'present' || !wanted.has(state.resource)) return { command: wanted.interrupt };
        const after = await resourceWithout(wanted, context, state.resource);
        return { command: wanted.giveUp(state.resource, after) };
      },
    });
  });
}

/** The last number that is tried for a handle. After it, the handle gets the id instead. */
const LAST_NUMBER = 5;

/**
 * Returns the handles to try for a title, the best first: the letters and digits of the title with hyphens between the
 * words, the same with `-2`, `-3` and so on, and one with the id. If the first handle is not free, returns only the
 * candidates that no other resource has ever reserved.
 */
async function lookUpHandles<Resource, Command>(
  taker: NameTaker<Resource, Command>,
  { title, wantedOf }: HandleToMake<Resource, Command>,
): Promise<LookedUp<Resource, Command>[]> {
  const slug = slugOf(title);
  if (slug === '') return [wantedOf(taker.id)];
  const first = await lookUp(taker, wantedOf(slug));
  const numbers = Array.from({ length: LAST_NUMBER - 1 }, (_, index) => `${slug}-${index + 2}`);
  const others = [...numbers, `${slug}-${taker.id}`].map(wantedOf);
  if (!first.other_id) return [first, ...others];
  const found = await Promise.all(others.map((one) => lookUp(taker, one)));
  return found.filter(({ other_id }) => !other_id);
}

/** Reserves the first of the handles that is still free. Returns it. */
async function reserveHandle<Resource, Command>(
  taker: NameTaker<Resource, Command>,
  context: WriteContext,
  handles: readonly LookedUp<Resource, Command>[],
): Promise<string> {
  for (const [index, handle] of handles.entries()) {
    try {
      await reserveName(taker, context, handle, { only_free: true });
      return handle.name.value;
    } catch (error) {
      const is_taken = error instanceof CatalogError && error.condition === 'name_taken';
      if (!is_taken || index === handles.length - 1) throw error;
    }
  }
  throw new Error('there is no handle to reserve');
}

/** Returns the id of the resource that reserved the name last. */
export async function ownerOfName(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  name: Name,
): Promise<string | undefined> {
  return (await findInLog(deps, environment, nameAggregate, nameIdOf(name)))?.owner_id;
}

/** Returns the value of a field, undefined if the resource or the changes do not have the field. */
export const valueIn = (values: object | undefined, field: string): unknown =>
  (values as Readonly<Record<string, unknown>> | undefined)?.[field];

/** Returns the error of a name that another resource has. */
export const nameTaken = (field: string): CatalogError =>
  new CatalogError('name_taken', { faults: [{ condition: 'name_taken', field, constraint: TAKEN }] });
