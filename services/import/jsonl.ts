import { z } from 'zod';
import { newListingBody } from '../../shared/api/requests/writes';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { isObject } from '../../shared/catalog/json-text';
import { OTHER_LISTINGS_MAX, publicationFields } from '../../shared/catalog/publication/fields';
import { assertNoProto, assertParsable } from '../../shared/http/body';
import { parseBody } from '../../shared/http/validation';
import { isUuid } from '../../shared/kernel/ids';
import { newPublicationSchema } from '../command/publication';
import { newReviewSchema } from '../command/review';
import {
  type FailedRow,
  type ImportFile,
  type ImportItem,
  type ReviewRow,
  RowError,
  type VariantImage,
} from './item';
import { parsePrice } from './price';
import { rejectionReason } from './report';
import { assertRows, ImportFileError, readLines } from './text-file';

/** Twice as many as in a body of the interface: an export writes all fields of 2,048 variants in one line. */
const VALUES_MAX = 100_000;
/** Each image after the first `PUBLICATION_MEDIA_MAX` is skipped with a warning. */
const IMAGES_MAX = 250;
/** Of the reviews within a line. Further reviews are lines of their own. */
const REVIEWS_MAX = 1_000;

/*
 * The form of the rows (docs/import.md#json-lines). The fields of a resource may have any value here, because the command
 * services validate them. An unknown field is an error, because a misspelt field would otherwise be lost unnoticed.
 */

/** Returns the fields of a request body without `excluded`, which the import sets itself. */
function fieldsOf(schema: { readonly shape: object }, ...excluded: readonly string[]) {
  const names = Object.keys(schema.shape).filter((name) => !excluded.includes(name));
  return Object.fromEntries(names.map((name) => [name, z.any().optional()]));
}

const externalId = z.preprocess(
  (value) => (typeof value === 'number' ? String(value) : value),
  z.string().trim().min(1).max(255),
);
const image = z.union(
  [
    z.string().transform((url) => ({ url })),
    z.strictObject({
      url: z.string(),
      alt: z.string().nullish(),
      media_id: z.guid().toLowerCase().optional(),
    }),
  ],
  'a URL, or an object with url and alt',
);
const name = z.string().trim().min(1);
const listingName = z.union(
  [name, z.strictObject({ name, key: externalId })],
  'the name of a listing, an object with name and key, or null',
);
const listingRow = z.strictObject({
  listing: z.strictObject({
    ...fieldsOf(newListingBody, 'store_id', 'media_ids', 'parent_id'),
    key: externalId.optional(),
    parent: listingName.nullish(),
  }),
});
const reviewFields = z.strictObject({
  ...fieldsOf(newReviewSchema, 'publication_id'),
  external_id: externalId.nullish(),
});
const reviewRow = reviewFields.extend({
  publication_id: z
    .string()
    .refine((text) => isUuid(text), 'a UUID')
    .toLowerCase()
    .nullish(),
  publication: externalId.nullish(),
});
const publicationRow = z.strictObject({
  ...fieldsOf(
    newPublicationSchema,
    ...(['store_id', 'listing_id', 'listing_ids', 'featured_positions', 'media_ids'] as const),
  ),
  external_id: externalId,
  /** In the major unit of the currency. */
  price: z.union([z.string(), z.number()], 'a decimal number such as "12.50"').optional(),
  listing: listingName.nullish(),
  other_listings: z
    .array(
      z.strictObject({
        listing: listingName,
        featured_position: publicationFields.featured_position.input.optional(),
      }),
    )
    .max(OTHER_LISTINGS_MAX)
    .nullish(),
  images: z.array(image).max(IMAGES_MAX).nullish(),
  reviews: z.array(z.any()).max(REVIEWS_MAX).nullish(),
  variants: z.any().optional(),
});

/**
 * Parses one line of JSON Lines. The line is a listing if `listing` is an object and there is no `external_id`, a review if
 * it has a `rating`, and otherwise a publication.
 */
export function parseJsonLine(text: string, line: number, currency?: string): ImportItem[] {
  let row: JsonObject | undefined;
  try {
    assertParsable(Buffer.from(text), 'The line', VALUES_MAX);
    row = parseObject(text);
  } catch (error) {
    return [failedRow(line, null, 'publication', error)];
  }
  const is_listing = isObject(row?.listing) && !('external_id' in row!);
  const about = is_listing ? 'listing' : row && 'rating' in row ? 'review' : 'publication';
  try {
    if (!row) throw new RowError('expected a JSON object');
    assertNoProto(text, row);
    if (about === 'listing') {
      const { parent, key, ...fields } = parseBody(listingRow, row).listing;
      const place = { ...(parent !== undefined && { parent }), ...(key !== undefined && { key }) };
      return [{ kind: 'listing', line, fields, ...place }];
    }
    return about === 'review' ? [parseReview(row, line)] : parsePublication(row, line, currency);
  } catch (error) {
    const name = row?.external_id ?? row?.publication;
    return [failedRow(line, typeof name === 'string' ? name : null, about, error)];
  }
}

