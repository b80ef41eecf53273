import { type Command, Option } from 'commander';
import { plainAmount } from '../../../shared/catalog/amounts';
import { IMPORT_FORMATS, type ImportFormat } from '../../../shared/catalog/vocabulary';
import { undoRun } from '../../command/undo';
import type { ColumnMapping } from '../../import/columns';
import { formatOf } from '../../import/format';
import { type ImportFrom, importFile } from '../../import/into-store';
import type { RowNote } from '../../import/item';
import { COUNTS, type ImportReport, importedCount, KINDS, LISTED_MAX } from '../../import/report';
import { catchUpBeforeRead, waitForManyWrites } from '../catch-up';
import { CliError, EXIT, type ExitCode, type Invocation, stopSignal, withRuntime } from '../invocation';
import { columnsArgument, currencyArgument, storeOption, subcommand } from '../options';
import { withProgressBar } from '../progress';
import { withInputFile } from '../stdin';
import { fieldsTable, right, table } from '../table';
import { requireStore } from './store';

interface ImportOptions {
  readonly format?: ImportFormat;
  readonly store: string;
  readonly currency?: string;
  readonly columns?: ColumnMapping;
  readonly dryRun?: true;
  readonly overwrite?: true;
  readonly strict?: true;
  readonly images?: 'fetch' | 'skip';
  readonly allowPrivateImages?: true;
}

export function importCommands(program: Command): void {
  subcommand(
    program,
    'import',
    'Import a catalog from a file; importing the same file again creates no duplicates',
  )
    .argument('<file>', 'File of another system, JSON Lines file or price list; - reads standard input')
    .addOption(
      new Option('--format <format>', 'Format of the file; default: recognised by its content').choices(
        IMPORT_FORMATS,
      ),
    )
    .addOption(storeOption('ID of the store to import into'))
    .option(
      '--currency <code>',
      'Currency of prices without one, as ISO 4217 code; default: that of the existing publication, else of the store, else USD',
      currencyArgument,
    )
    .option(
      '--columns <file>',
      'JSON object of names of CSV columns, each with the name of the known column that it is used as',
      columnsArgument,
    )
    .option('--overwrite', 'Also overwrite fields that were changed by hand since the last import')
    .addOption(
      new Option('--images <mode>', 'Fetch and upload images, or skip them and only list them in the report')
        .choices(['fetch', 'skip'])
        .default('fetch'),
    )
    .option('--allow-private-images', 'Also fetch images from addresses that are not on the public internet')
    .option('--dry-run', 'Write and fetch nothing; report what an import would do')
    .option(
      '--strict',
      'Exit with 1 if a row failed; default: only if nothing was imported, or lines could not be read',
    )
    .action(
      withRuntime<ImportOptions>(async (invocation, options, [path]) =>
        withInputFile(path!, (file) => importInto(invocation, options, file)),
      ),
    );

  subcommand(program, 'undo', 'Undo an import or another run, for what nobody has changed since')
    .argument('<run>', 'Run: the report of an import names it, and so does X-Catalog-Run of requests')
    .addOption(storeOption('ID of the store'))
    .option('--dry-run', 'Write nothing; report what it would undo')
    .action(withRuntime<ImportOptions>(undo));

  const review = program.command('review').description('Manage reviews of publications');
  subcommand(
    review,
    'import',
    'Import reviews from a file; importing the same file again creates no duplicates',
  )
    .argument('<file>', 'JSON Lines file; - reads standard input')
    .addOption(storeOption('ID of the store to import into'))
    .option('--dry-run', 'Write nothing; report what an import would do')
    .action(
      withRuntime<ImportOptions>(async (invocation, options, [path]) =>
        withInputFile(path!, (file) =>
          importInto(invocation, { ...options, format: 'jsonl' }, file, ['review']),
        ),
      ),
    );
}

/** Undoes an import and prints what it has undone. Exits with a failure if something stays. */
async function undo(
  { runtime, context, print }: Invocation,
  { store, dryRun }: ImportOptions,
  [run]: readonly string[],
): Promise<ExitCode> {
  const { id: store_id, environment } = await requireStore(runtime, store);
  const dry_run = dryRun === true;
  await catchUpBeforeRead(runtime, environment);
  const signal = stopSignal();
  const target = { environment, store_id, run: run!, dry_run, signal };
  const report = await withProgressBar('undo', (on_progress) =>
    undoRun(runtime, context, { ...target, on_progress }),
  );
  if (!report) throw new CliError(`The store has no run ${run}.`);
  const { kept, position: _, complete, ...counts } = report;
  await print({ store_id, dry_run, ...counts, kept, complete }, () => {
    const rows = kept.map(({ kind, id, title, reason }) => [kind, id, title, reason]);
    const listed = rows.length > 0 ? `\n${table(['kept', 'id', 'title', 'reason'], rows)}` : '';
    return `${fieldsTable(counts)}${listed}`;
  });
  if (!dry_run) await waitForManyWrites(runtime, environment, signal);
  if (signal.aborted) return EXIT.interrupted;
  return kept.length > 0 ? EXIT.failure : EXIT.ok;
}

