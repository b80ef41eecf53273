import { createReadStream } from 'node:fs';
import { newListingBody } from '../../shared/api/requests/writes';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { isUuid } from '../../shared/kernel/ids';
import { newPublicationSchema } from '../command/publication';
import { newReviewSchema } from '../command/review';
import {
  type FailedRow,
  fileError,
  type ImageAddress,
  type ImportFile,
  ImportFileError,
  type ImportItem,
  type ReviewRow,
  statFile,
} from './item';
import { parsePrice } from './price';

const EXTERNAL_ID_MAX = 255;

/** Thrown at the first error in a row. Its message is the reason in the report. */
class RowError extends Error {}

/** Returns the fields of a request body without `excluded`, which the import sets itself. */
const importedFields = (schema: { readonly shape: object }, ...excluded: readonly string[]): string[] =>
  Object.keys(schema.shape).filter((field) => !excluded.includes(field));
const PUBLICATION_FIELDS = importedFields(newPublicationSchema, 'store_id', 'listing_id', 'media_ids');
const LISTING_FIELDS = importedFields(newListingBody, 'store_id', 'media_ids');
const REVIEW_FIELDS = importedFields(newReviewSchema, 'publication_id');

/**
 * Parses one line of JSON Lines (docs/import.md). The line is a listing if `listing` is an object, a review if it has a
 * `rating`, and otherwise a publication. Does not validate the values of fields; the command services do that.
 */
export function parseJsonLine(text: string, line: number, currency?: string): ImportItem[] {
  const row = parseObject(text);
  if (!row) return [failedRow(line, null, 'publication', 'expected a JSON object')];
  const about = isObject(row.listing) ? 'listing' : 'rating' in row ? 'review' : 'publication';
  try {
    switch (about) {
      case 'listing':
        return [parseListing(row, line)];
      case 'review':
        return [parseReview(row, line)];
      case 'publication':
        return parsePublication(row, line, currency);
    }
  } catch (error) {
    if (!(error instanceof RowError)) throw error;
    const name = row.external_id ?? row.publication;
    return [failedRow(line, typeof name === 'string' ? name : null, about, error.message)];
  }
}

function parseListing(row: JsonObject, line: number): ImportItem {
  const { listing, ...others } = row;
  checkFields(others, []);
  return { kind: 'listing', line, fields: checkFields(listing as JsonObject, LISTING_FIELDS, 'listing.') };
}

function parseReview(row: JsonObject, line: number): ImportItem {
  const { publication_id, publication, ...rest } = row;
  const review = parseReviewRow(rest, '');
  if (publication_id !== undefined && publication_id !== null) {
    if (typeof publication_id !== 'string' || !isUuid(publication_id))
      throw new RowError('publication_id: must be a UUID');
    return { kind: 'review', line, publication: { id: publication_id.toLowerCase() }, review };
  }
  if (publication === undefined) throw new RowError('publication: publication or publication_id is required');
  return {
    kind: 'review',
    line,
    publication: { external_id: parseExternalId(publication, 'publication') },
    review,
  };
}

function parsePublication(row: JsonObject, line: number, currency: string | undefined): ImportItem[] {
  const { external_id: id, listing, images, reviews, price, ...rest } = row;
  const external_id = parseExternalId(id, 'external_id');
  const faults: FailedRow[] = [];
  const item: ImportItem = {
    kind: 'publication',
    line,
    external_id,
    fields: {
      ...(currency !== undefined && { price_currency: currency }),
      ...checkFields(rest, PUBLICATION_FIELDS),
      ...parsePriceFields(price, rest),
    },
    ...(listing === undefined ? {} : { listing: parseListingName(listing) }),
    images: parseArray(images, 'images').map(parseImage),
    reviews: parseArray(reviews, 'reviews').flatMap((review, index) => {
      try {
        if (!isObject(review)) throw new RowError(`reviews[${index}]: must be an object`);
        return [parseReviewRow(review, `reviews[${index}].`)];
      } catch (error) {
        if (!(error instanceof RowError)) throw error;
        faults.push(failedRow(line, external_id, 'review', error.message));
        return [];
      }
    }),
  };
  return [item, ...faults];
}

function parseReviewRow(row: JsonObject, path: string): ReviewRow {
  const { external_id, ...fields } = row;
  const has_id = external_id !== undefined && external_id !== null;
  return {
    external_id: has_id ? parseExternalId(external_id, `${path}external_id`) : null,
    fields: checkFields(fields, REVIEW_FIELDS, path),
  };
}

/** Converts `price`, a string or number in the major unit, to `price_amount`. A row has only one of the two fields. */
function parsePriceFields(price: JsonValue | undefined, rest: JsonObject): JsonObject {
  if (price === undefined) return {};
  if (rest.price_amount !== undefined)
    throw new RowError('price: use either price or price_amount, not both');
  if (typeof price !== 'string' && typeof price !== 'number')
    throw new RowError('price: must be a decimal number such as "12.50"');
  // `JSON.parse` has made a number of it. For every allowed amount, `String` returns its exact decimal digits.
  const parsed = parsePrice(String(price));
  if (!parsed.ok) throw new RowError(parsed.reason);
  return { price_amount: parsed.amount };
}

