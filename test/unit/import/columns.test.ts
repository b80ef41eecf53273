import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertKnownColumns, detectFile, knownColumnsOf } from '../../../services/import/format';
import { IMPORT_FORMATS } from '../../../shared/catalog/vocabulary';
import { withTempDir } from '../../support/temp-dir';

/** Describes the numbered columns by their first and their last number. */
const NUMBERED = /^(Option|Attribute )(2|3|[4-9]|10) /;

test.each(IMPORT_FORMATS)('the documentation names every column of the format %s', (format) => {
  const page = readFileSync('docs/import.md', 'utf8').replaceAll('`… / ', '`Google Shopping / ');
  const known = knownColumnsOf({ format, type: 'csv', encoding: 'utf-8', columns: [] });
  const unnamed = known.filter((column) => !NUMBERED.test(column) && !page.includes(`\`${column}\``));
  expect(unnamed).toEqual([]);
});

test('a column of attributes can have any name, also by a mapping', () =>
  withTempDir(async (folder) => {
    const path = join(folder, 'products.csv');
    const metafield = 'Fabric (product.metafields.custom.fabric)';
    writeFileSync(path, `Title,${metafield},Tela,Other\nTee,Cotton,Lino,x\n`);
    const mapping = { Tela: 'Cloth (product.metafields.custom.cloth)' };
    assertKnownColumns('shopify', mapping);
    expect(() => assertKnownColumns('prices', mapping)).toThrow('the format prices has no such column');
    const detected = await detectFile(path, 'shopify', mapping);
    expect(detected.columns.map(({ used_as }) => used_as)).toEqual(['Title', metafield, mapping.Tela, null]);
    expect(knownColumnsOf(detected)).toEqual(expect.arrayContaining(['Handle', metafield, mapping.Tela]));
  }));
