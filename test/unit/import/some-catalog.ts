import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { openRuntime, type Runtime } from '../../../services/boot/runtime';
import { createAccount } from '../../../services/command/account';
import { dryRun } from '../../../services/command/dry-run';
import type { WriteContext } from '../../../services/command/execute';
import { findPublication } from '../../../services/command/publication';
import { createStore } from '../../../services/command/store';
import type { ColumnMapping } from '../../../services/import/columns';
import { formatOf } from '../../../services/import/format';
import { publicationIdOf } from '../../../services/import/identity';
import type { FetchImage } from '../../../services/import/images';
import { openFile } from '../../../services/import/into-store';
import type { ImportFile, ImportItem, PublicationItem } from '../../../services/import/item';
import { parseJsonLine } from '../../../services/import/jsonl';
import type { FindChildren, FindListing } from '../../../services/import/listings';
import type { ImportReport } from '../../../services/import/report';
import { runImport } from '../../../services/import/run';
import { openShopifyFile } from '../../../services/import/shopify';
import { type CatalogWriter, writerTo } from '../../../services/import/writer';
import { decodeEvent } from '../../../shared/catalog/events/codec';
import { parseStreamName } from '../../../shared/catalog/events/envelope';
import type { Store } from '../../../shared/catalog/store/store';
import type { ImportFormat } from '../../../shared/catalog/vocabulary';
import { parseConfig } from '../../../shared/kernel/config';
import { realSystem } from '../../../shared/kernel/system';
import { readLog } from '../../support/read-log';
import { withTempDir } from '../../support/temp-dir';

/** An empty store with its own log, and functions to import into it. */
export interface Shop {
  readonly runtime: Runtime;
  readonly store: Store;
  run(rows: readonly unknown[], options?: RunOptions): Promise<ImportReport>;
  /** Imports the lines of a CSV file of Shopify. */
  runShopify(lines: readonly string[], options?: RunOptions): Promise<ImportReport>;
  /** Imports what `itemsIn` has returned. */
  runItems(read: Awaited<ReturnType<typeof itemsIn>>, options?: RunOptions): Promise<ImportReport>;
  /** Returns the real writer. */
  writer(deps?: Partial<Runtime>, overwrite?: boolean): CatalogWriter;
  /** Returns a writer that only previews. */
  dryWriter(): CatalogWriter;
  /** Returns the events of the live log after the creation of the store, each as its type and title or name. */
  history(): Promise<string[]>;
}

export interface RunOptions {
  readonly writer?: CatalogWriter;
  readonly dry_run?: boolean;
  readonly overwrite?: boolean;
  readonly kinds?: readonly ImportItem['kind'][];
  readonly findListing?: FindListing;
  readonly findChildren?: FindChildren;
  readonly signal?: AbortSignal;
  readonly fetch?: FetchImage;
}

/** Who writes by hand: a client of the API. */
export const byHand: WriteContext = { source: 'api', request_id: 'by hand' };

let requests = 0;
export const newContext = (): WriteContext => ({ source: 'import', request_id: `import-${++requests}` });

export async function withShop<Result>(story: (shop: Shop) => Promise<Result>): Promise<Result> {
  return withTempDir(async (folder) => {
    const data = join(folder, 'data');
    const config = parseConfig({ DATA_DIR: data, DEMO: 'off' });
    const runtime = await openRuntime(config, pino({ level: 'silent' }), realSystem);
    try {
      const account = await createAccount(runtime, newContext(), { name: 'Merchant' });
      const target = { account_id: account.value.id };
      const store = await createStore(runtime, newContext(), target, { name: 'Shop', environment: 'live' });
      return await story(shopOf(runtime, store.value, join(folder, 'products.csv')));
    } finally {
      await runtime.close();
    }
  });
}

function shopOf(runtime: Runtime, store: Store, path: string): Shop {
  const writer: Shop['writer'] = (deps = {}, overwrite = false) =>
    writerTo({ ...runtime, ...deps }, newContext(), { environment: 'live', store_id: store.id, overwrite });
  const runFile = (file: ImportFile, options: RunOptions = {}): Promise<ImportReport> => {
    const { overwrite, dry_run = false, findListing = async () => undefined, ...rest } = options;
    return runImport(file, { store, writer: writer({}, overwrite), dry_run, findListing, ...rest });
  };
  return {
    runtime,
    store,
    writer,
    dryWriter: () => writer(dryRun(runtime, 'live')),
    history: () => historyOf(runtime),
    run: (rows, options) => runFile(fileOf(rows), options),
    runItems: ({ file, items }, options) =>
      runFile(
        {
          ...file,
          items: async function* () {
            yield* items.map((item) => [item]);
          },
        },
        options,
      ),
    runShopify: async (lines, options) => {
      writeFileSync(path, lines.join('\n'));
      return runFile(await openShopifyFile(path), options);
    },
  };
}

