import { type Command, Option } from 'commander';
import type { Store } from '../../../shared/catalog/store/store';
import type { ListingId } from '../../../shared/kernel/ids';
import { foldText } from '../../../shared/kernel/text';
import type { Runtime } from '../../boot/runtime';
import { DryRunLog } from '../../import/dry-run';
import { fetchImage } from '../../import/fetch-image';
import { listingKey } from '../../import/identity';
import type { FetchImage } from '../../import/images';
import type { ImportFile, ImportItem, RowNote } from '../../import/item';
import { openJsonlFile } from '../../import/jsonl';
import { type ImportReport, KINDS, takenOf } from '../../import/report';
import { runImport } from '../../import/run';
import { openShopifyFile } from '../../import/shopify';
import { writerTo } from '../../import/writer';
import { EXIT, type ExitCode, type Invocation, stopSignal, withRuntime } from '../invocation';
import { choiceOption, currencyArgument, storeOption, verb } from '../options';
import { progressBar } from '../progress';
import { projectBeforeRead, projectWritten } from '../projected';
import { right, table } from '../table';
import { requireStore } from './store';

/** No more than an upload may have, and no longer than a shop's server may take. */
const FETCHING = { size_bytes_max: 10_485_760, timeout_ms: 30_000 };

interface ImportOptions {
  readonly format: 'shopify' | 'jsonl';
  readonly store: string;
  readonly currency: string;
  readonly dryRun?: true;
  readonly images?: 'fetch' | 'skip';
  readonly allowPrivateImages?: true;
}

export function importCommands(program: Command): void {
  verb(program, 'import', 'take a catalog from a file; the same file again makes no doubles')
    .argument('<file>', 'Shopify product export (CSV) or JSON Lines')
    .addOption(choiceOption('--format <format>', 'of the file', ['shopify', 'jsonl']))
    .addOption(storeOption('where to'))
    .option('--currency <code>', 'of prices that do not say', currencyArgument, 'USD')
    .addOption(
      new Option('--images <what>', 'fetch and upload them, or only tell of them')
        .choices(['fetch', 'skip'])
        .default('fetch'),
    )
    .option('--allow-private-images', 'fetch from addresses that are not on the public internet, too')
    .option('--dry-run', 'write nothing and fetch nothing; report what would be')
    .action(
      withRuntime<ImportOptions>(async (invocation, options, [path]) => {
        const open = options.format === 'shopify' ? openShopifyFile : openJsonlFile;
        return importInto(invocation, options, await open(path!, options.currency));
      }),
    );

  const review = program.command('review').description('reviews of publications');
  verb(review, 'import', 'take reviews from JSON Lines')
    .argument('<file>', 'JSON Lines')
    .addOption(storeOption('where to'))
    .option('--dry-run', 'write nothing; report what would be')
    .action(
      withRuntime<ImportOptions>(async (invocation, options, [path]) =>
        importInto(invocation, options, await openJsonlFile(path!, 'USD'), ['review']),
      ),
    );
}

/** Failure only where nothing could be taken: rows that were refused are in the report. */
async function importInto(
  { runtime, context, print }: Invocation,
  options: Omit<ImportOptions, 'format' | 'currency'>,
  file: ImportFile,
  kinds?: readonly ImportItem['kind'][],
): Promise<ExitCode> {
  const store = await requireStore(runtime, options.store);
  const dry_run = options.dryRun === true;
  await projectBeforeRead(runtime, store.environment);
  const signal = stopSignal();
  const bar = progressBar(dry_run ? 'dry run' : 'import');
  try {
    const report = await runImport(file, {
      store,
      writer: writerTo(
        dry_run ? dryDeps(runtime, store) : runtime,
        { ...context, source: 'import' },
        {
          environment: store.environment,
          store_id: store.id,
        },
      ),
      findListing: (name) => findListing(runtime, store, name),
      dry_run,
      ...(options.images === 'fetch' ? { fetch: fetcher(options, signal) } : {}),
      ...(kinds === undefined ? {} : { kinds }),
      on_progress: (done) => bar.show({ done, total: file.total }),
      signal,
    });
    bar.clear();
    if (!dry_run) await projectWritten(runtime, store.environment);
    await print({ store_id: store.id, ...report }, () => reportText(report));
    if (!report.complete) return EXIT.interrupted;
    return takenOf(report) === 0 ? EXIT.failure : EXIT.ok;
  } finally {
    bar.clear();
  }
}

function fetcher(
  { allowPrivateImages }: Pick<ImportOptions, 'allowPrivateImages'>,
  signal: AbortSignal,
): FetchImage {
  const options = { ...FETCHING, allow_private: allowPrivateImages === true, signal };
  return (url, use) => fetchImage(url, options, use);
}

function dryDeps(runtime: Runtime, { environment }: Store): Runtime {
  const events = { ...runtime.events, [environment]: new DryRunLog(runtime.events[environment]) };
  return { ...runtime, events };
}

/** A listing that the merchant has made by that name; of several the oldest. */
async function findListing(runtime: Runtime, store: Store, name: string): Promise<ListingId | undefined> {
  const view = await runtime.views[store.environment].current();
  const found = await view?.find('listings', {
    where: {
      store_id: store.id,
      visibility: { in: ['public', 'private'] },
      name_fold: foldText(name),
    },
    order: [['id', 'asc']],
    limit: 20,
  });
  const same = found?.find(({ document }) => listingKey(String(document?.body.name)) === listingKey(name));
  return same?.id as ListingId | undefined;
}

const COUNTS = ['created', 'updated', 'unchanged', 'failed'] as const;

/** What an import came to, for people: counts, then every row that was not taken, with line and reason. */
function reportText(report: ImportReport): string {
  const counts = table(
    [report.dry_run ? 'would be' : '', ...COUNTS.map(right)],
    KINDS.map((kind) => [kind, ...COUNTS.map((count) => report[kind][count])]),
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
  const rows = notes.map(({ line, external_id, reason }) => [line, external_id, reason]);
  return `\n${title}\n${table([right('line'), 'row of', 'reason'], rows)}`;
}
