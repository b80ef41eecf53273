import { createReadStream } from 'node:fs';
import { newListingBody } from '../../shared/api/requests/writes';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { isUuid } from '../../shared/kernel/uuid';
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

/** One fault ends the reading of a row; its text is the reason that is reported. */
class RowFault extends Error {}

/** What a line may say: what the interface takes, but for what an import finds by name or address. */
const fieldsOf = (schema: { readonly shape: object }, ...others: readonly string[]): string[] =>
  Object.keys(schema.shape).filter((field) => !others.includes(field));
const PUBLICATION_FIELDS = fieldsOf(newPublicationSchema, 'store_id', 'listing_id', 'media_ids');
const LISTING_FIELDS = fieldsOf(newListingBody, 'store_id', 'media_ids');
const REVIEW_FIELDS = fieldsOf(newReviewSchema, 'publication_id');

/**
 * One line of JSON Lines (docs/import.md): a listing where `listing` is an object, a review where there is a `rating`,
 * and else a publication. Pure. What the fields hold is checked where they are written.
 */
export function parseJsonLine(text: string, line: number, currency: string): ImportItem[] {
  const row = parseObject(text);
  if (!row) return [failed(line, null, 'publication', 'not a JSON object')];
  const about = isObject(row.listing) ? 'listing' : 'rating' in row ? 'review' : 'publication';
  try {
    switch (about) {
      case 'listing':
        return [listingOf(row, line)];
      case 'review':
        return [reviewOf(row, line)];
      case 'publication':
        return publicationOf(row, line, currency);
    }
  } catch (error) {
    if (!(error instanceof RowFault)) throw error;
    const named = row.external_id ?? row.publication;
    return [failed(line, typeof named === 'string' ? named : null, about, error.message)];
  }
}

function listingOf(row: JsonObject, line: number): ImportItem {
  const { listing, ...others } = row;
  pick(others, []);
  return { kind: 'listing', line, fields: pick(listing as JsonObject, LISTING_FIELDS, 'listing.') };
}

function reviewOf(row: JsonObject, line: number): ImportItem {
  const { publication_id, publication, ...rest } = row;
  const review = reviewRow(rest, '');
  if (publication_id !== undefined && publication_id !== null) {
    if (typeof publication_id !== 'string' || !isUuid(publication_id))
      throw new RowFault('publication_id: must be a UUID');
    return { kind: 'review', line, publication: { id: publication_id.toLowerCase() }, review };
  }
  if (publication === undefined) throw new RowFault('publication: is required, or publication_id');
  return {
    kind: 'review',
    line,
    publication: { external_id: externalId(publication, 'publication') },
    review,
  };
}

function publicationOf(row: JsonObject, line: number, currency: string): ImportItem[] {
  const { external_id: given_id, listing, images, reviews, price, ...rest } = row;
  const external_id = externalId(given_id, 'external_id');
  const faults: FailedRow[] = [];
  const item: ImportItem = {
    kind: 'publication',
    line,
    external_id,
    fields: { price_currency: currency, ...pick(rest, PUBLICATION_FIELDS), ...priceOf(price, rest) },
    ...(listing === undefined ? {} : { listing: listingName(listing) }),
    images: listOf(images, 'images').map(imageOf),
    reviews: listOf(reviews, 'reviews').flatMap((review, index) => {
      try {
        if (!isObject(review)) throw new RowFault(`reviews[${index}]: must be an object`);
        return [reviewRow(review, `reviews[${index}].`)];
      } catch (error) {
        if (!(error instanceof RowFault)) throw error;
        faults.push(failed(line, external_id, 'review', error.message));
        return [];
      }
    }),
  };
  return [item, ...faults];
}

function reviewRow(row: JsonObject, path: string): ReviewRow {
  const { external_id, ...fields } = row;
  const given = external_id !== undefined && external_id !== null;
  return {
    external_id: given ? externalId(external_id, `${path}external_id`) : null,
    fields: pick(fields, REVIEW_FIELDS, path),
  };
}

