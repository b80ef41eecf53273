import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportItem } from '../import/item';
import { parseJsonLine } from '../import/jsonl';

/** The folder of the sources: the build compiles TypeScript alone, so the demo's files are read from there. */
export const DEMO_FOLDER = join(__dirname, '../../../services/demo');

/** Prices that name no currency are in soles. */
const CURRENCY = 'PEN';

/** What a developer tries writes on: a handful, in two listings, one product of each kind that matters. */
const IN_TEST: ReadonlySet<string> = new Set([
  ...['Cerámica', 'taza-amancay', 'tazon-neblina', 'plato-totora', 'jarra-rimac', 'azucarero-luna'],
  ...['segunda-seleccion', 'Café', 'cafe-chanchamayo', 'cafe-villa-rica', 'cafe-jaen', 'cafe-quillabamba'],
  'suscripcion-cafe',
]);

/**
 * Returns what the demo's live store has, from a file as an import takes it (docs/import.md): eight listings that
 * anybody sees, one that nobody does, and two products in none.
 */
export function liveItems(): ImportItem[] {
  const lines = readFileSync(join(DEMO_FOLDER, 'catalog.jsonl'), 'utf8').trim().split('\n');
  return lines.flatMap((text, index) => parseJsonLine(text, index + 1, CURRENCY));
}

/** Returns what the demo's test store has: a part of the live store's listings and products. */
export function testItems(): ImportItem[] {
  return liveItems().filter(
    (item) =>
      (item.kind === 'listing' && IN_TEST.has(String(item.fields.name))) ||
      (item.kind === 'publication' && IN_TEST.has(item.external_id)),
  );
}
