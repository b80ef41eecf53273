import { type Command, Option } from 'commander';
import type { Store } from '../../../shared/catalog/store/store';
import type { ListingId, PublicationId } from '../../../shared/kernel/ids';
import { foldText } from '../../../shared/kernel/text';
import type { Runtime } from '../../boot/runtime';
import { findChildren } from '../../command/listing';
import { DryRunLog } from '../../import/dry-run';
import { fetchImage } from '../../import/fetch-image';
import { listingKey, partsOfName } from '../../import/identity';
import type { FetchImage } from '../../import/images';
import type { ImportFile, ImportItem, ListingName, RowNote } from '../../import/item';
import { openJsonlFile } from '../../import/jsonl';
import { importPrices, openPriceList, type PriceList } from '../../import/prices';
import { type ImportReport, importedCount, KINDS, LISTED_MAX } from '../../import/report';
import { runImport } from '../../import/run';
import { openShopifyFile } from '../../import/shopify';
import { undoImport } from '../../import/undo';
import { type CatalogWriter, writerTo } from '../../import/writer';
import { labelTerms } from '../../query/facets';
import { wordScope } from '../../query/read';
import { catchUpBeforeRead, waitForManyWrites } from '../catch-up';
import { CliError, EXIT, type ExitCode, type Invocation, stopSignal, withRuntime } from '../invocation';
import { choiceOption, currencyArgument, storeOption, verb } from '../options';
import { progressBar } from '../progress';
import { withInputFile } from '../stdin';
import { fieldsTable, right, table } from '../table';
import { requireStore } from './store';

/** The size limit is the same as for uploads over HTTP. */
const FETCH_LIMITS = { size_bytes_max: 10_485_760, timeout_ms: 30_000 };

interface ImportOptions {
  readonly format: 'shopify' | 'jsonl' | 'prices';
  readonly store: string;
  readonly currency?: string;
  readonly dryRun?: true;
  readonly overwrite?: true;
  readonly strict?: true;
  readonly images?: 'fetch' | 'skip';
  readonly allowPrivateImages?: true;
}

