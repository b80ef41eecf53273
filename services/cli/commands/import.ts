import { type Command, Option } from 'commander';
import type { Store } from '../../../shared/catalog/store/store';
import type { ListingId } from '../../../shared/kernel/ids';
import { foldText } from '../../../shared/kernel/text';
import type { Runtime } from '../../boot/runtime';
import { findChildren } from '../../command/listing';
import { DryRunLog } from '../../import/dry-run';
import { fetchImage } from '../../import/fetch-image';
import { listingKey } from '../../import/identity';
import type { FetchImage } from '../../import/images';
import type { ImportFile, ImportItem, RowNote } from '../../import/item';
import { openJsonlFile } from '../../import/jsonl';
import { type ImportReport, importedCount, KINDS, LISTED_MAX } from '../../import/report';
import { runImport } from '../../import/run';
import { openShopifyFile } from '../../import/shopify';
import { writerTo } from '../../import/writer';
import { catchUpBeforeRead, waitForManyWrites } from '../catch-up';
import { EXIT, type ExitCode, type Invocation, stopSignal, withRuntime } from '../invocation';
import { choiceOption, currencyArgument, storeOption, verb } from '../options';
import { progressBar } from '../progress';
import { withInputFile } from '../stdin';
import { right, table } from '../table';
import { requireStore } from './store';

/** The size limit is the same as for uploads over HTTP. */
const FETCH_LIMITS = { size_bytes_max: 10_485_760, timeout_ms: 30_000 };

interface ImportOptions {
  readonly format: 'shopify' | 'jsonl';
  readonly store: string;
  readonly currency?: string;
  readonly dryRun?: true;
  readonly overwrite?: true;
  readonly images?: 'fetch' | 'skip';
  readonly allowPrivateImages?: true;
}

export function importCommands(program: Command): void {
  verb(program, 'import', 'Import a catalog from a file; importing the same file again creates no duplicates')
    .argument('<file>', 'Shopify product export (CSV) or JSON Lines file; - reads standard input')
    .addOption(choiceOption('--format <format>', 'Format of the file', ['shopify', 'jsonl']))
    .addOption(storeOption('ID of the store to import into'))
    .option(
      '--currency <code>',
      'Currency of prices without one, as ISO 4217 code; default: USD, or that of the existing publication',
      currencyArgument,
    )
    .option('--overwrite', 'Also overwrite fields that were changed by hand since the last import')
    .addOption(
      new Option('--images <mode>', 'Fetch and upload images, or skip them and only list them in the report')
        .choices(['fetch', 'skip'])
        .default('fetch'),
    )
    .option('--allow-private-images', 'Also fetch images from addresses that are not on the public internet')
    .option('--dry-run', 'Write and fetch nothing; report what an import would do')
    .action(
      withRuntime<ImportOptions>(async (invocation, options, [path]) => {
        const open = options.format === 'shopify' ? openShopifyFile : openJsonlFile;
        return withInputFile(path!, async (file) =>
          importInto(invocation, options, await open(file, options.currency)),
        );
      }),
    );

  const review = program.command('review').description('Manage reviews of publications');
  verb(review, 'import', 'Import reviews from a file; importing the same file again creates no duplicates')
    .argument('<file>', 'JSON Lines file; - reads standard input')
    .addOption(storeOption('ID of the store to import into'))
    .option('--dry-run', 'Write nothing; report what an import would do')
    .action(
      withRuntime<ImportOptions>(async (invocation, options, [path]) =>
        withInputFile(path!, async (file) =>
          importInto(invocation, options, await openJsonlFile(file), ['review']),
        ),
      ),
    );
}

/** Imports a file and prints the report. Exits with a failure only if no row could be imported. */
async function importInto(
  { runtime, context, print }: Invocation,
  options: Omit<ImportOptions, 'format' | 'currency'>,
  file: ImportFile,
  kinds?: readonly ImportItem['kind'][],
): Promise<ExitCode> {
  const store = await requireStore(runtime, options.store);
  const dry_run = options.dryRun === true;
  await catchUpBeforeRead(runtime, store.environment);
  const signal = stopSignal();
  const bar = progressBar(dry_run ? 'dry run' : 'import');
  try {
    const report = await runImport(file, {
      store,
      writer: writerTo(
        dry_run ? dryRunDeps(runtime, store) : runtime,
        { ...context, source: 'import' },
        {
          environment: store.environment,
          store_id: store.id,
          overwrite: options.overwrite === true,
        },
      ),
      findListing: (name) => findListing(runtime, store, name),
      findChildren: async (ids) => {
        const view = await runtime.views[store.environment].current();
        return view ? findChildren(view, ids) : [];
      },
      dry_run,
      ...(options.images === 'fetch' ? { fetch: createFetch(options, signal) } : {}),
      ...(kinds === undefined ? {} : { kinds }),
      on_progress: (done) => bar.show({ done, total: file.total }),
      signal,
    });
    bar.clear();
    // Printed first, so that the report is not lost if the command is stopped while it projects.
    await print({ store_id: store.id, ...report }, () => reportText(report));
    if (!dry_run) await waitForManyWrites(runtime, store.environment, signal);
    if (!report.complete) return EXIT.interrupted;
    return importedCount(report) === 0 ? EXIT.failure : EXIT.ok;
  } finally {
    bar.clear();
  }
}

function createFetch(
  { allowPrivateImages }: Pick<ImportOptions, 'allowPrivateImages'>,
  signal: AbortSignal,
): FetchImage {
  const options = { ...FETCH_LIMITS, allow_private: allowPrivateImages === true, signal };
  return (url, use) => fetchImage(url, options, use);
}

function dryRunDeps(runtime: Runtime, { environment }: Store): Runtime {
  const events = { ...runtime.events, [environment]: new DryRunLog(runtime.events[environment]) };
  return { ...runtime, events };
}

/** Finds a listing that the merchant created under this name. Returns the oldest if there are several. */
async function findListing(runtime: Runtime, store: Store, name: string): Promise<ListingId | undefined> {
  const view = await runtime.views[store.environment].current();
  // `name_fold` finds the candidates, `listingKey` compares them exactly. The index needs a visibility.
  const found = await view?.find('listings', {
    where: {
      store_id: store.id,
      visibility: { in: ['public', 'private'] },
      name_fold: foldText(name),
    },
    order: [['id', 'asc']],
    limit: 20,
  });
  const same_name = found?.find(
    ({ document }) => listingKey(String(document?.body.name)) === listingKey(name),
  );
  return same_name?.id as ListingId | undefined;
}

const COUNTS = ['created', 'updated', 'unchanged', 'failed'] as const;

/** Renders the counts of an import, and every row that failed or was changed, with its line and reason. */
function reportText(report: ImportReport): string {
  const counts = table(
    [report.dry_run ? 'dry run' : '', ...COUNTS.map(right)],
    KINDS.map((kind) => [kind, ...COUNTS.map((count) => report[kind][count])]),
  );
  return [
    counts,
    fieldsText(report),
    notesText('Rows imported with changes', report.warnings),
    unusedText(report),
    imagesText(report),
    notesText('Failed rows', report.failed),
    report.truncated ? `\nOnly the first ${LISTED_MAX} rows of a kind are listed.\n` : '',
    report.complete ? '' : '\nThe import was stopped. Run the same command again to complete it.\n',
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