/**
 * Imports a file and prints its report. Exits with a failure if no row was imported, if lines could not be read, or with
 * `--strict` if a row failed.
 */
async function importInto(
  { runtime, context, print }: Invocation,
  options: ImportOptions,
  path: string,
  kinds?: ImportFrom['kinds'],
): Promise<ExitCode> {
  const store = await requireStore(runtime, options.store);
  const { environment } = store;
  const dry_run = options.dryRun === true;
  await catchUpBeforeRead(runtime, environment);
  const signal = stopSignal();
  const fetched = options.allowPrivateImages ? 'all' : 'public';
  const format = options.format ?? (await formatOf(path, options.columns));
  const report = await withProgressBar(dry_run ? 'dry run' : 'import', (on_progress) =>
    importFile(runtime, context, {
      ...{ store, path, format, dry_run, signal, on_progress },
      currency: options.currency,
      columns: options.columns,
      overwrite: options.overwrite === true,
      images: options.images === 'fetch' ? fetched : 'skip',
      ...(kinds && { kinds }),
    }),
  );
  // Printed first, so that the report is not lost if the command is stopped while it projects.
  const run_id = report.wrote ? context.request_id : null;
  const hint = run_id ? `\nTo undo it: catalog undo ${run_id} --store ${store.id}\n` : '';
  await print({ store_id: store.id, run: run_id, ...report }, () => reportText(report) + hint);
  if (!dry_run) await waitForManyWrites(runtime, environment, signal);
  if (!report.complete) return EXIT.interrupted;
  const is_refused = importedCount(report) === 0 || report.unread.length > 0;
  return is_refused || (options.strict && report.failed.length > 0) ? EXIT.failure : EXIT.ok;
}

/** Renders the counts of an import, and every row that failed or was changed, with its line and reason. */
function reportText(report: ImportReport): string {
  const counts = table(
    [report.dry_run ? 'dry run' : '', ...COUNTS.map(right)],
    KINDS.map((kind) => [kind, ...COUNTS.map((count) => report[kind][count])]),
  );
  return [
    counts,
    previewText(report),
    fieldsText(report),
    notesText('Rows imported with changes', report.warnings),
    unusedText(report),
    imagesText(report),
    notesText('Failed rows', report.failed),
    report.truncated ? `\nOnly the first ${LISTED_MAX} rows of a kind are listed.\n` : '',
    report.complete ? '' : '\nThe import was stopped. Run the same command again to complete it.\n',
  ].join('');
}

/** The most products that a preview lists. `--json` prints the others. */
const PREVIEW_MAX = 50;

function previewText({ preview, currency }: ImportReport): string {
  if (preview.length === 0) return '';
  const rows = preview
    .slice(0, PREVIEW_MAX)
    .map(({ line, title, price, outcome, fields }) => [
      line,
      title,
      price && `${plainAmount(price.amount, price.currency)} ${price.currency}`,
      outcome === 'created' ? 'would be created' : `would change: ${fields.join(', ')}`,
    ]);
  const others = preview.length - rows.length;
  return [
    `\nProducts\n${table([right('line'), 'title', right('price'), 'what'], rows)}`,
    currency ? `New products without a currency get ${currency}.\n` : '',
    others > 0 ? `and ${others} others. Use --json to list them.\n` : '',
  ].join('');
}

function fieldsText({ fields, kept, dry_run }: ImportReport): string {
  const counts = Object.entries(fields).map(([field, { overwritten, kept }]) => [field, overwritten, kept]);
  if (counts.length === 0) return '';
  const rows = kept.map(({ line, external_id, fields }) => [line, external_id, fields.join(', ')]);
  return [
    `\nExisting items that differ from the file, by field\n`,
    table(['field', right(dry_run ? 'would overwrite' : 'overwritten'), right('kept')], counts),
    rows.length === 0
      ? ''
      : '\nKept, because they were changed by hand since the last import (use --overwrite to take the file)\n' +
        table([right('line'), 'item', 'fields'], rows),
  ].join('');
}

function unusedText({ unused_columns }: ImportReport): string {
  const rows = Object.entries(unused_columns);
  return rows.length === 0
    ? ''
    : `\nColumns that are not stored\n${table(['column', right('rows with a value')], rows)}`;
}

function imagesText({ images }: ImportReport): string {
  if (images.length === 0) return '';
  const all = images.flatMap((publication) => publication.images);
  const attached = all.filter(({ media_id }) => media_id !== null).length;
  return `\nImages: ${all.length} in the file, ${attached} attached to publications. Use --json to list them.\n`;
}

function notesText(title: string, notes: readonly RowNote[]): string {
  if (notes.length === 0) return '';
  const rows = notes.map(({ line, external_id, reason }) => [line, external_id, reason]);
  return `\n${title}\n${table([right('line'), 'item', 'reason'], rows)}`;
}