export function importCommands(program: Command): void {
  verb(program, 'import', 'Import a catalog from a file; importing the same file again creates no duplicates')
    .argument(
      '<file>',
      'Shopify product export (CSV), JSON Lines file or price list (CSV); - reads standard input',
    )
    .addOption(choiceOption('--format <format>', 'Format of the file', ['shopify', 'jsonl', 'prices']))
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
    .option('--strict', 'Exit with 1 if a row failed; default: only if no row could be imported')
    .action(
      withRuntime<ImportOptions>(async (invocation, options, [path]) =>
        withInputFile(path!, async (file) => {
          if (options.format === 'prices')
            return importPriceList(invocation, options, await openPriceList(file));
          const open = options.format === 'shopify' ? openShopifyFile : openJsonlFile;
          return importInto(invocation, options, await open(file, options.currency));
        }),
      ),
    );

  verb(program, 'undo', 'Undo an import, for the publications that nobody has changed since')
    .argument('<run>', 'Run of the import, which its report names')
    .addOption(storeOption('ID of the store'))
    .option('--dry-run', 'Write nothing; report what it would undo')
    .action(withRuntime<ImportOptions>(undo));

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

/** Undoes an import and prints what it has undone. Exits with a failure if something stays. */
async function undo(
  { runtime, context, print }: Invocation,
  { store, dryRun }: ImportOptions,
  [run]: readonly string[],
): Promise<ExitCode> {
  const { id: store_id, environment } = await requireStore(runtime, store);
  const dry_run = dryRun === true;
  const signal = stopSignal();
  const bar = progressBar('undo');
  const on_progress = (done: number, total: number) => bar.show({ done, total });
  // As an import, so that a later one may set the fields again: they were not changed by hand.
  const written = { ...context, source: 'import' } as const;
  const target = { environment, store_id, run: run!, dry_run, signal, on_progress };
  const report = await undoImport(runtime, written, target).finally(bar.clear);
  if (!report) throw new CliError(`The store has no import ${run}.`);
  const { kept, ...counts } = report;
  await print({ store_id, dry_run, ...report }, () => {
    const rows = kept.map(({ id, title, reason }) => [id, title, reason]);
    const listed = rows.length > 0 ? `\n${table(['kept', 'title', 'reason'], rows)}` : '';
    return `${fieldsTable(counts)}${listed}`;
  });
  if (!dry_run) await waitForManyWrites(runtime, environment, signal);
  if (signal.aborted) return EXIT.interrupted;
  return kept.length > 0 ? EXIT.failure : EXIT.ok;
}

/** Imports a catalog and prints the report. */
function importInto(
  invocation: Invocation,
  options: Omit<ImportOptions, 'format' | 'currency'>,
  file: ImportFile,
  kinds?: readonly ImportItem['kind'][],
): Promise<ExitCode> {
  const { runtime } = invocation;
  return runInto(invocation, options, file.total, ({ store, signal, ...parts }) =>
    runImport(file, {
      ...{ store, signal, ...parts },
      findListing: (name) => findListing(runtime, store, name),
      findChildren: async (ids) => {
        const view = await runtime.views[store.environment].current();
        return view ? findChildren(view, ids) : [];
      },
      ...(options.images === 'fetch' ? { fetch: createFetch(options, signal) } : {}),
      ...(kinds === undefined ? {} : { kinds }),
    }),
  );
}

/** Imports a price list and prints the report. */
function importPriceList(
  invocation: Invocation,
  options: Omit<ImportOptions, 'format' | 'currency'>,
  list: PriceList,
): Promise<ExitCode> {
  const total = list.rows.length + list.failed.length;
  return runInto(invocation, options, total, (parts) =>
    importPrices(list, { ...parts, findBySku: (sku) => findBySku(invocation.runtime, parts.store, sku) }),
  );
}

/** The parts that every import has. */
interface RunParts {
  readonly store: Store;
  readonly writer: CatalogWriter;
  readonly dry_run: boolean;
  readonly on_progress: (done: number) => void;
  readonly signal: AbortSignal;
}

/** Runs an import and prints its report. Exits with a failure if no row, or with `--strict` not every row, was imported. */
async function runInto(
  { runtime, context, print }: Invocation,
  options: Omit<ImportOptions, 'format' | 'currency'>,
  total: number,
  run: (parts: RunParts) => Promise<ImportReport>,
): Promise<ExitCode> {
  const store = await requireStore(runtime, options.store);
  const { environment } = store;
  const dry_run = options.dryRun === true;
  await catchUpBeforeRead(runtime, environment);
  const signal = stopSignal();
  const bar = progressBar(dry_run ? 'dry run' : 'import');
  const target = { environment, store_id: store.id, overwrite: options.overwrite === true };
  const deps = dry_run ? dryRunDeps(runtime, store) : runtime;
  const writer = writerTo(deps, { ...context, source: 'import' }, target);
  try {
    const on_progress = (done: number) => bar.show({ done, total });
    const report = await run({ store, writer, dry_run, on_progress, signal });
    bar.clear();
    // Printed first, so that the report is not lost if the command is stopped while it projects.
    const run_id = dry_run ? null : context.request_id;
    const hint = run_id ? `\nTo undo it: catalog undo ${run_id} --store ${store.id}\n` : '';
    await print({ store_id: store.id, run: run_id, ...report }, () => reportText(report) + hint);
    if (!dry_run) await waitForManyWrites(runtime, environment, signal);
    if (!report.complete) return EXIT.interrupted;
    const has_failed = importedCount(report) === 0 || (options.strict && report.failed.length > 0);
    return has_failed ? EXIT.failure : EXIT.ok;
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

/** Finds a listing that the merchant created under this name. Returns the oldest if there are several and no key. */
async function findListing(
  runtime: Runtime,
  store: Store,
  listing: ListingName,
): Promise<ListingId | undefined> {
  const { name, key } = partsOfName(listing);
  const view = await runtime.views[store.environment].current();
  // `name_fold` finds the candidates, `listingKey` compares them exactly. The index needs a visibility.
  const found = await view?.find('listings', {
    where: {
      store_id: store.id,
      visibility: { in: ['public', 'private'] },
      name_fold: foldText(name),
    },
    order: [['id', 'asc']],
    parts: ['state'],
    limit: 100,
  });
  const same = found?.find(({ id, document }) => {
    const { handle, external_id } = document?.state.listing ?? {};
    const has_key = key === undefined || [handle, external_id, id].includes(key);
    return has_key && listingKey(String(document?.body.name)) === listingKey(name);
  });
  return same?.id as ListingId | undefined;
}

/** Finds the publications of a store with a variant of this SKU; at most two, because then it is not known which is meant. */
async function findBySku(runtime: Runtime, store: Store, sku: string): Promise<PublicationId[]> {
  const view = await runtime.views[store.environment].current();
  const found = await view?.search('publications', {
    scope: wordScope(store.id, 'all'),
    ...{ where: {}, order: [['id', 'asc']], limit: 2 },
    ...{ tiers: [labelTerms({ sku: [sku] })], is_exhaustive: true },
  });
  return (found?.documents ?? []).map(({ id }) => id as PublicationId);
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
