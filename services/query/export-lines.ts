import { type Export, type ExportItem, exportItems } from './export-items';
import { shopifyRows } from './export-shopify';

/** The formats of an export, by the name that a request gives. */
export const EXPORT_FORMATS = {
  jsonl: { content_type: 'application/x-ndjson', linesOf: jsonLines },
  shopify: { content_type: 'text/csv; charset=utf-8', linesOf: shopifyRows },
} as const;
export type ExportFormat = keyof typeof EXPORT_FORMATS;

/** Yields the lines of an export, which an import reads (docs/import.md#export). */
export function exportLines(options: Export, format: ExportFormat = 'jsonl'): AsyncGenerator<string> {
  return EXPORT_FORMATS[format].linesOf(exportItems(options));
}

async function* jsonLines(items: AsyncIterable<ExportItem>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(item.publication ?? item)}\n`;
}
