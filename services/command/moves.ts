import { type Listing, listingAggregate } from '../../shared/catalog/listing/listing';
import { type Name, nameAggregate, nameIdOf } from '../../shared/catalog/name/name';
import type { Environment } from '../../shared/catalog/realm';
import type { ListingId, StoreId } from '../../shared/kernel/ids';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { execute, executeUnqueued, type StoreDeps, type WriteContext } from './execute';

/** Announces moves in the tree of a store. Its stream is that of a name, whose value is the parent of the last move. */
const turnOf = (store_id: StoreId): Name => ({ store_id, kind: 'listing', field: 'parent_id', value: '' });

/**
 * Announces that a listing is about to move. The writer checks the tree after this call. If the move that was announced
 * before is not appended yet, this call interrupts it: its writer loses the race, and announces and checks it again.
 * Therefore a writer sees every earlier move, and two moves at the same time make no circle
 * (docs/decisions/0030-names-are-reserved.md#moves).
 */
export async function announceMove(
  deps: StoreDeps,
  { operation, idempotency_key, ...context }: WriteContext,
  environment: Environment,
  { id, store_id }: Listing,
  parent_id: string,
): Promise<void> {
  const turn = turnOf(store_id);
  await execute({
    ...streamIn(deps, environment, nameAggregate, nameIdOf(turn)),
    context,
    check: async (state) => {
      const last = state.tag === 'present' ? state.resource : undefined;
      if (last && last.owner_id !== id) {
        const owner_id = last.owner_id as ListingId;
        const moved = await findInLog(deps, environment, listingAggregate, owner_id);
        if (moved && moved.parent_id !== last.value)
          await executeUnqueued({
            ...streamIn(deps, environment, listingAggregate, owner_id),
            context,
            owner: { store_id },
            check: () => ({ type: 'Interrupt', field: 'parent_id' }) as const,
          });
      }
      return { ...turn, value: parent_id, owner_id: id };
    },
  });
}
