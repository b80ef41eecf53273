import { describeRejection } from '../../shared/api/error-catalogue';
import type { Publication } from '../../shared/catalog/publication/publication';
import { CatalogError } from '../../shared/kernel/errors';
import type { MediaId } from '../../shared/kernel/ids';
import {
  type FailedRow,
  type ListingItem,
  type PublicationItem,
  RowError,
  type RowNote,
  type UnreadLines,
} from './item';
import type { FieldEffects } from './manual-changes';

/** `media` counts images. An image that several publications use is `created` for the first and `unchanged` for the rest. */
export const KINDS = ['listings', 'publications', 'reviews', 'media'] as const;
export type Kind = (typeof KINDS)[number];
export const COUNTS = ['created', 'updated', 'unchanged', 'failed'] as const;
export type Count = (typeof COUNTS)[number];

export interface ReportedImage {
  readonly url: string;
  readonly alt: string | null;
  /** Null if the publication does not have the image. */
  readonly media_id: MediaId | null;
}

/** The fields of an existing item that an import did not change, because they were changed by hand. */
export interface KeptFields {
  readonly line: number;
  readonly external_id: string | null;
  readonly fields: readonly string[];
}

/** A publication that an import has created or changed, or would create or change. */
export interface PublicationPreview {
  readonly line: number;
  readonly external_id: string;
  readonly title: string;
  /** The price that it would have, null if none is shown. */
  readonly price: { readonly amount: number; readonly currency: string } | null;
  readonly outcome: 'created' | 'updated';
  /** The fields that would change in an existing publication. */
  readonly fields: readonly string[];
  /** Of a row of a price list: the values that it changes. */
  readonly changes?: readonly ValueChange[];
}

/** A value before and after an import: hundredths, or the number of pieces. Null: there is none. */
export interface ValueChange {
  readonly field: string;
  readonly before: number | null;
  readonly after: number | null;
}

/** The images of a publication that was imported. */
export interface PublicationImages {
  readonly publication_id: string;
  readonly external_id: string;
  readonly images: readonly ReportedImage[];
}

/** The result of an import, or with `dry_run` its expected result. `--json` prints this document. */
export interface ImportReport extends Readonly<Record<Kind, Readonly<Record<Count, number>>>> {
  readonly dry_run: boolean;
  /** Whether something was written, so that the import can be undone. */
  readonly wrote: boolean;
  /** False if the import was stopped. Repeating the import completes it. */
  readonly complete: boolean;
  /** The currency of new publications whose rows have none. Missing for price lists, and in reports of earlier releases. */
  readonly currency?: string;
  /** Rows, or parts of rows, that were not imported, sorted by line. */
  readonly failed: readonly RowNote[];
  /** Lines that could not be split into rows. */
  readonly unread: readonly UnreadLines[];
  /** Rows that were imported with changes, sorted by line. */
  readonly warnings: readonly RowNote[];
  /** Number of existing items whose field differed from the file, by field. */
  readonly fields: Readonly<Record<string, Readonly<Record<keyof FieldEffects, number>>>>;
  /** Fields that were kept, sorted by line. */
  readonly kept: readonly KeptFields[];
  /** Number of rows with a value that was not imported, by the name of the column. */
  readonly unused_columns: Readonly<Record<string, number>>;
  readonly images: readonly PublicationImages[];
  /** The publications that were created or changed, or with `dry_run` would be, sorted by line. */
  readonly preview: readonly PublicationPreview[];
  /** Whether `failed`, `unread`, `warnings`, `kept`, `images` or `preview` had more entries than are listed (`LISTED_MAX`). The counts are exact. */
  readonly truncated: boolean;
}

/** The most entries of each list of a report, so that its memory does not grow with the file. */
export const LISTED_MAX = 50_000;

/** The names of fields in the report that differ from those of the interface. */
const FILE_NAMES: Readonly<Record<string, string>> = {
  listing_id: 'listing',
  listing_ids: 'other_listings',
  featured_positions: 'other_listings',
  media_ids: 'images',
  alt: 'images.alt',
  parent_id: 'parent',
};

/** Collects the report while an import runs. */
export class Tally {
  private readonly counts = Object.fromEntries(
    KINDS.map((kind) => [kind, { created: 0, updated: 0, unchanged: 0, failed: 0 }]),
  ) as Record<Kind, Record<Count, number>>;
  private readonly failed: RowNote[] = [];
  private readonly unread: UnreadLines[] = [];
  private readonly warnings: RowNote[] = [];
  private readonly fields: Record<string, Record<keyof FieldEffects, number>> = {};
  private readonly kept: KeptFields[] = [];
  private readonly images: (PublicationImages & { readonly line: number })[] = [];
  /** By line. */
  private readonly preview = new Map<number, PublicationPreview>();
  private truncated = false;
  private wrote = false;

  /** `lists_changes`: whether the report lists the changed publications. A dry run always lists what it would change. */
  constructor(
    private readonly dry_run: boolean,
    private readonly lists_changes = dry_run,
  ) {}

  count(kind: Kind, outcome: Count): void {
    this.counts[kind][outcome]++;
    if (outcome === 'created' || outcome === 'updated') this.wrote = true;
  }

