import type { JsonObject } from '../../shared/catalog/events/envelope';
import { csvCell, escapeFormula } from '../../shared/catalog/spreadsheet';
import { type TranslatableText, textAt, textsToTranslate } from '../../shared/catalog/translations';
import { current, type Export, publicationsByName, readListings, scanned } from './export-items';
import type { CsvOptions } from './export-shopify';
import { TEXTS } from './languages';

/** The columns before those of the locales. */
export const TRANSLATION_COLUMNS = ['type', 'id', 'handle', 'field', 'default'] as const;
/** The resources that the file has. The few texts of the store are written by hand. */
export const TRANSLATED_TYPES = ['publication', 'listing', 'media'] as const;
export type TranslatedType = (typeof TRANSLATED_TYPES)[number];

/** Returns the texts and the handle of a resource, as far as it has them. */
export const textsOfType = (type: TranslatedType, resource: object): TranslatableText[] =>
  textsToTranslate([...TEXTS[type]!, 'handle'], resource);

/** Yields a row for each text of publications, listings and media, with its translations (docs/import.md#translations). */
export async function* translationRows(
  options: Export,
  { bom = false, escape_formulas = false }: CsvOptions,
): AsyncGenerator<string> {
  const store = await (await current(options)).get('stores', options.store_id);
  const [, ...locales] = store?.document?.body.locales ?? [];
  const lineOf = (cells: readonly string[]): string =>
    `${cells.map((text) => csvCell(escapeFormula(text, escape_formulas))).join(',')}\n`;
  const rowsOf = (type: TranslatedType, resource: object): string => {
    const { id, handle, translations } = resource as JsonObject;
    return textsOfType(type, resource)
      .map(({ field, path, text }) => {
        const translated = locales.map((locale) => textAt(translations, [locale, ...path]) ?? '');
        return lineOf([type, id, handle ?? '', field, text, ...translated].map(String));
      })
      .join('');
  };
  yield (bom ? '\uFEFF' : '') + lineOf([...TRANSLATION_COLUMNS, ...locales]);
  for (const listing of await readListings(options)) yield rowsOf('listing', listing);
  for await (const { document } of publicationsByName(options))
    yield rowsOf('publication', document.state.publication!);
  for await (const { document } of scanned(options, 'media'))
    if (document) yield rowsOf('media', document.state.media);
}