/** Returns the rows as the lines of a JSON Lines file, counted from 1. */
function fileOf(rows: readonly unknown[]): ImportFile {
  return {
    total: rows.length,
    async *items() {
      for (const [index, row] of rows.entries()) yield parseJsonLine(JSON.stringify(row), index + 1, 'USD');
    },
  };
}

async function historyOf({ events }: Runtime): Promise<string[]> {
  const recorded = await readLog(events.live);
  const others = recorded.filter(({ stream }) => parseStreamName(stream)?.category !== 'store');
  return others.map((event) => {
    const { type, data } = decodeEvent(event);
    const { title, name, body } = data as { title?: string; name?: string; body?: string };
    return [type, title ?? name ?? body].filter((part) => part !== undefined).join(' ');
  });
}

/** Returns a stored publication of an import. */
export const publicationIn = async ({ runtime, store }: Shop, external_id: string) =>
  (await findPublication(runtime, 'live', publicationIdOf(store, external_id, 1)))!;

/** Returns the items that the reader of a file returns, by the format that it is recognised as. */
export const itemsIn = (
  content: string | Uint8Array,
  columns?: ColumnMapping,
): Promise<{
  readonly format: ImportFormat;
  readonly file: ImportFile;
  readonly items: readonly ImportItem[];
}> =>
  withTempDir(async (folder) => {
    const path = join(folder, 'file');
    writeFileSync(path, content);
    const format = await formatOf(path, columns);
    if (format === 'prices') throw new Error('a price list has no items');
    const file = await openFile(path, format, undefined, undefined, columns);
    const items: ImportItem[] = [];
    for await (const step of file.items()) items.push(...step);
    return { format, file, items };
  });

const name = fc.stringMatching(/^[A-Z][a-zñ]{1,6}( [a-z&<]{1,5})?$/);
const amount = fc.integer({ min: 1, max: 99_999 });

/** Generates the lines of a catalog in JSON Lines: a tree of listings, and publications with and without variants. */
export const someCatalog = (): fc.Arbitrary<object[]> =>
  fc
    .tuple(
      fc.uniqueArray(name, { minLength: 2, maxLength: 4 }),
      fc.uniqueArray(
        fc.record({
          title: name,
          place: fc.nat(4),
          price_amount: amount,
          is_public: fc.boolean(),
          options: fc.uniqueArray(fc.constantFrom('Color', 'Size', 'Sabor'), { maxLength: 3 }),
          values: fc.array(fc.uniqueArray(name, { minLength: 3, maxLength: 3 }), {
            minLength: 3,
            maxLength: 3,
          }),
          prices: fc.array(amount, { minLength: 3, maxLength: 3 }),
          stocks: fc.array(fc.option(fc.nat(100)), { minLength: 3, maxLength: 3 }),
          vendor: fc.option(name),
          tags: fc.uniqueArray(name, { maxLength: 2 }),
          text: name,
          material: fc.option(name),
        }),
        { minLength: 1, maxLength: 5, selector: ({ title }) => title.toLowerCase() },
      ),
    )
    .map(([names, products]) => [
      ...names.slice(1).map((each, index) => ({ listing: { name: each, parent: names[index]! } })),
      ...products.map((product, index) => ({
        external_id: `p-${index}`,
        handle: `product-${index}`,
        title: product.title,
        description: product.text,
        description_html: `<p>${product.text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`,
        visibility: product.is_public ? 'public' : 'private',
        price_currency: 'USD',
        price_amount: product.price_amount,
        listing: names[product.place] ?? null,
        vendor: product.vendor,
        tags: product.tags,
        attributes: product.material === null ? null : { material: product.material },
        quantity_available: product.stocks[0],
        options: product.options.map((option) => ({ name: option })),
        variants:
          product.options.length === 0
            ? []
            : product.prices.map((price_amount, at) => ({
                sku: `S-${index}-${at}`,
                price_amount,
                quantity_available: product.stocks[at],
                weight_grams: 100 * at || null,
                option_values: Object.fromEntries(
                  product.options.map((option, nth) => [option, product.values[nth]![at]!]),
                ),
              })),
      })),
    ]);

/** Returns the notes of items, each with its line. */
export const notesIn = (items: readonly ImportItem[]): string[] =>
  items.flatMap((item) => ('reason' in item ? [`${item.line}: ${item.reason}`] : []));

export const publicationsIn = (items: readonly ImportItem[]): PublicationItem[] =>
  items.flatMap((item) => (item.kind === 'publication' ? [item] : []));
