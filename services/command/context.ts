import type { EventMetadata } from '../../shared/catalog/events/envelope';
import type { Environment, Realm } from '../../shared/catalog/realm';
import {
  type AccountId,
  type AnyId,
  type ApiKeyId,
  deriveId,
  generateId,
  type StoreId,
} from '../../shared/kernel/ids';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { Operation } from '../../shared/ports/idempotency-store';

/** What writing in stores needs: stores, listings, publications, reviews live in the environments' logs. */
export interface StoreDeps {
  readonly system: System;
  readonly events: Readonly<Record<Environment, EventStore>>;
}

/** What writing accounts and API keys needs besides: the `control` log. */
export interface ControlDeps {
  readonly system: System;
  readonly events: Readonly<Record<Realm, EventStore>>;
}

/** Who writes and why: goes with every event as metadata. */
export interface WriteContext {
  readonly source: EventMetadata['source'];
  /** Of the HTTP request, or one per command line run. */
  readonly request_id: string;
  readonly idempotency_key?: string;
  /** Where the write may be asked for again: then it is found in the log and not written twice. */
  readonly operation?: Operation;
  readonly account_id?: AccountId;
  readonly api_key_id?: ApiKeyId;
}

/** Whom a stream belongs to; the store, or else the account, chooses the lane. */
export type Owner =
  | { readonly store_id: StoreId; readonly account_id?: AccountId }
  | { readonly store_id?: undefined; readonly account_id: AccountId };

export function metadataOf(context: WriteContext, owner: Owner, occurred_at: string): EventMetadata {
  const account_id = owner.account_id ?? context.account_id;
  return {
    occurred_at,
    partition_key: owner.store_id ?? owner.account_id,
    source: context.source,
    request_id: context.request_id,
    ...(owner.store_id === undefined ? {} : { store_id: owner.store_id }),
    ...(account_id === undefined ? {} : { account_id }),
    ...(context.api_key_id === undefined ? {} : { api_key_id: context.api_key_id }),
    ...(context.idempotency_key === undefined ? {} : { idempotency_key: context.idempotency_key }),
    ...(context.operation === undefined ? {} : { operation_id: context.operation.id }),
  };
}

/**
 * The id of a new resource, `given` where the caller derived it. That of an operation follows from it, so that a
 * repetition comes to the same stream; any other is `fresh`, made now and known to nobody.
 */
export function idForNew<Id extends AnyId>(
  system: System,
  { operation }: WriteContext,
  given?: Id,
): { readonly id: Id; readonly fresh: boolean } {
  if (given !== undefined) return { id: given, fresh: false };
  if (operation === undefined) return { id: generateId<Id>(system.now(), system.random), fresh: true };
  return { id: deriveId<Id>(operation.started_at_ms, 'new', operation.id), fresh: false };
}
