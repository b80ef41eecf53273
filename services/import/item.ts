import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { TranslatedType } from '../query/export-translations';

/** Says why a row or a part of a row failed, or how it was changed by the import. */
export interface RowNote {
  /** The first line of the row, counted from 1 including the header. */
  readonly line: number;
  /** The handle or external id of the item, if the row has one. */
  readonly external_id: string | null;
  readonly reason: string;
}

/** The URL of an image of a publication. */
export interface ImageAddress {
  readonly url: string;
  /** Undefined keeps the alternative text that the media has. */
  readonly alt?: string | null | undefined;
  /** The media that an export read the image from. If the store has it, nothing is fetched. */
  readonly media_id?: string | undefined;
}

/**
 * The fields of a publication, listing or review in a file, under the names of the interface (docs/interface/writes.md).
 * A missing field keeps its value, or gets its default in a new resource. `null` clears a field. The command services
 * validate the values.
 */
export type Fields = JsonObject;

/** The values of a variant, by the name of the option. */
export type OptionValues = Readonly<Record<string, string>>;

/**
 * Variants of the file whose rows are invalid. An existing publication keeps its variants with these values. `unknown`: a
 * part of the file was not read. Nothing is removed then, also no image.
 */
export type UnreadVariants = readonly OptionValues[] | 'unknown';

/** The picture of a variant, which `images` contains, too. */
export interface VariantImage {
  readonly url: string;
  readonly option_values: OptionValues;
}

export interface ReviewRow {
  /** The id of the review in the other system. Without one, the import identifies the review by its content. */
  readonly external_id: string | null;
  readonly fields: Fields;
}

/** A listing by its name. `key` tells listings of one name apart: handle, external id or id of one of them. */
export type ListingName = string | { readonly name: string; readonly key: string };

/** Another listing than the main one, and the position among its featured publications. */
export interface OtherListing {
  readonly listing: ListingName;
  readonly featured_position?: number | null | undefined;
}

export interface PublicationItem {
  readonly kind: 'publication';
  readonly line: number;
  /** Trimmed. The id of the publication is derived from it. */
  readonly external_id: string;
  readonly fields: Fields;
  /** The handle of a new publication, for files that do not name it. An existing publication keeps its own. */
  readonly handle_of_new?: string | undefined;
  /** Null removes the publication from its listing; undefined keeps it there. */
  readonly listing?: ListingName | null;
  /** All of them. Undefined keeps the publication where it is. */
  readonly other_listings?: readonly OtherListing[];
  /** All of them, in order. Undefined keeps those of the publication. */
  readonly images?: readonly ImageAddress[] | undefined;
  readonly variant_images?: readonly VariantImage[];
  readonly unread_variants?: UnreadVariants;
  readonly reviews: readonly ReviewRow[];
}

export interface ListingItem {
  readonly kind: 'listing';
  readonly line: number;
  readonly fields: Fields;
  /** As in `ListingName`, if another listing has the same name. */
  readonly key?: string;
  /** The listing above. Null moves the listing to the top; undefined keeps it there. */
  readonly parent?: ListingName | null;
}

export interface ReviewItem {
  readonly kind: 'review';
  readonly line: number;
  /** The reviewed publication, by its id, or by the handle or external id that it was imported with. */
  readonly publication: { readonly id: string } | { readonly external_id: string };
  readonly review: ReviewRow;
}

/** A text of a resource, with its translations. */
export interface TextRow {
  readonly line: number;
  readonly type: TranslatedType;
  readonly id: string;
  /** What a report calls the resource. */
  readonly name: string;
  readonly field: string;
  /** The text in the default locale when the file was written. */
  readonly text: string;
  readonly translations: readonly (readonly [locale: string, text: string])[];
}

/** All texts of a resource in a file of translations. */
export interface TranslationsItem {
  readonly kind: 'translations';
  readonly line: number;
  readonly rows: readonly TextRow[];
}

/** Lines that were not read. `to_line` is null if they are all lines up to the end of the file. */
export interface UnreadLines {
  readonly from_line: number;
  readonly to_line: number | null;
}

export interface FailedRow extends RowNote {
  readonly kind: 'failed';
  /** Set if the file cannot be split into rows there. */
  readonly unread?: UnreadLines;
  /** What was not imported because of the row. Null if only a part is missing, such as a variant. */
  readonly about: 'listing' | 'publication' | 'review' | null;
}

export interface Warning extends RowNote {
  readonly kind: 'warning';
}

/** The items that the reader of every format returns, in the order of the file. */
export type ImportItem = PublicationItem | ListingItem | ReviewItem | TranslationsItem | FailedRow | Warning;

/** An opened import file. */
export interface ImportFile {
  /** How many steps `items` has. */
  readonly total: number;
  /** Number of rows with a value that is not imported, by the name of the column. */
  readonly unused_columns?: Readonly<Record<string, number>>;
  /** Reads the items. Each array is one step of the progress bar: a product with its notes, or a line. */
  items(): AsyncIterable<readonly ImportItem[]>;
}

/** Why a row, or a part of it, cannot be imported. The report prints the message. */
export class RowError extends Error {}
