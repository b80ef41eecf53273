import { listingAggregate } from '../../shared/catalog/listing/listing';
import { type Name, nameAggregate, nameIdOf } from '../../shared/catalog/name/name';
import type { AnyId, ListingId, StoreId } from '../../shared/kernel/ids';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { execute, executeUnqueued } from './execute';
import type { WriteScope } from './resource-names';

/**
 * The name that locks the tree of a store while a listing moves. Its stream has the form of a reservation: the owner is the
 * listing that moved last, and the value is the parent to which it moved.
 */
const lockOf = (store_id: StoreId): Name => ({ store_id, kind: 'listing', field: 'parent_id', value: '' });

/**
 * Locks the tree of a store for the move of a listing below `parent_id`. The writer checks the tree after this call, so two
 * moves at the same time make no circle (docs/decisions/0030-names-are-reserved.md#moves):
 *
 * 1. The lock shows which listing moved last, and to which parent.
 * 2. If that listing is not there yet, its move is not appended. This call then appends an event that changes nothing to
 *    its stream. The other writer loses the race: it locks the tree again, and checks the tree with this move.
 * 3. This move is recorded in the lock.
 */
export async function lockMove(
  { deps, context, environment, store_id, id }: WriteScope<AnyId>,
  parent_id: string,
): Promise<void> {
  // The events of the lock are not a result of the operation: a repetition must not find them.
  const { operation, idempotency_key, ...of_lock } = context;
  const lock = lockOf(store_id);
  await execute({
    ...streamIn(deps, environment, nameAggregate, nameIdOf(lock)),
    context: of_lock,
    prepare: async (state) => {
      const last = state.tag === 'present' ? state.resource : undefined;
      if (last && last.owner_id !== id) {
        const last_id = last.owner_id as ListingId;
        const moved = await findInLog(deps, environment, listingAggregate, last_id);
        if (moved && moved.parent_id !== last.value)
          // Not in the queue of the stream: the write that waits there may wait for this one.
          await executeUnqueued({
            ...streamIn(deps, environment, listingAggregate, last_id),
            context: of_lock,
            owner: { store_id },
            prepare: () => ({ command: { type: 'Interrupt', field: 'parent_id' } as const }),
          });
      }
      return { command: { ...lock, value: parent_id, owner_id: id } };
    },
  });
}
