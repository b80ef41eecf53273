import { foldText } from '../../kernel/text';
import type { JsonObject } from '../events/envelope';
import type { Facets } from '../publication/facets';
import type { CollectionSpec, Document, Entries, Entry, KeysOf } from '../stored-document';
import type { Visibility } from '../vocabulary';
import type { Store } from './store';

const keys = { account_id: 'text', status: 'text', created_at: 'text', name_fold: 'text' } as const;

export const storeCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['account_id', 'created_at', 'id']],
};

export type StoreKeys = KeysOf<typeof keys>;

export function storeKeys({ account_id, status, created_at, name }: Store): StoreKeys {
  return { account_id, status, created_at, name_fold: foldText(name) };
}

export type StoreBody = JsonObject & {
  readonly id: string;
  readonly stats: { readonly listing_count: number };
};

/**
 * `store` is null in a shell: listings or publications came, the store itself did not (its stream may be parked).
 * A shell has no keys and an empty body, so no read finds it.
 */
export interface StoreDocumentState {
  readonly store: Store | null;
  readonly account_id: string | null;
  /** Over all of the store's publications, in whatever listing or none. */
  readonly facets: Facets;
  readonly listings: Readonly<Record<Visibility, number>>;
  readonly media: number;
  readonly payment_methods: number;
  /** Of the newest event of the store's own stream that is part of this. */
  readonly revision: number;
}

export interface StoreExpansions {
  readonly listings: Entries;
  /** The newest `EXPANDED_MAX`. */
  readonly media: readonly Entry[];
}

export type StoreDocument = Document<StoreKeys, StoreDocumentState, StoreExpansions, StoreBody>;
