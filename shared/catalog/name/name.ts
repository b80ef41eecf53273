import { z } from 'zod';
import { accept } from '../../kernel/decision';
import { deriveId, type NameId, type StoreId } from '../../kernel/ids';
import { type Aggregate, present } from '../events/aggregate';
import { defineEvent, type EventOf } from '../events/event-definition';

export const nameEvents = [
  /**
   * A resource has reserved the name. It may have belonged to another resource before, which does not use it any more
   * (docs/decisions/0030-names-are-reserved.md).
   */
  defineEvent(
    'NameReserved',
    z.object({
      store_id: z.string(),
      /** The kind of the resource, and the field that has the name as its value. */
      kind: z.string(),
      field: z.string(),
      value: z.string(),
      owner_id: z.string(),
    }),
  ),
] as const;

export type NameEvent = EventOf<typeof nameEvents>;
/** A name and the resource that reserved it last. Whether the resource has the name is in the stream of the resource. */
export type ReservedName = NameEvent['data'];
/** A value that at most one resource of a store may have in a field. */
export type Name = Omit<ReservedName, 'owner_id'>;

/** Returns the id of the stream of a name. */
export function nameIdOf({ store_id, kind, field, value }: Name): NameId {
  return deriveId(0, 'name', store_id, kind, field, value);
}

/**
 * The command is the reservation. Reserving a name again appends an event, also for the same resource: a writer that is
 * about to take over the name then loses the race.
 */
export const nameAggregate: Aggregate<ReservedName, NameEvent, NameId, ReservedName> = {
  category: 'name',
  events: nameEvents,
  state_version: 1,
  // Only an operator can delete the stream of a name.
  not_found: 'lost_race',
  evolve: (_state, { data }) => present(data),
  decide: (_state, data) => accept({ type: 'NameReserved', data }),
  owner: ({ store_id }) => ({ store_id: store_id as StoreId }),
};
