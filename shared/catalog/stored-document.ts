import type { JsonObject, Position } from './events/envelope';
import type { JsonText } from './json-text';
import type { Visibility } from './vocabulary';

/** A scalar that documents are found and sorted by. */
export type Key = string | number | null;

/**
 * A document of a view, in four parts so that a read fetches only what it answers with.
 * Stored in every view store alike; names here are a storage format.
 */
export interface Document<Keys, State, Expansions, Body = JsonObject> {
  /** What it is found and sorted by: the columns that its collection declares. */
  readonly keys: Keys;
  /** The resource as the storefront's own view (visibility `public`) answers it, `stats` included. */
  readonly body: Body;
  /** `body` as it is stored, where a read asked for it and the store keeps it as text. */
  readonly json?: JsonText;
  /** What the projection needs to go on, and the counts that totals come from. */
  readonly state: State;
  /** What `expand` adds, by resource. */
  readonly expansions: Expansions;
  /** What it is searched by, in collections that declare it; lower case, letters and digits and the marks of `words.ts`. */
  readonly words?: readonly string[];
}

/** A document of any collection, as a view store knows it. */
export type ViewDocument = Document<Readonly<Record<string, Key>>, JsonObject, JsonObject>;

/** For documents that have no state, or no expansions. */
export type Nothing = Readonly<Record<never, never>>;

/** `document: null` is a tombstone: it keeps a late, repeated write from bringing a deleted document back. */
export interface StoredDocument<Shape = ViewDocument> {
  readonly id: string;
  /** Of the newest event that is part of it. */
  readonly position: Position;
  readonly document: Shape | null;
}

export type KeyColumns = Readonly<Record<string, 'text' | 'integer'>>;

/** The keys that these columns hold: every one of them and no other. Null in a shell, and where a key says so. */
export type KeysOf<Columns extends KeyColumns> = {
  readonly [Name in keyof Columns]: (Columns[Name] extends 'text' ? string : number) | null;
};

type KeyName<Columns> = (keyof Columns & string) | 'id';

export interface CollectionSpec<Columns extends KeyColumns = KeyColumns> {
  readonly keys: Columns;
  /** Compound indexes; a leading `-` is descending; `id` may be named. */
  readonly indexes: readonly (readonly (KeyName<Columns> | `-${KeyName<Columns>}`)[])[];
  readonly unique?: readonly (keyof Columns & string)[];
  /** Its documents have `words`; every search names a value, or several, of each of the keys of `scope`. */
  readonly words?: { readonly scope: readonly (keyof Columns & string)[] };
}

/** The most that an expanded collection holds (decisions §5), and so the most that documents keep of one. */
export const EXPANDED_MAX = 20;

/** An item of an expanded collection. */
export interface Entry {
  readonly id: string;
  readonly keys: Readonly<Record<string, Key>>;
  readonly body: JsonObject;
}

/** The first `EXPANDED_MAX` of each visibility, in order. */
export type Entries = Readonly<Record<Visibility, readonly Entry[]>>;
