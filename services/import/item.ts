import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { JsonObject } from '../../shared/catalog/events/envelope';

/** A row, or a part of one, that was not taken, or was taken otherwise than it says. */
export interface RowNote {
  /** Counted from 1, the header included; where the row begins. */
  readonly line: number;
  /** The handle or external id of what the row is about, where it has one. */
  readonly external_id: string | null;
  readonly reason: string;
}

/** Of an image of a publication: fetched, where that is wanted, and told of in the report. */
export interface ImageAddress {
  readonly url: string;
  readonly alt: string | null;
}

/**
 * What a file says of a publication, a listing or a review, in the words of the interface (decisions §6). A field that
 * is left out is left as it is, or at its default in a new one; `null` clears. Checked by the write side's own rules.
 */
export type Fields = JsonObject;

export interface ReviewRow {
  /** The other system's id of the review; without one its own words are what tells it from others. */
  readonly external_id: string | null;
  readonly fields: Fields;
}

export interface PublicationItem {
  readonly kind: 'publication';
  readonly line: number;
  /** Trimmed; what the publication's id is derived from. */
  readonly external_id: string;
  readonly fields: Fields;
  /** The listing's name; null: in none; undefined: not said. */
  readonly listing?: string | null;
  readonly images: readonly ImageAddress[];
  readonly reviews: readonly ReviewRow[];
}

export interface ListingItem {
  readonly kind: 'listing';
  readonly line: number;
  readonly fields: Fields;
}

export interface ReviewItem {
  readonly kind: 'review';
  readonly line: number;
  /** Which publication: by its id, or by the handle or external id it was imported under. */
  readonly publication: { readonly id: string } | { readonly external_id: string };
  readonly review: ReviewRow;
}

/** `about` is what was lost with the row; a variant alone is no loss of its publication. */
export interface FailedRow extends RowNote {
  readonly kind: 'failed';
  readonly about: 'listing' | 'publication' | 'review' | null;
}

export interface Warning extends RowNote {
  readonly kind: 'warning';
}

/** What the readers of every format give, in the file's order. */
export type ImportItem = PublicationItem | ListingItem | ReviewItem | FailedRow | Warning;

/** The file as a whole cannot be taken; its text goes to the operator as it is. */
export class ImportFileError extends Error {
  override readonly name = 'ImportFileError';
}

/** An opened file. `total` is how many items it has, for progress; null where that is not known. */
export interface ImportFile {
  readonly total: number | null;
  /** One step of progress each: a product with what was noted of its rows, or a line. */
  items(): AsyncIterable<readonly ImportItem[]>;
}

/** The same failure as a line for the operator, where the system could not give the file. */
export function fileError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  const why = { ENOENT: 'no such file', EISDIR: 'is a folder', EACCES: 'may not be read' }[code ?? ''];
  return why === undefined ? error : new ImportFileError(`${path}: ${why}`);
}

/** Returns what the system knows of the file. Throws `ImportFileError` where it cannot be read. */
export function statFile(path: string): Promise<Stats> {
  return stat(path).catch((error: unknown) => {
    throw fileError(error, path);
  });
}
