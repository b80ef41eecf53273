import { type Export, type ExportItem, exportItems } from './export-items';
import { type CsvOptions, shopifyRows } from './export-shopify';

/** The formats of an export, by the name that a request gives. */
export const EXPORT_FORMATS = {
  jsonl: { file: 'catalog.jsonl', content_type: 'application/x-ndjson', linesOf: jsonLines },
  shopify: { file: 'products.csv', content_type: 'text/csv; charset=utf-8', linesOf: shopifyRows },
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
  return EXPORT_FORMATS[format].linesOf(exportItems(options), csv);
}

async function* jsonLines(items: AsyncIterable<ExportItem>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(item.publication ?? item)}\n`;
}
