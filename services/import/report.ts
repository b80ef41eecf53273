import { errorCatalogue } from '../../shared/api/error-catalogue';
import { CatalogError } from '../../shared/kernel/errors';
import type { MediaId } from '../../shared/kernel/ids';
import type { ImageAddress, RowNote } from './item';

export const KINDS = ['listings', 'publications', 'reviews', 'media'] as const;
export type Kind = (typeof KINDS)[number];
export type Count = 'created' | 'updated' | 'unchanged' | 'failed';

/** `media_id` is null where it was not fetched, or could not be. */
export interface ReportedImage extends ImageAddress {
  readonly media_id: MediaId | null;
}

/** The images of one publication that was taken. */
export interface PublicationImages {
  readonly publication_id: string;
  readonly external_id: string;
  readonly images: readonly ReportedImage[];
}

/** What an import came to; the document that `--json` prints. With `dry_run`, what it would come to. */
export interface ImportReport {
  readonly dry_run: boolean;
  /** False where it was stopped in the middle; the same import again completes it. */
  readonly complete: boolean;
  readonly listings: Readonly<Record<Count, number>>;
  readonly publications: Readonly<Record<Count, number>>;
  readonly reviews: Readonly<Record<Count, number>>;
  /** Images that were fetched; one on several publications was created for the first. */
  readonly media: Readonly<Record<Count, number>>;
  /** Rows that were not taken, by line. */
  readonly failed: readonly RowNote[];
  /** Rows that were taken otherwise than they say, by line. */
  readonly warnings: readonly RowNote[];
  readonly images: readonly PublicationImages[];
}

/** Gathers a report while an import runs. */
export class Tally {
  private readonly counts = Object.fromEntries(
    KINDS.map((kind) => [kind, { created: 0, updated: 0, unchanged: 0, failed: 0 }]),
  ) as Record<Kind, Record<Count, number>>;
  private readonly failed: RowNote[] = [];
  private readonly warnings: RowNote[] = [];
  private readonly images: (PublicationImages & { readonly line: number })[] = [];

  count(kind: Kind, outcome: Count): void {
    this.counts[kind][outcome]++;
  }

  /** `kind` is what is lost with the row; null where the row is only a part of something. */
  fail(kind: Kind | null, { line, external_id, reason }: RowNote): void {
    if (kind) this.count(kind, 'failed');
    this.failed.push({ line, external_id, reason });
  }

  warn({ line, external_id, reason }: RowNote): void {
    this.warnings.push({ line, external_id, reason });
  }

  keepImages(line: number, kept: PublicationImages): void {
    if (kept.images.length > 0) this.images.push({ line, ...kept });
  }

  report(options: { dry_run: boolean; complete: boolean }): ImportReport {
    const byLine = (a: { line: number }, b: { line: number }): number => a.line - b.line;
    return {
      ...options,
      ...this.counts,
      failed: this.failed.toSorted(byLine),
      warnings: this.warnings.toSorted(byLine),
      images: this.images.toSorted(byLine).map(({ line: _line, ...kept }) => kept),
    };
  }
}

/** How much was taken, written anew or there already. */
export function takenOf(report: ImportReport): number {
  return KINDS.reduce((sum, kind) => {
    const { created, updated, unchanged } = report[kind];
    return sum + created + updated + unchanged;
  }, 0);
}

/** Failures that are not the row's: the import cannot go on. */
const NOT_THE_ROW = new Set(['unavailable', 'database_timeout', 'internal']);

/** Why the write side refused a row, in one line; undefined where the failure is not the row's. */
export function rejectionReason(error: unknown): string | undefined {
  if (!(error instanceof CatalogError) || NOT_THE_ROW.has(error.condition)) return undefined;
  return describeRejection(error);
}

/** Every fault by its field, or else what the condition means. */
export function describeRejection(error: CatalogError): string {
  if (error.faults.length > 0)
    return error.faults.map(({ field, constraint }) => `${field}: ${wording(constraint)}`).join('; ');
  return error.message || errorCatalogue[error.condition].message;
}

/** A constraint says what the value should have been. */
function wording(constraint: string): string {
  return constraint === 'required' ? 'is required' : `must be ${constraint}`;
}
