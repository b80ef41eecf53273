import { z } from 'zod';
import { accept, type Decision, type Rejection, reject } from '../kernel/decision';
import { assertNever, type Condition } from '../kernel/errors';
import type { AnyId, StoreId } from '../kernel/ids';
import { isSameValue } from '../kernel/same-value';
import { type Aggregate, type Deleted, present, type State } from './events/aggregate';
import type { Category } from './events/envelope';
import type { EventDefinition } from './events/event-definition';
import {
  type Changes,
  changesOf,
  dataOfNew,
  type Fields,
  type Idle,
  type Input,
  initialValues,
  isIdle,
} from './fields';
import { withTranslations } from './translations';

/** A resource of a store whose content is declared as fields. */
export interface FieldResource<Id> {
  readonly id: Id;
  readonly store_id: StoreId;
  /** Number of events so far, except views and idle events. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export type FieldCommand<F extends Fields> =
  | New<'Create', F>
  /** Creates the resource if it does not exist, otherwise patches it. An import sends one per row. */
  | New<'Put', F>
  | { readonly type: 'Update'; readonly changes: Changes<F> }
  /** Appends an event that changes nothing, so that a write that is under way loses the race. `idle`: the data of the event. */
  | { readonly type: 'Interrupt'; readonly field: keyof F & string; readonly idle?: Idle }
  | { readonly type: 'Delete' }
  | EraseCommand
  | Restore;

interface New<Type, F extends Fields> {
  readonly type: Type;
  readonly store_id: string;
  /** Of the resource, to derive ids within it. */
  readonly id?: string;
  readonly input: Input<F>;
  /** What the event has besides fields, if it creates the resource. */
  readonly own?: object | undefined;
}

/** Undoes a deletion of the last `RESTORABLE_DAYS`. Changes nothing if the resource is not deleted. */
interface Restore {
  readonly type: 'Restore';
  readonly now_ms: number;
  readonly own?: object | undefined;
}

/**
 * Makes a deletion final, so that the earlier events of the stream can be removed from the log. The event names the store,
 * because it is the first one of the stream then.
 */
export interface EraseCommand {
  readonly type: 'Erase';
  readonly store_id: string;
}

export const ERASED = z.object({ store_id: z.string() });

export const RESTORABLE_DAYS = 30;
export const RESTORABLE_MS = RESTORABLE_DAYS * 24 * 3_600_000;

interface FieldAggregate<F extends Fields, Resource, Event extends { readonly type: string }> {
  readonly category: Category;
  readonly state_version: number;
  readonly not_found: Condition;
  readonly fields: F;
  /** All events. The first one creates the resource, the last one deletes it. */
  readonly events: readonly [EventDefinition, ...EventDefinition[], EventDefinition];
  /** The event that undoes a deletion. Its data are fields of the resource. Without it, a deletion is for good. */
  readonly restored?: string;
  /** The event that makes a deletion final. Its data are `ERASED`. */
  readonly erased: string;
  /** The events that change fields. */
  readonly changes: readonly EventDefinition<string, z.ZodObject>[];
  /** Values of a new resource that are in no event. */
  readonly initial?: Partial<Resource>;
  /** Applies an event of another type. Returns undefined for the events above. */
  readonly evolveOther?: (before: Resource, event: Event) => Resource | undefined;
  /** Completes the fields that a command sends, or rejects them. `before`: undefined for a new resource. */
  readonly complete?: (sent: Changes<F>, id: string, before?: Resource) => Changes<F> | Rejection;
}

/**
 * Defines the aggregate of a resource that is created, put, patched and deleted by its fields. Creating it again with the
 * same fields appends nothing. A deleted resource stays deleted, unless it is restored.
 */
export function fieldAggregate<
  F extends Fields,
  Resource extends FieldResource<Id>,
  Event extends { readonly type: string; readonly data: object },
  Id extends AnyId,
>(definition: FieldAggregate<F, Resource, Event>): Aggregate<Resource, Event, Id, FieldCommand<F>> {
  const { category, events, state_version, not_found, fields, changes, initial, evolveOther } = definition;
  const { restored, erased } = definition;
  const complete = (sent: Changes<F>, id: string, before?: Resource): Changes<F> | Rejection => {
    const values = withTranslations(sent, before);
    return definition.complete?.(values, id, before) ?? values;
  };
  const created = events[0].type;
  const deleted = events.at(-1)!.type;
  const defaults = initialValues(fields);
  const eventOf = (type: string, data: object): Event => ({ type, data }) as unknown as Event;
  const change = (before: Resource, sent: Changes<F>): Decision<Event> => {
    const values = complete(sent, before.id, before);
    if (isRejection(values)) return values;
    return accept(...(changesOf(changes, before, values) as unknown as Event[]));
  };

  const evolve = (state: State<Resource>, event: Event, id: Id, occurred_at: string): State<Resource> => {
    if (event.type === erased) return { tag: 'deleted', store_id: (event.data as Owned).store_id };
    if (event.type === created && state.tag !== 'deleted') {
      const times = { created_at: occurred_at, updated_at: occurred_at };
      // `id` comes first, because V8 takes twenty times as long for an object literal that begins with a spread.
      return present({ id, ...event.data, ...initial, version: 1, ...times } as unknown as Resource);
    }
    if (event.type === restored && state.tag === 'deleted' && state.resource)
      return present({
        ...state.resource,
        ...event.data,
        version: state.resource.version + 2,
        updated_at: occurred_at,
      });
    if (state.tag !== 'present' || isIdle(event)) return state;
    const before = state.resource;
    if (event.type === deleted) {
      const { store_id } = before;
      const kept = restored !== undefined && { resource: before, deleted_at: occurred_at };
      return { tag: 'deleted', store_id, ...kept };
    }
    const other = evolveOther?.(before, event);
    if (other) return present(other);
    return present({ ...before, ...event.data, version: before.version + 1, updated_at: occurred_at });
  };

  const restore = (
    { resource, deleted_at }: Deleted<Resource>,
    { now_ms, own }: Restore,
  ): Decision<Event> => {
    if (restored === undefined || resource === undefined || deleted_at === undefined)
      return reject(not_found);
    if (now_ms - Date.parse(deleted_at) > RESTORABLE_MS)
      return reject(not_found, `The ${category} was deleted more than ${RESTORABLE_DAYS} days ago`);
    const { schema } = events.find(({ type }) => type === restored)!;
    return accept(eventOf(restored, schema.parse({ ...resource, ...own }) as object));
  };

  const decide = (state: State<Resource>, command: FieldCommand<F>): Decision<Event> => {
    if (command.type === 'Erase')
      return state.tag === 'deleted'
        ? accept(eventOf(erased, { store_id: command.store_id }))
        : reject('lost_race');
    if (state.tag === 'deleted' && command.type === 'Restore') return restore(state, command);
    // A second deletion is ignored.
    if (state.tag === 'deleted' && command.type === 'Interrupt') return accept(eventOf(deleted, {}));
    // A put leaves a deleted resource as it is.
    if (state.tag === 'deleted') return command.type === 'Put' ? accept() : reject(not_found);
    if (command.type === 'Create' || command.type === 'Put') {
      const { store_id, id = '', input, own } = command;
      if (state.tag === 'present' && command.type === 'Put')
        return state.resource.store_id === store_id ? change(state.resource, input) : reject(not_found);
      const values = complete(input, id);
      if (isRejection(values)) return values;
      const data = dataOfNew<object>({ store_id }, defaults, values);
      if (state.tag === 'absent') return accept(eventOf(created, own ? Object.assign(data, own) : data));
      const before = state.resource;
      const is_repeat = isSameValue({ ...before, ...data }, before);
      return is_repeat ? accept() : reject('lost_race', `A ${category} with this id already exists`);
    }
    // The deletion of a resource that does not exist is ignored. The resource can still be created after it.
    if (state.tag === 'absent')
      return command.type === 'Interrupt' ? accept(eventOf(deleted, {})) : reject(not_found);
    switch (command.type) {
      case 'Update':
        return change(state.resource, command.changes);
      case 'Interrupt': {
        const { type, schema } = changes.find(({ schema }) => command.field in schema.shape)!;
        return accept(eventOf(type, { ...schema.parse(state.resource), idle: command.idle ?? {} }));
      }
      case 'Delete':
        return accept(eventOf(deleted, {}));
      case 'Restore':
        return accept();
      default:
        return assertNever(command, `${category} command`);
    }
  };

  return {
    category,
    events,
    state_version,
    not_found,
    evolve,
    decide,
    owner: ({ store_id }) => ({ store_id }),
  };
}

type Owned = { readonly store_id: StoreId };

function isRejection(values: object): values is Rejection {
  return 'ok' in values;
}
