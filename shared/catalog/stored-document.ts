import type { JsonObject, Position } from './events/envelope';
import type { JsonText } from './json-text';
import type { Visibility } from './vocabulary';

/** A value by which documents are filtered and sorted. */
export type Key = string | number | null;

/**
 * A document of a view: keys, body, state and expansions, and in collections that declare them also words and units. A
 * read fetches only the parts that it needs.
 */
export interface Document<Keys, State, Expansions, Body = JsonObject> {
  /** The values by which the document is filtered and sorted: one for each key that its collection declares. */
  readonly keys: Keys;
  /** The resource as a storefront sees it (visibility `public`), with `stats`. */
  readonly body: Body;
  /** `body` as stored text, if the read asked for it and the view store has it as text. */
  readonly json?: JsonText;
  /** The state that the projection needs for the next event, and the counts for totals. */
  readonly state: State;
  /** The resources that `expand` adds to the body. */
  readonly expansions: Expansions;
  /**
   * The search terms, in collections that declare `words`: lower-case letters and digits, and the prefixes of
   * `words.ts`.
   */
  readonly words?: readonly string[];
  /** What customers can buy, in any order and each one once, in collections that declare `units`. */
  readonly units?: readonly Unit[];
}

/**
 * Something that a customer can buy: a variant of a publication, or a publication without variants. Filters by price, stock and
 * labels of variants hold for one unit (docs/decisions/0034-units.md).
 */
export interface Unit {
  /** What it costs now. Null if the price is inactive. */
  readonly price: number | null;
  readonly in_stock: boolean;
  /** The labels that it has by itself, as in `words`. */
  readonly labels: readonly string[];
}

/** A document of any collection, as view stores handle it. */
export type ViewDocument = Document<Readonly<Record<string, Key>>, JsonObject, JsonObject>;

/** A document whose body is JSON text. Most reads send the text and never access `body`, which parses it. */
export class TextDocument implements ViewDocument {
  readonly keys: ViewDocument['keys'];
  readonly state: JsonObject;
  readonly expansions: JsonObject;
  readonly json: JsonText;
  private parsed: JsonObject | undefined;

  constructor({ keys, state, expansions }: Omit<ViewDocument, 'body' | 'words' | 'units'>, json: JsonText) {
    this.keys = keys;
    this.state = state;
    this.expansions = expansions;
    this.json = json;
  }

  get body(): JsonObject {
    this.parsed ??= this.json.toJSON();
    return this.parsed;
  }
}

/** The type of an empty `state` or `expansions`. */
export type Nothing = Readonly<Record<never, never>>;

/** `document: null` is a tombstone. It prevents a redelivered event from restoring a deleted document. */
export interface StoredDocument<Shape = ViewDocument> {
  readonly id: string;
  /**
   * The stored position: usually the position of the last event that changed the document. Every write increases it, so
   * that a compare-and-set can compare it.
   */
  readonly position: Position;
  readonly document: Shape | null;
}

/** The keys that a collection declares, with their types. */
export type KeyTypes = Readonly<Record<string, 'text' | 'integer'>>;

/**
 * The type of a document's keys. A key is null in a placeholder (see `PublicationDocumentState`), and where the comment
 * of the key says so.
 */
export type KeysOf<Types extends KeyTypes> = {
  readonly [Name in keyof Types]: (Types[Name] extends 'text' ? string : number) | null;
};

type KeyName<Types> = (keyof Types & string) | 'id';

export interface CollectionSpec<Types extends KeyTypes = KeyTypes> {
  readonly keys: Types;
  /** Compound indexes. A leading `-` means descending. `id` is allowed. */
  readonly indexes: readonly (readonly (KeyName<Types> | `-${KeyName<Types>}`)[])[];
  /**
   * Values of the state that view stores need not save, because they equal another value. The expected value of each of
   * `fields` of the aggregate is the one in the body. If the body has none, it is the default, or else the key, or else
   * null. The expected values of the state are `state_defaults`.
   */
  readonly repeats?: {
    readonly aggregate: string;
    readonly fields: readonly string[];
    /** Fields that an aggregate lacks if the body lacks them. */
    readonly optional_fields: readonly string[];
    readonly aggregate_defaults: JsonObject;
    readonly state_defaults: JsonObject;
  };
  /** The lists that are read by page. */
  readonly lists?: ListsSpec<keyof Types & string>;
  /** Set if the documents have `words`. */
  readonly words?: WordsSpec<keyof Types & string>;
  /** Set if the documents have `units`. */
  readonly units?: true;
}

