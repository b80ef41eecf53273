import type { AccountId, AnyId, StoreId } from '../../kernel/ids';
import type { Category } from './envelope';

/** How the write side folds an aggregate's events into its state, and who owns its stream. */
export interface Aggregate<State, Event, Id extends AnyId> {
  readonly category: Category;
  readonly absent: State;
  evolve(state: State, event: Event, id: Id, occurred_at: string): State;
  /** Returns the owner of the stream. Undefined only for a state without events. */
  owner(state: State): Owner | undefined;
}

/** The owner of a stream. The store id, or the account id if there is no store, determines the partition. */
export type Owner =
  | { readonly store_id: StoreId; readonly account_id?: AccountId }
  | { readonly store_id?: undefined; readonly account_id: AccountId };
