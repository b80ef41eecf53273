import type { JsonObject, Position } from './events/envelope';
import type { JsonText } from './json-text';

/** A scalar that documents are found and sorted by. */
export type Key = string | number | null;

/**
 * A document of a view, in four parts so that a read fetches only what it answers with.
 * Stored in every view store alike; names here are a storage format.
 */
export interface ViewDocument {
  /** What it is found and sorted by, as declared in `collections`. */
  readonly keys: Readonly<Record<string, Key>>;
  /** The resource as the storefront's own view (visibility `public`) answers it, `stats` included. */
  readonly body: JsonObject;
  /** `body` as it is stored, where a read asked for it and the store keeps it as text. */
  readonly json?: JsonText;
  /** What the projection needs to go on, and the counts that totals come from. */
  readonly state: JsonObject;
  /** What `expand` adds, by resource. */
  readonly expansions: JsonObject;
  /** What it is searched by, in collections that declare it; lower case, letters and digits and the marks of `words.ts`. */
  readonly words?: readonly string[];
}

/** `document: null` is a tombstone: it keeps a late, repeated write from bringing a deleted document back. */
export interface StoredDocument<Document = ViewDocument> {
  readonly id: string;
  /** Of the newest event that is part of it. */
  readonly position: Position;
  readonly document: Document | null;
}

export interface CollectionSpec {
  readonly keys: Readonly<Record<string, 'text' | 'integer'>>;
  /** Compound indexes; a leading `-` is descending; `id` may be named. */
  readonly indexes: readonly (readonly string[])[];
  readonly unique?: readonly string[];
  /** Its documents have `words`; every search names a value, or several, of each of the keys of `scope`. */
  readonly words?: { readonly scope: readonly string[] };
}

/** `featured_rank` of what is not featured: after every `featured_position` (1–10,000). */
export const NOT_FEATURED = 1_000_000;
/** `price_up` and `price_down` of an inactive price: last in both directions (decisions §1). */
export const INACTIVE_PRICE_UP = 1_000_000_000_000;
export const INACTIVE_PRICE_DOWN = -1;

/** Every collection of a realm's view store. Names and keys are storage formats. */
export const collections = {
  stores: {
    keys: { account_id: 'text', status: 'text', created_at: 'text', name_fold: 'text' },
    indexes: [['account_id', 'created_at', 'id']],
  },
  listings: {
    keys: { store_id: 'text', visibility: 'text', created_at: 'text', name_fold: 'text', version: 'integer' },
    indexes: [
      ['store_id', 'visibility', 'created_at', 'id'],
      ['store_id', 'visibility', 'name_fold', 'id'],
    ],
  },
  publications: {
    keys: {
      store_id: 'text',
      listing_id: 'text',
      visibility: 'text',
      featured_rank: 'integer',
      created_at: 'text',
      price_up: 'integer',
      price_down: 'integer',
      name_fold: 'text',
      free_shipping: 'integer',
      in_stock: 'integer',
      version: 'integer',
    },
    words: { scope: ['store_id', 'visibility'] },
    indexes: [
      // The last two let a search that filters by them walk by date without looking at documents.
      ['store_id', 'visibility', 'created_at', 'id', 'price_up', 'listing_id'],
      ['store_id', 'visibility', 'price_up', 'id'],
      ['store_id', 'visibility', 'price_down', 'id'],
      ['store_id', 'visibility', 'name_fold', 'id'],
      ['store_id', 'visibility', 'featured_rank', 'id'],
      ['listing_id', 'visibility', 'created_at', 'id'],
      ['listing_id', 'visibility', 'featured_rank', 'created_at', 'id'],
      ['listing_id', 'visibility', 'featured_rank', '-created_at', '-id'],
      ['listing_id', 'visibility', 'featured_rank', 'price_up', 'id'],
      ['listing_id', 'visibility', 'featured_rank', '-price_down', '-id'],
      ['listing_id', 'visibility', 'featured_rank', 'name_fold', 'id'],
      ['listing_id', 'visibility', 'featured_rank', '-name_fold', '-id'],
    ],
  },
  media: {
    keys: { store_id: 'text', status: 'text', created_at: 'text', version: 'integer' },
    indexes: [
      ['store_id', 'created_at', 'id'],
      ['status', 'id'],
    ],
  },
  /** `<media>.<publication or listing>` for each that refers to a media, whether that exists or not. */
  media_uses: {
    keys: { store_id: 'text', media_id: 'text' },
    indexes: [['store_id', 'media_id', 'id']],
  },
  payment_methods: {
    keys: { store_id: 'text', position: 'integer', created_at: 'text', name_fold: 'text' },
    indexes: [['store_id', 'position', 'id']],
  },
  reviews: {
    keys: { store_id: 'text', publication_id: 'text', created_at: 'text', rating: 'integer' },
    indexes: [['publication_id', 'created_at', 'id']],
  },
  accounts: { keys: { status: 'text' }, indexes: [] },
  api_keys: {
    keys: { key_hash: 'text', account_id: 'text', created_at: 'text' },
    indexes: [['account_id', 'created_at', 'id']],
    unique: ['key_hash'],
  },
} as const satisfies Record<string, CollectionSpec>;

export type CollectionName = keyof typeof collections;
export const COLLECTION_NAMES = Object.keys(collections) as CollectionName[];