  /** Counts a written publication, and lists it. `fields` are the names of the changed fields. */
  addPublication(
    item: Pick<PublicationPreview, 'line' | 'external_id'>,
    outcome: 'created' | 'updated' | 'unchanged',
    publication: Publication,
    fields: readonly string[],
  ): void {
    this.count('publications', outcome);
    if (outcome !== 'unchanged') this.addPreview(item, outcome, publication, fields);
  }

  /** Adds a publication whose images were attached, arranged or removed. */
  addArranged(item: PublicationItem, publication: Publication): void {
    this.wrote = true;
    this.addPreview(item, 'updated', publication, ['media_ids']);
  }

  /**
   * Adds a row of a price list to the report. `publication` has the price of the publication or variant that the row names.
   * `others`: the fields that change, besides those in `changes`.
   */
  addPrices(
    item: Pick<PublicationPreview, 'line' | 'external_id'>,
    publication: Publication,
    changes: readonly ValueChange[],
    others: readonly string[],
  ): void {
    const fields = [...changes.map(({ field }) => field), ...others];
    if (fields.length > 0) this.addPreview({ ...item, changes }, 'updated', publication, fields);
  }

  private addPreview(
    { line, external_id, changes }: Pick<PublicationPreview, 'line' | 'external_id' | 'changes'>,
    outcome: 'created' | 'updated',
    { title, price_active, price_amount, price_currency }: Publication,
    fields: readonly string[],
  ): void {
    if (!this.lists_changes) return;
    const before = this.preview.get(line);
    if (!before && this.preview.size >= LISTED_MAX) {
      this.truncated = true;
      return;
    }
    const price = price_active ? { amount: price_amount, currency: price_currency } : null;
    const is_new = outcome === 'created' || before?.outcome === 'created';
    const names = fields.map((field) => FILE_NAMES[field] ?? field);
    this.preview.set(line, {
      ...{ line, external_id, title, price },
      outcome: is_new ? 'created' : 'updated',
      fields: is_new ? [] : [...new Set([...(before?.fields ?? []), ...names])],
      ...(changes && { changes }),
    });
  }

  /** Adds a failed row. `kind` is the kind of the item that is missing, null if only a part of an item is missing. */
  fail(kind: Kind | null, { line, external_id, reason, unread }: RowNote & Pick<FailedRow, 'unread'>): void {
    if (kind) this.count(kind, 'failed');
    if (unread) this.list(this.unread, unread);
    this.list(this.failed, { line, external_id, reason });
  }

  warn({ line, external_id, reason }: RowNote): void {
    this.list(this.warnings, { line, external_id, reason });
  }

  /** Adds what a row did to an existing publication or listing. */
  addEffects(item: PublicationItem | ListingItem, { overwritten, kept }: FieldEffects): void {
    const nameOf = (field: string): string =>
      `${item.kind === 'listing' ? 'listing.' : ''}${FILE_NAMES[field] ?? field}`;
    const countOf = (field: string) => (this.fields[nameOf(field)] ??= { overwritten: 0, kept: 0 });
    for (const field of overwritten) countOf(field).overwritten++;
    for (const field of kept) countOf(field).kept++;
    if (kept.length === 0) return;
    const external_id = item.kind === 'listing' ? String(item.fields.name) : item.external_id;
    this.list(this.kept, { line: item.line, external_id, fields: kept.map(nameOf) });
  }

  addImages(line: number, publication: PublicationImages): void {
    if (publication.images.length > 0) this.list(this.images, { line, ...publication });
  }

  private list<Entry>(entries: Entry[], entry: Entry): void {
    if (entries.length < LISTED_MAX) entries.push(entry);
    else this.truncated = true;
  }

  report(options: Pick<ImportReport, 'complete' | 'unused_columns'>): ImportReport {
    const byLine = (a: { line: number }, b: { line: number }): number => a.line - b.line;
    return {
      dry_run: this.dry_run,
      wrote: this.wrote && !this.dry_run,
      ...options,
      ...this.counts,
      failed: this.failed.toSorted(byLine),
      unread: this.unread,
      warnings: this.warnings.toSorted(byLine),
      fields: Object.fromEntries(Object.entries(this.fields).sort(([a], [b]) => (a < b ? -1 : 1))),
      kept: this.kept.toSorted(byLine),
      images: this.images.toSorted(byLine).map(({ line: _line, ...publication }) => publication),
      preview: [...this.preview.values()].sort(byLine),
      truncated: this.truncated,
    };
  }
}

/** Returns the number of created, updated and unchanged items. */
export function importedCount(report: ImportReport): number {
  return KINDS.reduce((sum, kind) => {
    const { created, updated, unchanged } = report[kind];
    return sum + created + updated + unchanged;
  }, 0);
}

/** Failures that are not caused by the row. They end the import. */
const NOT_CAUSED_BY_ROW = new Set(['unavailable', 'database_timeout', 'internal']);

/** Returns in one line why a row was rejected. Returns undefined if the row did not cause the error. */
export function rejectionReason(error: unknown): string | undefined {
  if (error instanceof RowError) return error.message;
  if (!(error instanceof CatalogError) || NOT_CAUSED_BY_ROW.has(error.condition)) return undefined;
  return describeRejection(error);
}
