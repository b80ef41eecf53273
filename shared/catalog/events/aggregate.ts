import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Decision } from '../../kernel/decision';
import type { Condition } from '../../kernel/errors';
import type { AccountId, AnyId, StoreId } from '../../kernel/ids';
import type { Category } from './envelope';
import type { EventDefinition } from './event-definition';

/** The state of a resource: the result of folding the events of its stream. */
export type State<Resource> =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly resource: Resource }
  | Deleted<Resource>;

/** `resource`: the resource before the deletion, if it can be restored. */
export interface Deleted<Resource> {
  readonly tag: 'deleted';
  readonly store_id: StoreId;
  readonly resource?: Resource;
  readonly deleted_at?: string;
}

export const ABSENT: State<never> = { tag: 'absent' };
export const present = <Resource>(resource: Resource): State<Resource> => ({ tag: 'present', resource });

/** Returns the state of a resource that is stored in a document. */
export const stateOf = <Resource>(resource: Resource | null | undefined): State<Resource> =>
  resource ? present(resource) : ABSENT;

/** A kind of resource: its events, how they are folded to a state, and which events its commands append. */
export interface Aggregate<Resource, Event, Id extends AnyId, Command> {
  readonly category: Category;
  /** Its event types. A snapshot of a state is only used with the definitions that it was folded with. */
  readonly events: readonly EventDefinition[];
  /** Increase it when `evolve` makes another state of the same events: snapshots of other versions are not used. */
  readonly state_version: number;
  /** The error of a write to a resource that does not exist or was deleted. */
  readonly not_found: Condition;
  /** Applies one event to the state. Pure and total: it never throws. */
  evolve(state: State<Resource>, event: Event, id: Id, occurred_at: string): State<Resource>;
  /** Returns the events of the command, none if it changes nothing, or the condition to reject it with. Pure. */
  decide(state: State<Resource>, command: Command): Decision<Event>;
  owner(resource: Resource): Owner;
}

/** The owner of a stream. The store id, or the account id if there is no store, determines the partition. */
export type Owner =
  | { readonly store_id: StoreId; readonly account_id?: AccountId }
  | { readonly store_id?: undefined; readonly account_id: AccountId };

/** Characters of the hash in a schema. */
const HASH_LENGTH = 16;
/** Increase it when the format of all snapshots changes. */
const SNAPSHOT_FORMAT = 2;

const schemas = new WeakMap<object, string>();

/**
 * Returns a text that identifies how the states of the aggregate are folded. It changes with `state_version` and with
 * the types, versions and fields of the events.
 */
export function stateSchemaOf(
  aggregate: Pick<Aggregate<never, never, AnyId, never>, 'category' | 'events' | 'state_version'>,
): string {
  const known = schemas.get(aggregate);
  if (known !== undefined) return known;
  const { category, events, state_version } = aggregate;
  const definitions = events.map(({ type, version, schema }) => [type, version, z.toJSONSchema(schema)]);
  const text = JSON.stringify([SNAPSHOT_FORMAT, category, state_version, definitions]);
  const schema = hash('sha256', text, 'base64url').slice(0, HASH_LENGTH);
  schemas.set(aggregate, schema);
  return schema;
}
