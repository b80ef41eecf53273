import type { AccountId, AnyId, StoreId } from '../../kernel/ids';
import type { Category } from './envelope';

/** An aggregate as the write side sees it: how its events add up, and whom its stream belongs to. */
export interface Aggregate<State, Event, Id extends AnyId> {
  readonly category: Category;
  readonly absent: State;
  evolve(state: State, event: Event, id: Id, at: string): State;
  /** Undefined only for a state without events. */
  owner(state: State): Owner | undefined;
}

/** Whom a stream belongs to; the store, or else the account, chooses the lane. */
export type Owner =
  | { readonly store_id: StoreId; readonly account_id?: AccountId }
  | { readonly store_id?: undefined; readonly account_id: AccountId };