/** `price` in the major unit, as text or number, or `price_amount` in hundredths: one of the two. */
function priceOf(price: JsonValue | undefined, rest: JsonObject): JsonObject {
  if (price === undefined) return {};
  if (rest.price_amount !== undefined) throw new RowFault('price: either price or price_amount');
  if (typeof price !== 'string' && typeof price !== 'number')
    throw new RowFault('price: must be a decimal number such as "12.50"');
  // A number's shortest form is what the file says, for every amount that is allowed.
  const parsed = parsePrice(String(price));
  if (!parsed.ok) throw new RowFault(parsed.reason);
  return { price_amount: parsed.amount };
}

function externalId(value: JsonValue | undefined, field: string): string {
  if (value === undefined || value === null) throw new RowFault(`${field}: is required`);
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '') throw new RowFault(`${field}: must be a text`);
  if (text.length > EXTERNAL_ID_MAX)
    throw new RowFault(`${field}: must be at most ${EXTERNAL_ID_MAX} characters`);
  return text.trim();
}

function listingName(value: JsonValue): string | null {
  if (value === null) return null;
  if (typeof value !== 'string' || value.trim() === '')
    throw new RowFault("listing: must be a listing's name");
  return value.trim();
}

function imageOf(value: JsonValue, index: number): ImageAddress {
  if (typeof value === 'string') return { url: value, alt: null };
  if (isObject(value) && typeof value.url === 'string')
    return { url: value.url, alt: typeof value.alt === 'string' ? value.alt : null };
  throw new RowFault(`images[${index}]: must be an address, or {"url", "alt"}`);
}

function listOf(value: JsonValue | undefined, field: string): JsonValue[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new RowFault(`${field}: must be an array`);
  return value;
}

/** An unknown field is a fault: a misspelt one would be lost in silence. */
function pick(row: JsonObject, known: readonly string[], path = ''): JsonObject {
  const unknown = Object.keys(row).find((field) => !known.includes(field));
  if (unknown !== undefined) throw new RowFault(`${path}${unknown}: is no field of this kind of line`);
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

function failed(
  line: number,
  external_id: string | null,
  about: FailedRow['about'],
  reason: string,
): FailedRow {
  return { kind: 'failed', line, external_id, about, reason };
}

/**
 * A file of JSON Lines, or a pipe of them. A file is read once before for the number of its lines.
 * Throws `ImportFileError` where it cannot be read or is empty.
 */
export async function openJsonlFile(path: string, currency: string): Promise<ImportFile> {
  const found = await statFile(path);
  if (!found.isFile()) return { total: null, items: () => readItems(path, currency) };
  let total = 0;
  for await (const _line of readLines(path)) total++;
  if (total === 0) throw new ImportFileError(`${path} is empty`);
  return { total, items: () => readItems(path, currency) };
}

async function* readItems(path: string, currency: string): AsyncGenerator<ImportItem[]> {
  for await (const { line, text } of readLines(path)) {
    yield text === undefined
      ? [{ kind: 'failed', line, external_id: null, about: 'publication', reason: 'not UTF-8 text' }]
      : parseJsonLine(text, line, currency);
  }
}

/** Beyond what any row needs; keeps a file that has no lines from filling the memory. */
const LINE_BYTES_MAX = 4_000_000;
const NEWLINE = 0x0a;

/** A line's text without its end, or undefined where it is not UTF-8. `line` counts from 1. */
interface Line {
  readonly line: number;
  readonly text: string | undefined;
}

/** Every line that is not blank, in order. Throws `ImportFileError` where the file cannot be read. */
async function* readLines(path: string): AsyncGenerator<Line> {
  let line = 0;
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path)) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      let start = 0;
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
        yield* textOf(rest.subarray(start, end), ++line);
        start = end + 1;
      }
      rest = rest.subarray(start);
      if (rest.length > LINE_BYTES_MAX)
        throw new ImportFileError(`${path}: line ${line + 1} is longer than ${LINE_BYTES_MAX / 1e6} MB`);
    }
  } catch (error) {
    throw fileError(error, path);
  }
  yield* textOf(rest, line + 1);
}

function* textOf(bytes: Buffer, line: number): Generator<Line> {
  let text: string;
  try {
    // Takes a byte order mark off by itself.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    yield { line, text: undefined };
    return;
  }
  const trimmed = text.trim();
  if (trimmed !== '') yield { line, text: trimmed };
}