export interface WordsSpec<KeyName extends string = string> {
  /** Text keys. Every search names one or more values for each of them. */
  readonly scope: readonly KeyName[];
  /** The text key of a document's age. A search returns newer documents first, and documents of the same age by descending id. */
  readonly newest_by: KeyName;
  /** Keys by whose range a search filters, and by which it sorts, without reading documents. */
  readonly ranges: readonly KeyName[];
}

/**
 * The lists of a collection: the documents with one value of a scope key, by one key and then by id, in either direction.
 * A view store may maintain counts for them, so that a deep page is found without passing over the items before it.
 */
export interface ListsSpec<KeyName extends string = string> {
  /** There is a list for each value of each of these keys. A query that names several of them uses the first one. */
  readonly scopes: readonly KeyName[];
  /**
   * The keys that lists are filtered by. Each key divides the documents into groups: one for each listed value, or two,
   * with values below a number and with other values. A document in a list must have a value in a group, and a value that
   * is not null for each key that a list is sorted by.
   */
  readonly filters: { readonly [Name in KeyName]?: readonly Key[] | { readonly below: number } };
  /** A view store stores the index of each order in this array, so add new orders at the end. */
  readonly orders: readonly ListOrder<KeyName>[];
  /** Set if a document is in several lists of one scope key. */
  readonly shared?: SharedLists<KeyName>;
  /** The kinds of variants that lists have. Only with `shared`. */
  readonly variants?: readonly ListVariants<KeyName>[];
}

/**
 * A kind of variants of each list, with one variant for each currency or language. A variant contains only the documents that have
 * values of their own for it, such as a price in the currency or a title in the language. In the variant, these values replace the
 * values of `keys`.
 *
 * - A condition on `name` with a text is for the documents in that variant. The query then sees their values in the variant.
 * - A condition of the form `OutsideCondition` is for all other documents.
 * - A query with either condition must name lists, by a key of `scopes`.
 * - A query may have a condition on each kind of variants. It may be sorted by the `keys` of the first kind whose variant it is in.
 * - No two kinds have variants of the same name, or a key in common.
 */
export interface ListVariants<KeyName extends string = string> {
  readonly name: string;
  readonly keys: readonly KeyName[];
  /** Returns the values of `keys` in each variant that the document is in. */
  valuesOf(keys: Readonly<Record<string, Key>>): ReadonlyMap<string, Readonly<Record<string, Key>>>;
  /** Returns the word that the documents in this variant have. */
  wordOf(variant: string): string;
}

/**
 * A scope key with several values per document, such as the listings of a publication. In each of these lists, the document
 * has its own value of the key `rank`.
 *
 * - A condition on `scope` matches the documents that are in one of the lists that it names, or with `not` in none of them.
 * - A query with such a condition sees the lowest value of `rank` that the document has in these lists.
 */
export interface SharedLists<KeyName extends string = string> {
  readonly scope: KeyName;
  readonly rank: KeyName;
  /** Every `rank` is at most this number. A document with a lower one is ranked in the list. */
  readonly rank_max: number;
  /** Returns the rank in each list that the document is in, by the value of `scope`. */
  ranksOf(keys: Readonly<Record<string, Key>>): ReadonlyMap<string, number>;
  /** Returns the word that the documents in this list have: the ones that are ranked there, or the others. */
  wordOf(value: string, is_ranked: boolean): string;
}

interface ListOrder<KeyName extends string> {
  readonly key: KeyName | 'id';
  /** Keys that are also read from the index of the list, so that a condition on them reads no documents. */
  readonly also?: readonly KeyName[];
}

/**
 * Maximum number of items in an expanded collection (docs/interface/reads.md#expansion). Documents store no more than that.
 */
export const EXPANDED_MAX = 20;

/**
 * Maximum size of the items in an expanded collection, in bytes of JSON. Later items are left out. A document may contain
 * two such collections, one per visibility, and MongoDB stores documents of up to 16 MB.
 */
export const EXPANDED_BYTES_MAX = 2_000_000;

/** An item of an expanded collection. The document that contains the collection stores a copy of the item. */
export interface Entry {
  readonly id: string;
  readonly keys: Readonly<Record<string, Key>>;
  readonly body: JsonObject;
}

/** The first `EXPANDED_MAX` items of each visibility, in order, or as many of them as `EXPANDED_BYTES_MAX` allows. */
export type Entries = Readonly<Record<Visibility, readonly Entry[]>>;
