import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { isUuid } from '../../shared/kernel/uuid';
import type { FailedRow, ImageAddress, ImportItem, ReviewRow } from './item';
import { parsePrice } from './price';

const EXTERNAL_ID_MAX = 255;

/** One fault ends the reading of a row; its text is the reason that is reported. */
class RowFault extends Error {}

const PUBLICATION_FIELDS = [
  ...[
    'title',
    'description',
    'description_html',
    'visibility',
    'price_amount',
    'price_currency',
    'price_active',
  ],
  ...['free_shipping', 'quantity_available', 'featured_position'],
];
const LISTING_FIELDS = ['name', 'description', 'visibility', 'default_sort_mode'];
const REVIEW_FIELDS = ['rating', 'title', 'body', 'author_name', 'verified', 'created_at'];

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
