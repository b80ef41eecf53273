import type { RowNote } from '../import/item';
import { type ImportReport, KINDS } from '../import/report';
import { table } from './table';

const COUNTS = ['created', 'updated', 'unchanged', 'failed'] as const;

/** What an import came to, for people: counts, then every row that was not taken, with line and reason. */
export function reportText(report: ImportReport): string {
  const counts = table(
    [
      { title: report.dry_run ? 'would be' : '' },
      ...COUNTS.map((title) => ({ title, align: 'right' as const })),
    ],
    KINDS.map((kind) => [kind, ...COUNTS.map((count) => String(report[kind][count]))]),
  );
  return [
    counts,
    imagesText(report),
    notesText('Not taken', report.failed),
    notesText('Taken otherwise than written', report.warnings),
    report.complete ? '' : '\nStopped before the end; the same import again completes it.\n',
  ].join('');
}

function imagesText({ images }: ImportReport): string {
  if (images.length === 0) return '';
  const all = images.flatMap((kept) => kept.images);
  const shown = all.filter(({ media_id }) => media_id !== null).length;
  return `\n${all.length} image addresses of ${images.length} publications, ${shown} of them shown; --json lists them.\n`;
}

function notesText(title: string, notes: readonly RowNote[]): string {
  if (notes.length === 0) return '';
  const rows = notes.map(({ line, external_id, reason }) => [String(line), external_id ?? '-', reason]);
  const columns = [{ title: 'line', align: 'right' as const }, { title: 'row of' }, { title: 'reason' }];
  return `\n${title}\n${table(columns, rows)}`;
}
