import { listingPatchBody, mediaPatchBody } from '../../shared/api/requests/writes';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { escapeFormula } from '../../shared/catalog/spreadsheet';
import type { Store } from '../../shared/catalog/store/store';
import { canonicalLocale, mergePatch, type Translated } from '../../shared/catalog/translations';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { isUuid } from '../../shared/kernel/ids';
import { publicationPatchSchema } from '../command/publication';
import { TRANSLATED_TYPES, TRANSLATION_COLUMNS, textsOfType } from '../query/export-translations';
import { type ColumnMapping, cleanCell } from './columns';
import type { FailedRow, ImportFile, TextRow } from './item';
import { readRows } from './records';
import { rejectionReason, type Tally } from './report';
import { assertRows, ImportFileError } from './text-file';
import type { CatalogWriter } from './writer';

/*
 * Files of translations (docs/import.md#translations): each row has a text of a publication, a listing or a media, and its
 * translations.
 */

const COLUMNS = Object.fromEntries(TRANSLATION_COLUMNS.map((name) => [name, [name]])) as Record<
  (typeof TRANSLATION_COLUMNS)[number],
  [string]
>;
/** The columns of the format. A further one is named by its locale. */
export const TRANSLATIONS_FILE = {
  columns: COLUMNS,
  attributeOf: (name: string) => (/^[a-z]{2,3}(-|$)/i.test(name) ? canonicalLocale(name) : undefined),
};
const SCHEMAS = { publication: publicationPatchSchema, listing: listingPatchBody, media: mediaPatchBody };
const KIND_OF = { publication: 'publications', listing: 'listings', media: 'media' } as const;

/**
 * Reads the rows with a translation into one of the other locales of the store. Throws `ImportFileError` if the file cannot be
 * read, if its header lacks a column, or if it has more than `rows_max` rows.
 */
export async function openTranslations(
  path: string,
  _currency?: string,
  rows_max?: number,
  mapping?: ColumnMapping,
  store: Pick<Store, 'locales'> = {},
): Promise<ImportFile> {
  const [, ...locales] = store.locales ?? [];
  const resources = new Map<string, TextRow[]>();
  const failed: FailedRow[] = [];
  const fail = (row: Omit<FailedRow, 'kind' | 'about'>) =>
    failed.push({ kind: 'failed', about: null, ...row });
  const unused = new Map<string, number>();
  const attributeOf = (name: string) => locales.find((locale) => locale === canonicalLocale(name));
  const format = { columns: COLUMNS, attributeOf, required: 'field', name: 'of translations' } as const;
  let count = 0;
  for await (const read of readRows(path, format, mapping, unused)) {
    assertRows(path, ++count, rows_max);
    const { line } = read;
    if ('broken' in read) {
      const unread = { from_line: line, to_line: read.to_line };
      fail({ line, external_id: null, reason: read.broken, unread });
      continue;
    }
    const missing = (['type', 'id', 'default'] as const).find((name) => !read.columns.has(name));
    if (missing) throw new ImportFileError(`The header has no column "${missing}".`);
    const { type, handle, field, default: text } = read;
    const id = read.id.toLowerCase();
    const translations = read.attributes.filter(([, translation]) => translation !== '');
    if (translations.length === 0) continue;
    const row = { line, id, name: handle || id, field, text, translations };
    const known = TRANSLATED_TYPES.find((each) => each === type);
    if (known && isUuid(id)) {
      const rows = resources.get(`${type} ${id}`) ?? [];
      rows.push({ ...row, type: known });
      resources.set(`${type} ${id}`, rows);
    } else {
      const reason = known ? 'id: must be a UUID' : `type: must be ${TRANSLATED_TYPES.join(', ')}`;
      fail({ line, external_id: row.name, reason });
    }
  }
  if (count === 0) throw new ImportFileError(`The file ${path} has no rows after the header.`);
  return {
    total: failed.length + resources.size,
    unused_columns: Object.fromEntries(unused),
    items: async function* () {
      for (const row of failed) yield [row];
      for (const rows of resources.values()) yield [{ kind: 'translations', line: rows[0]!.line, rows }];
    },
  };
}

/**
 * Writes all rows of a resource in one write. If it refuses some of them, writes the others. Throws errors that no row has
 * caused.
 */
export async function writeTranslations(
  writer: CatalogWriter,
  tally: Tally,
  rows: readonly TextRow[],
): Promise<void> {
  const [{ type, id, name }] = rows as [TextRow];
  const refused = new Map<TextRow, string>();
  while (refused.size < rows.length) {
    /** The rows by the beginning of the fields that an error would name. */
    let sent = new Map<string, TextRow>();
    try {
      const { changed, value } = await writer.translate(type, id, (resource) => {
        sent = new Map();
        return patchOf(resource, rows, refused, sent);
      });
      if (sent.size === 0) break;
      const outcome = changed ? 'updated' : 'unchanged';
      const item = { line: sent.values().next().value!.line, external_id: name };
      if ('title' in value) tally.addPublication(item, outcome, value, ['translations']);
      else tally.count(KIND_OF[type], outcome);
      break;
    } catch (error) {
      const reason = rejectionReason(error);
      if (reason === undefined) throw error;
      const faults = error instanceof CatalogError ? error.faults : [];
      const before = refused.size;
      for (const [place, row] of sent) {
        const own = faults.filter(({ field }) => field === place || field.startsWith(`${place}.`));
        if (own.length > 0) refused.set(row, rejectionReason(CatalogError.ofFaults(own))!);
      }
      if (refused.size === before) for (const row of rows) if (!refused.has(row)) refused.set(row, reason);
    }
  }
  for (const [{ line }, reason] of refused) tally.fail(null, { line, external_id: name, reason });
}

/**
 * Returns the patch with the translations of the rows that are not refused. Refuses rows whose text the resource does not have
 * any more. Adds the others to `sent`, by their places in the patch.
 */
function patchOf(
  resource: object,
  rows: readonly TextRow[],
  refused: Map<TextRow, string>,
  sent: Map<string, TextRow>,
): Translated {
  const [{ type }] = rows as [TextRow];
  const texts = new Map(textsOfType(type, resource).map((text) => [text.field, text]));
  let patch: JsonObject = {};
  for (const row of rows) {
    if (refused.has(row)) continue;
    const text = texts.get(row.field);
    // What a cell cannot have, such as spaces at its end, makes no difference.
    const is_current = text && cleanCell(escapeFormula(text.text, false)) === row.text;
    if (!text) refused.set(row, `the ${type} has no text "${row.field}"`);
    else if (!is_current) refused.set(row, STALE);
    else
      for (const [locale, translation] of row.translations) {
        const path = [locale, ...text.path];
        const place = ['translations', ...path].join('.');
        const earlier = sent.get(place);
        if (earlier) {
          refused.set(row, `duplicate of line ${earlier.line}`);
          continue;
        }
        sent.set(place, row);
        const one = path.reduceRight<JsonObject | string>(
          (value, part) => Object.fromEntries([[part, value]]),
          translation,
        );
        patch = mergePatch(patch, one as JsonObject) ?? {};
      }
  }
  const { translations } = parseBody(SCHEMAS[type], { translations: patch }) as Translated;
  return { translations };
}

const STALE =
  'stale: the text in the default locale is not that of the column "default" any more. Translate it from a new export';
