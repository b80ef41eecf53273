import type { Store } from '../../shared/catalog/store/store';
import { type AnyId, deriveId } from '../../shared/kernel/ids';

/**
 * The fields of a store that are part of every derived id. An id is derived from these fields, the kind and the name of
 * the item, and a generation. The format of an imported file is not part of it, so a repeated import finds the same
 * resources in any format. A put by external id finds them, too.
 *
 * The generation starts at 1. The id of a deleted resource cannot be used again, so the writer then tries the next
 * generation.
 */
export type StoreIdentity = Pick<Store, 'id' | 'created_at'>;

/** Returns the id of an item that another system names. */
export function derivedIdOf<Id extends AnyId>(
  store: StoreIdentity,
  kind: string,
  name: string,
  generation: number,
): Id {
  const suffix = generation === 1 ? [] : [`n${generation}`];
  return deriveId<Id>(Date.parse(store.created_at), store.id, kind, name, ...suffix);
}
