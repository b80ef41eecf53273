import { foldText } from '../../kernel/text';
import type { JsonObject } from '../events/envelope';
import type { Facets } from '../publication/facets';
import type { CollectionSpec, Document, Entries, KeysOf, Nothing } from '../stored-document';
import type { Visibility } from '../vocabulary';
import type { PaymentMethodFields, Store } from './store';

const keys = {
  account_id: 'text',
  status: 'text',
  created_at: 'text',
  name_fold: 'text',
  version: 'integer',
  /** 1 if publications have the price rules of the store, otherwise null. */
  derives: 'integer',
} as const;

export const storeCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [
    ['account_id', 'created_at', 'id'],
    ['derives', 'id'],
  ],
};

export type StoreKeys = KeysOf<typeof keys>;

export function storeKeys({ account_id, status, created_at, name, version, derives }: Store): StoreKeys {
  return { account_id, status, created_at, name_fold: foldText(name), version, derives: derives ? 1 : null };
}

export type StoreBody = JsonObject & {
  readonly id: string;
  readonly locales?: string[];
  readonly currencies?: string[];
  /** `listing_count`: number of public listings. */
  readonly stats: { readonly listing_count: number };
};

/** An active store, with what answers depend on besides the documents that they show. */
export type ActiveStore = Pick<Store, 'id' | 'locales' | 'currencies' | 'markets' | 'price_lists'>;

/**
 * The part of a store's document that the projection needs for the next event.
 *
 * A store's document is created as a placeholder if an event of a listing, publication or media of the store is
 * projected before the first event of the store's own stream, for example because that stream is on the dead-letter
 * list. In a placeholder, `store` is null, all keys are null and the body is empty, so no read returns it.
 */
export interface StoreDocumentState {
  readonly store: Store | null;
  readonly account_id: string | null;
  /** Counts of all publications of the store, including publications in no listing. */
  readonly facets: Facets;
  /** Number of listings, by visibility. */
  readonly listings: Readonly<Record<Visibility, number>>;
  /** Number of media, by visibility. Media are `public` if a public publication or listing uses them. */
  readonly media: Readonly<Record<Visibility, number>>;
  /** Number of payment methods. */
  readonly payment_methods: number;
  /** Revision of the last event of the store's own stream that is in this document. */
  readonly revision: number;
}

export interface StoreExpansions {
  readonly listings: Entries;
  /** The newest media. */
  readonly media: Entries;
}

export type StoreDocument = Document<StoreKeys, StoreDocumentState, StoreExpansions, StoreBody>;

const method_keys = { store_id: 'text', position: 'integer', created_at: 'text', name_fold: 'text' } as const;

export const paymentMethodCollection: CollectionSpec<typeof method_keys> = {
  keys: method_keys,
  indexes: [['store_id', 'position', 'id']],
};

export type PaymentMethodKeys = KeysOf<typeof method_keys>;

export function paymentMethodKeys(
  store_id: string,
  { position, name }: PaymentMethodFields,
  created_at: string,
): PaymentMethodKeys {
  return { store_id, position, created_at, name_fold: foldText(name) };
}

export type PaymentMethodDocument = Document<PaymentMethodKeys, Nothing, Nothing>;