function parseReview(row: JsonObject, line: number): ImportItem {
  const { publication_id, publication, ...fields } = parseBody(reviewRow, row);
  const review = toReview(fields);
  if (typeof publication_id === 'string')
    return { kind: 'review', line, publication: { id: publication_id }, review };
  if (typeof publication !== 'string')
    throw new RowError('publication: publication or publication_id is required');
  return { kind: 'review', line, publication: { external_id: publication }, review };
}

function toReview({ external_id, ...fields }: z.output<typeof reviewFields>): ReviewRow {
  return { external_id: external_id ?? null, fields };
}

function parsePublication(row: JsonObject, line: number, currency: string | undefined): ImportItem[] {
  const parsed = parseBody(publicationRow, row);
  const { external_id, listing, other_listings, images, variants, ...others } = parsed;
  const { reviews: review_rows, price, ...fields } = others;
  if (price !== undefined && 'price_amount' in fields)
    throw new RowError('price: use either price or price_amount, not both');
  if (price === undefined && !('price_amount' in fields))
    throw new RowError('price_amount: price or price_amount is required');
  const reviews: ReviewRow[] = [];
  const faults: FailedRow[] = [];
  for (const [index, review] of (review_rows ?? []).entries())
    try {
      if (!isObject(review)) throw new RowError('must be an object');
      reviews.push(toReview(parseBody(reviewFields, review)));
    } catch (error) {
      faults.push(failedRow(line, external_id, 'review', error, `reviews[${index}]: `));
    }
  const pictures = imagesOf(variants);
  const item: ImportItem = {
    ...{ kind: 'publication', line, external_id, reviews },
    images: images === null ? [] : images,
    ...(pictures.length > 0 && { variant_images: pictures }),
    fields: {
      ...(currency !== undefined && { price_currency: currency }),
      ...fields,
      ...(variants !== undefined && { variants: withoutImages(variants) }),
      external_id,
      // `JSON.parse` has made a number of the price. For every allowed amount, `String` returns its exact digits.
      ...(price !== undefined && { price_amount: parsePrice(String(price)) }),
    },
    ...(listing === undefined ? {} : { listing }),
    ...(other_listings === undefined ? {} : { other_listings: other_listings ?? [] }),
  };
  return [item, ...faults];
}

/*
 * `image` of a variant is one of the addresses in `images`. The command services know pictures by their ids only, so it
 * is taken out of the variants.
 */

function imagesOf(variants: unknown): VariantImage[] {
  return [variants].flat().flatMap((variant) => {
    if (!isObject(variant) || typeof variant.image !== 'string') return [];
    const option_values = (variant.option_values ?? {}) as VariantImage['option_values'];
    return [{ url: variant.image, option_values }];
  });
}

function withoutImages(variants: JsonValue): JsonValue {
  if (!Array.isArray(variants)) return variants;
  return variants.map((variant) => {
    if (!isObject(variant) || typeof variant.image !== 'string') return variant;
    const { image: _, ...others } = variant;
    return others;
  });
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the note about a row that failed. Rethrows an error that the row did not cause. */
function failedRow(
  line: number,
  external_id: string | null,
  about: FailedRow['about'],
  error: unknown,
  path = '',
): FailedRow {
  const reason = rejectionReason(error);
  if (reason === undefined) throw error;
  return { kind: 'failed', line, external_id, about, reason: path + reason };
}

/**
 * Opens a JSON Lines file. Reads it once in advance to count its lines.
 * Throws `ImportFileError` if it cannot be read, is empty, is not UTF-8 or has more than `rows_max` lines.
 */
export async function openJsonlFile(path: string, currency?: string, rows_max?: number): Promise<ImportFile> {
  const items = async function* (): AsyncGenerator<ImportItem[]> {
    for await (const { line, text } of readLines(path)) yield parseJsonLine(text, line, currency);
  };
  let total = 0;
  for await (const _line of readLines(path)) assertRows(path, ++total, rows_max);
  if (total === 0) throw new ImportFileError(`The file ${path} is empty.`);
  return { total, items };
}
