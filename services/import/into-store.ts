import type { Environment } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { ImportFormat } from '../../shared/catalog/vocabulary';
import type { ListingId, PublicationId } from '../../shared/kernel/ids';
import { foldText } from '../../shared/kernel/text';
import type { ActiveView } from '../../shared/ports/document-reader';
import { dryRun } from '../command/dry-run';
import type { WriteContext } from '../command/execute';
import { findChildren } from '../command/listing';
import { labelTerms } from '../query/filters';
import { wordScope } from '../query/read';
import type { ColumnMapping } from './columns';
import { fetchImage } from './fetch-image';
import { assertKnownColumns } from './format';
import { openGoogleFile } from './google';
import { listingKey, partsOfName, type StoreIdentity } from './identity';
import type { FetchImage } from './images';
import type { ImportFile, ImportItem, ListingName } from './item';
import { openJsonlFile } from './jsonl';
import type { OtherCurrencies } from './price';
import { importPrices, openPriceList } from './prices';
import type { ImportReport } from './report';
import { runImport } from './run';
import { openShopifyFile } from './shopify';
import { openTranslations } from './translations';
import { openWooCommerceFile } from './woocommerce';
import { currencyOfNew, type ImportDeps, writerTo } from './writer';

/** The size limit is the same as for uploads over HTTP. */
const FETCH_LIMITS = { size_bytes_max: 10_485_760, timeout_ms: 30_000 };

/** The stores that an import writes to, and the documents in which it finds existing listings and variants. */
export type ImportCatalog = ImportDeps & { readonly views: Readonly<Record<Environment, ActiveView>> };

export interface ImportFrom {
  readonly store: Pick<Store, 'id' | 'created_at' | 'environment' | 'currency'> & FileStore;
  readonly path: string;
  readonly format: ImportFormat;
  /** Currency of prices without one. Default for new publications: `currencyOfNew`. */
  readonly currency?: string | undefined;
  /** The columns of a CSV file that are used as others than their names say. */
  readonly columns?: ColumnMapping | undefined;
  /** The most rows that the file may have; default any number. */
  readonly rows_max?: number;
  readonly dry_run: boolean;
  /** Whether the report lists the changed publications also without `dry_run`. */
  readonly lists_changes?: boolean;
  /** Whether to overwrite fields that were changed by hand since the last import. */
  readonly overwrite: boolean;
  /** Whether to fetch pictures, also from private addresses, or only to list them in the report. */
  readonly images: 'public' | 'all' | 'skip';
  /** The kinds of items that the file may contain; default all. */
  readonly kinds?: readonly ImportItem['kind'][];
  readonly on_progress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Imports a file of any format into a store, or says with `dry_run` what that would do. `context.request_id` is the run
 * that `undoImport` takes. Throws `ImportFileError` if the file cannot be read or has too many rows, and for
 * `columns` that the format does not know.
 */
export async function importFile(
  runtime: ImportCatalog,
  context: Omit<WriteContext, 'source'>,
  { store, path, format, currency, columns, rows_max, images, on_progress, ...options }: ImportFrom,
): Promise<ImportReport> {
  const { environment, id: store_id } = store;
  const { dry_run, overwrite, signal } = options;
  const view = runtime.views[environment];
  const deps = dry_run ? dryRun(runtime, environment) : runtime;
  const currency_of_new = currency ?? currencyOfNew(store);
  const target = { environment, store_id, overwrite, currency: currency_of_new };
  const writer = writerTo(deps, { ...context, source: 'import' }, target);
  if (columns) assertKnownColumns(format, columns, store);
  if (format === 'prices') {
    const list = await openPriceList(path, rows_max, columns, store);
    const total = list.rows.length + list.failed.length;
    return importPrices(list, {
      ...options,
      writer,
      findByCode: (key, code) => findByCode(view, store, key, code),
      on_progress: (done) => on_progress(done, total),
    });
  }
  const file = await openFile(path, format, currency, rows_max, columns, store);
  const report = await runImport(file, {
    ...options,
    ...{ store, writer },
    findListing: (name) => findListing(view, store, name),
    findChildren: async (ids) => {
      const current = await view.current();
      return current ? findChildren(current, ids) : [];
    },
    ...(images !== 'skip' && { fetch: createFetch(images === 'all', signal) }),
    on_progress: (done) => on_progress(done, file.total),
  });
  return { ...report, currency: currency_of_new };
}

/** What a reader of files looks at in the store. */
type FileStore = OtherCurrencies & Pick<Store, 'locales'>;
type FileOptions = [currency?: string, rows_max?: number, columns?: ColumnMapping, store?: FileStore];

const OPEN: Readonly<
  Record<Exclude<ImportFormat, 'prices'>, (path: string, ...options: FileOptions) => Promise<ImportFile>>
> = {
  shopify: openShopifyFile,
  woocommerce: openWooCommerceFile,
  google: openGoogleFile,
  jsonl: openJsonlFile,
  translations: openTranslations,
};

/** Opens a file of any format that has items. */
export const openFile = (
  path: string,
  format: Exclude<ImportFormat, 'prices'>,
  ...options: FileOptions
): Promise<ImportFile> => OPEN[format](path, ...options);

function createFetch(allow_private: boolean, signal: AbortSignal): FetchImage {
  return (url, use) => fetchImage(url, { ...FETCH_LIMITS, allow_private, signal }, use);
}

/** Finds a listing that the merchant created under this name. Returns the oldest if there are several and no key. */
async function findListing(
  view: ActiveView,
  store: StoreIdentity,
  listing: ListingName,
): Promise<ListingId | undefined> {
  const { name, key } = partsOfName(listing);
  // `name_fold` finds the candidates, `listingKey` compares them exactly. The index needs a visibility.
  const found = await (await view.current())?.find('listings', {
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

/** Finds the publications of a store with a variant of this code; at most two, because then it is not known which is meant. */
async function findByCode(
  view: ActiveView,
  store: StoreIdentity,
  key: 'sku' | 'barcode',
  code: string,
): Promise<PublicationId[]> {
  const found = await (await view.current())?.search('publications', {
    scope: wordScope(store.id, 'all'),
    ...{ where: {}, order: [['id', 'asc']], limit: 2 },
    ...{ tiers: [labelTerms({ [key]: [code] })], is_exhaustive: true },
  });
  return (found?.documents ?? []).map(({ id }) => id as PublicationId);
}
