import { hash } from 'node:crypto';
import { z } from 'zod';
import type { AccountId, AnyId, StoreId } from '../../kernel/ids';
import type { Category } from './envelope';
import type { EventDefinition } from './event-definition';

/** How the write side folds an aggregate's events into its state, and who owns its stream. */
export interface Aggregate<State, Event, Id extends AnyId> {
  readonly category: Category;
  /** Its event types. A snapshot of a state is only used with the definitions that it was folded with. */
  readonly events: readonly EventDefinition[];
  /** Increase it when `evolve` makes another state of the same events: snapshots of other versions are not used. */
  readonly state_version: number;
  readonly absent: State;
  evolve(state: State, event: Event, id: Id, occurred_at: string): State;
  /** Returns the owner of the stream. Undefined only for a state without events. */
  owner(state: State): Owner | undefined;
}

/** The owner of a stream. The store id, or the account id if there is no store, determines the partition. */
export type Owner =
  | { readonly store_id: StoreId; readonly account_id?: AccountId }
  | { readonly store_id?: undefined; readonly account_id: AccountId };

/** Characters of the hash in a schema. */
const HASH_LENGTH = 16;

const schemas = new WeakMap<object, string>();

/**
 * Returns a text that identifies how the states of the aggregate are folded. It changes with `state_version` and with
 * the types, versions and fields of the events.
 */
export function stateSchemaOf(
  aggregate: Pick<Aggregate<unknown, unknown, AnyId>, 'category' | 'events' | 'state_version'>,
): string {
  const known = schemas.get(aggregate);
  if (known !== undefined) return known;
  const { category, events, state_version } = aggregate;
  const definitions = events.map(({ type, version, schema }) => [type, version, z.toJSONSchema(schema)]);
  const text = JSON.stringify([category, state_version, definitions]);
  const schema = hash('sha256', text, 'base64url').slice(0, HASH_LENGTH);
  schemas.set(aggregate, schema);
  return schema;
}