function parseExternalId(value: JsonValue | undefined, field: string): string {
  if (value === undefined || value === null) throw new RowError(`${field}: is required`);
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '')
    throw new RowError(`${field}: must be a string that is not empty`);
  if (text.length > EXTERNAL_ID_MAX)
    throw new RowError(`${field}: must be at most ${EXTERNAL_ID_MAX} characters`);
  return text.trim();
}

function parseListingName(value: JsonValue): string | null {
  if (value === null) return null;
  if (typeof value !== 'string' || value.trim() === '')
    throw new RowError('listing: must be the name of a listing, or null');
  return value.trim();
}

function parseImage(value: JsonValue, index: number): ImageAddress {
  if (typeof value === 'string') return { url: value, alt: null };
  if (isObject(value) && typeof value.url === 'string') {
    const { url, alt = null } = checkFields(value, ['url', 'alt'], `images[${index}].`);
    if (alt === null || typeof alt === 'string') return { url: url as string, alt };
  }
  throw new RowError(`images[${index}]: must be a URL, or an object with url and alt`);
}

function parseArray(value: JsonValue | undefined, field: string): JsonValue[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new RowError(`${field}: must be an array`);
  return value;
}

/** Returns `row`. Throws `RowError` on an unknown field, because a misspelt field would otherwise be lost unnoticed. */
function checkFields(row: JsonObject, allowed: readonly string[], path = ''): JsonObject {
  const unknown = Object.keys(row).find((field) => !allowed.includes(field));
  if (unknown !== undefined) throw new RowError(`${path}${unknown}: unknown field`);
  return row;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function failedRow(
  line: number,
  external_id: string | null,
  about: FailedRow['about'],
  reason: string,
): FailedRow {
  return { kind: 'failed', line, external_id, about, reason };
}

/**
 * Opens a JSON Lines file or pipe. Reads a file once in advance to count its lines.
 * Throws `ImportFileError` if it cannot be read or is empty.
 */
export async function openJsonlFile(path: string, currency?: string): Promise<ImportFile> {
  const found = await statFile(path);
  if (!found.isFile()) return { total: null, items: () => readItems(path, currency) };
  const total = await countLines(path);
  if (total === 0) throw new ImportFileError(`The file ${path} is empty.`);
  return { total, items: () => readItems(path, currency) };
}

/** Returns the number of lines that are not blank. */
async function countLines(path: string): Promise<number> {
  let count = 0;
  for await (const { bytes } of readRawLines(path)) if (!isBlank(bytes)) count++;
  return count;
}

async function* readItems(path: string, currency: string | undefined): AsyncGenerator<ImportItem[]> {
  for await (const { line, text } of readLines(path)) {
    yield text === undefined
      ? [{ kind: 'failed', line, external_id: null, about: 'publication', reason: 'expected UTF-8 text' }]
      : parseJsonLine(text, line, currency);
  }
}

/** More than any row needs. Bounds the memory for a file without line breaks. */
const LINE_BYTES_MAX = 4_000_000;
const READ_BYTES = 262_144;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const TILDE = 0x7e;

/** A line without its line break. */
interface RawLine {
  /** Counted from 1. */
  readonly line: number;
  readonly bytes: Buffer;
}

interface Line {
  readonly line: number;
  /** Undefined if it is not UTF-8. */
  readonly text: string | undefined;
}

/** Reads every line that is not blank, in order. Throws `ImportFileError` if the file cannot be read. */
async function* readLines(path: string): AsyncGenerator<Line> {
  for await (const { line, bytes } of readRawLines(path)) {
    const text = textOf(bytes);
    if (text !== '') yield { line, text };
  }
}

/** Reads every line, in order. `bytes` is valid until the next line is read. */
async function* readRawLines(path: string): AsyncGenerator<RawLine> {
  let line = 0;
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      let start = 0;
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
        yield { line: ++line, bytes: rest.subarray(start, end) };
        start = end + 1;
      }
      rest = rest.subarray(start);
      if (rest.length > LINE_BYTES_MAX)
        throw new ImportFileError(
          `Line ${line + 1} of ${path} is longer than ${LINE_BYTES_MAX / 1e6} MB. Is it JSON Lines?`,
        );
    }
  } catch (error) {
    throw fileError(error, path);
  }
  if (rest.length > 0) yield { line: line + 1, bytes: rest };
}

/** Removes a byte order mark. */
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Returns the trimmed text of a line, undefined if it is not UTF-8. */
function textOf(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes).trim();
  } catch {
    return undefined;
  }
}

/** Returns whether the line has only white space. Lines of a usual file begin with a printable ASCII character. */
function isBlank(bytes: Buffer): boolean {
  const first = bytes[0] ?? SPACE;
  return first > SPACE && first <= TILDE ? false : textOf(bytes) === '';
}
