import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportItem } from '../import/item';
import { parseJsonLine } from '../import/jsonl';

/** The source folder of the demo. The build copies only compiled TypeScript, so the data files are read from here. */
export const DEMO_FOLDER = join(__dirname, '../../../services/demo');

/** The currency of prices without one. */
const CURRENCY = 'PEN';

/** The listings and products of the test store: two listings, and one product of each kind to try writes on. */
const TEST_ITEMS: ReadonlySet<string> = new Set([
  ...['Cerámica', 'taza-amancay', 'tazon-neblina', 'plato-totora', 'jarra-rimac', 'azucarero-luna'],
  ...['segunda-seleccion', 'Café', 'cafe-chanchamayo', 'cafe-villa-rica', 'cafe-jaen', 'cafe-quillabamba'],
  'suscripcion-cafe',
]);

/**
 * Returns the contents of the live demo store, read from an import file (docs/import.md): eight public listings, two of
 * them below others, one private listing, two products without a listing, and three that are in two listings.
 */
export function liveItems(): ImportItem[] {
  const lines = readFileSync(join(DEMO_FOLDER, 'catalog.jsonl'), 'utf8').trim().split('\n');
  return lines.flatMap((text, index) => parseJsonLine(text, index + 1, CURRENCY));
}

/** Returns the contents of the test demo store: a subset of the live store. */
export function testItems(): ImportItem[] {
  return liveItems().filter(
    (item) =>
      (item.kind === 'listing' && TEST_ITEMS.has(String(item.fields.name))) ||
      (item.kind === 'publication' && TEST_ITEMS.has(item.external_id)),
  );
}
