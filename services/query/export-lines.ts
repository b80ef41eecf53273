import { current, type Export, type ExportItem, exportItems } from './export-items';
import { type CsvOptions, shopifyRows } from './export-shopify';
import { translationRows } from './export-translations';

const CSV_TYPE = 'text/csv; charset=utf-8';

/** The formats of an export, by the name that a request gives. */
export const EXPORT_FORMATS = {
  jsonl: {
    file: 'catalog.jsonl',
    content_type: 'application/x-ndjson',
    linesOf: (options: Export) => jsonLines(exportItems(options)),
  },
  shopify: {
    file: 'products.csv',
    content_type: CSV_TYPE,
    linesOf: async function* (options: Export, csv: CsvOptions) {
      const store = await (await current(options)).get('stores', options.store_id);
      yield* shopifyRows(exportItems(options), csv, store?.document?.body.currencies);
    },
  },
  translations: { file: 'translations.csv', content_type: CSV_TYPE, linesOf: translationRows },
} as const;
export type ExportFormat = keyof typeof EXPORT_FORMATS;

interface Output extends CsvOptions {
  readonly format?: ExportFormat;
}

/** Yields the lines of an export, which an import reads (docs/import.md#export). */
export function exportLines(
  options: Export,
  { format = 'jsonl', ...csv }: Output = {},
): AsyncGenerator<string> {
  return EXPORT_FORMATS[format].linesOf(options, csv);
}

async function* jsonLines(items: AsyncIterable<ExportItem>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(item.publication ?? item)}\n`;
}
