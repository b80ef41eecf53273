import type { JsonObject } from '../../shared/catalog/events/envelope';
import { HANDLE_MAX, handleSpelling, slugOf } from '../../shared/catalog/input-rules';
import { NO_OPTION_VALUE, SHOPIFY_COLUMNS } from '../../shared/catalog/shopify';
import type { Visibility } from '../../shared/catalog/vocabulary';
import { shortenText } from '../../shared/kernel/text';
import { pathIn } from './categories';
import type { BrokenRow, ColumnMapping, FileRow, RowFormat } from './columns';
import { handleOf } from './identity';
import {
  type ImageAddress,
  type ImportFile,
  type ImportItem,
  type OptionValues,
  type PublicationItem,
  RowError,
} from './item';
import { isOtherPrice, type OtherCurrencies, otherPrice, otherPrices } from './price';
import {
  type AboutFile,
  attributesOf,
  descriptionOf,
  foldRows,
  oneLine,
  openProductFile,
  type ProductTexts,
  type VariantTexts,
  wordsIn,
} from './product';
import { readRows } from './records';

/** The columns of Google Shopping that become attributes, by the name of the attribute. */
const GOOGLE_ATTRIBUTES = {
  google_product_category: ['Google Shopping / Google Product Category'],
  gender: ['Google Shopping / Gender'],
  age_group: ['Google Shopping / Age Group'],
  mpn: ['Google Shopping / MPN', 'Google Shopping / Manufacturer part number (MPN)'],
  condition: ['Google Shopping / Condition'],
} as const;
const GOOGLE_NAMES = Object.keys(GOOGLE_ATTRIBUTES) as (keyof typeof GOOGLE_ATTRIBUTES)[];

/** A metafield of a product: `Fabric (product.metafields.custom.fabric)`. */
const METAFIELD = /^(.+?) ?\(product\.metafields\.([^.]+)\.([^.]+)\)$/;
/** The same field as an app exports it: `Metafield: custom.fabric [single_line_text_field]`. */
const METAFIELD_OF_APP = /^Metafield: (?:[^.[]+\.)?([^.[]+?)(?: ?\[.*)?$/;
/** The namespace whose keys are the attributes of Google. */
const GOOGLE_NAMESPACE = 'mm-google-shopping';

function metafieldOf(column: string): string | undefined {
  const [, name, namespace, key] = METAFIELD.exec(column) ?? [];
  if (namespace === GOOGLE_NAMESPACE) return key;
  return name ?? METAFIELD_OF_APP.exec(column)?.[1];
}

export const SHOPIFY_FILE = {
  columns: {
    ...SHOPIFY_COLUMNS,
    category: ['Product Category', 'Standardized Product Type'],
    ...GOOGLE_ATTRIBUTES,
  },
  attributeOf: metafieldOf,
  required: 'title',
  name: 'a Shopify product export',
} as const;

export type ShopifyRow = FileRow<keyof (typeof SHOPIFY_FILE)['columns']>;

/**
 * Opens a Shopify product export (`openProductFile`). Throws `ImportFileError` if the file cannot be read, is empty, is not
 * UTF-8, has another header or more than `rows_max` rows.
 */
export function openShopifyFile(
  path: string,
  currency?: string,
  rows_max?: number,
  mapping?: ColumnMapping,
  store: OtherCurrencies = {},
): Promise<ImportFile> {
  const attributeOf = (name: string) => metafieldOf(name) ?? otherPrice(name, store);
  const reader = {
    read: (unused?: Map<string, number>) =>
      readShopifyRows(path, { ...SHOPIFY_FILE, attributeOf }, mapping, unused),
    keyOf: productKey,
    fold: foldProduct,
  };
  return openProductFile(path, reader, currency, rows_max);
}

/**
 * Reads the rows of a file. A row without a handle gets one from its title. Without a title, and in a file without handles,
 * it belongs to the product of the row before it.
 */
async function* readShopifyRows(
  path: string,
  format: RowFormat<keyof (typeof SHOPIFY_FILE)['columns']>,
  mapping?: ColumnMapping,
  unused?: Map<string, number>,
): AsyncGenerator<ShopifyRow | BrokenRow> {
  let before = '';
  for await (const row of readRows(path, format, mapping, unused)) {
    if ('broken' in row) {
      yield row;
      continue;
    }
    const continues = row.title === '' && !row.columns.has('handle');
    before = row.handle || slugOf(row.title) || (continues ? before : '');
    yield { ...row, handle: before };
  }
}

/** Rows with the same key belong to one product. A row without a handle has a key of its own. */
const productKey = (row: ShopifyRow): string =>
  row.handle === '' ? `\u0000${row.line}` : handleOf(row.handle) || row.handle;

const NO_HANDLE = 'missing handle, and the title has no letter and no digit to make one from';

/**
 * Combines the rows of one handle into a publication (`foldRows`). The first row describes the product; the others are
 * further variants and images. The product fails if it has no title. A column that the file does not have sets no field; an
 * empty value clears its field.
 */
export const foldProduct = (rows: readonly ShopifyRow[], about: AboutFile): ImportItem[] =>
  foldRows(rows, rows[0]!.handle, about, (warn): ProductTexts => {
    const first = rows[0]!;
    if (first.handle === '') throw new RowError(first.title === '' ? 'missing handle and title' : NO_HANDLE);
    if (first.title === '') throw new RowError('missing title in the first row of the handle');
    const visibility = parseVisibility(first, (reason) => warn(first, reason));
    const options = optionsOf(rows);
    const handle = handleOf(first.handle) || slugOf(first.title);
    const change = handle === '' ? 'left out' : `imported as ${handle}`;
    if (handle !== handleSpelling(first.handle.slice(0, HANDLE_MAX + 1)))
      warn(first, `handle ${shortenText(first.handle, 40)} was ${change}`);
    return {
      fields: {
        title: oneLine(first.title),
        ...(first.columns.has('body') && descriptionOf(first.body)),
        ...(handle !== '' && { handle }),
        ...(visibility && { visibility }),
        ...labelsOf(first),
        ...attributesIn(first, (reason) => warn(first, reason)),
      },
      options: options.map(({ name }) => name),
      has_options: first.columns.has('option1'),
      variants: rows
        .filter((row) => row === first || isVariant(row))
        .map((row) => variantOf(row, optionValuesOf(row, options))),
      ...parseListing(first),
      images: imagesOf(rows),
    };
  });

/** Returns the vendor, the type, the tags and the texts for search engines, of the columns that the file has. */
function labelsOf(row: ShopifyRow): JsonObject {
  const { columns, vendor, type, category, seo_title, seo_description } = row;
  const product_type = type || (pathIn(category).at(-1) ?? '');
  const seo = {
    ...(seo_title !== '' && { title: oneLine(seo_title) }),
    ...(seo_description !== '' && { description: oneLine(seo_description) }),
  };
  return {
    ...(columns.has('vendor') && { vendor: oneLine(vendor) || null }),
    ...((columns.has('type') || columns.has('category')) && { product_type: oneLine(product_type) || null }),
    ...(columns.has('tags') && { tags: tagsOf(row) }),
    ...((columns.has('seo_title') || columns.has('seo_description')) && { seo }),
  };
}

/** A metafield may refer to another object of Shopify, or be one. */
const IS_OBJECT = /^(\[?"?gid:|\{|\[(?!"))/;

/** Returns the attributes: metafields and the columns of Google Shopping. A category is one of Google's, too. */
function attributesIn(row: ShopifyRow, warn: (reason: string) => void): JsonObject {
  const { columns, category } = row;
  const attributes = row.attributes.filter(([name]) => !isOtherPrice(name));
  const named = [...GOOGLE_NAMES, 'category' as const].filter((name) => columns.has(name));
  if (named.length + attributes.length === 0) return {};
  const google = GOOGLE_NAMES.map((name) => [name, row[name]] as const);
  const texts = attributes.flatMap(([name, value]) => {
    if (!IS_OBJECT.test(value)) return [[name, listIn(value)] as const];
    warn(`metafield ${shortenText(name, 40)} was left out: it is an object of Shopify`);
    return [];
  });
  const all = new Map<string, string | readonly string[]>([['google_product_category', category]]);
  for (const [name, value] of [...texts, ...google]) if (value.length > 0) all.set(name, value);
  return { attributes: attributesOf([...all], warn) };
}

/** Returns the texts of a metafield: a list is JSON, or has semicolons between its values. */
function listIn(value: string): readonly string[] {
  if (!value.startsWith('["')) return value.split(/;\s+/);
  try {
    return (JSON.parse(value) as unknown[]).map(String);
  } catch {
    return [value];
  }
}

const tagsOf = ({ tags }: ShopifyRow): string[] => wordsIn(tags.split(','));

/** Returns whether a row has a variant. Otherwise it only adds an image. */
function isVariant(row: ShopifyRow): boolean {
  const { option1, option2, option3, sku, tracker, quantity, price, title, image } = row;
  const has_only_title = title !== '' && image === '';
  return (
    has_only_title || [option1, option2, option3, sku, tracker, quantity, price].some((value) => value !== '')
  );
}

interface FileOption {
  readonly column: 'option1' | 'option2' | 'option3';
  readonly name: string;
}

/** Returns the options that variants have values of. */
function optionsOf(rows: readonly ShopifyRow[]): FileOption[] {
  const first = rows[0]!;
  const columns = (['option1', 'option2', 'option3'] as const).filter((column) =>
    rows.some((row) => row[column] !== '' && row[column] !== NO_OPTION_VALUE),
  );
  return columns.map((column, index) => {
    const name = oneLine(first[`${column}_name`]);
    return { column, name: name === '' ? `Option ${index + 1}` : name };
  });
}

const optionValuesOf = (row: ShopifyRow, options: readonly FileOption[]): OptionValues =>
  Object.fromEntries(options.map(({ column, name }) => [name, oneLine(row[column]) || NO_OPTION_VALUE]));

function variantOf(row: ShopifyRow, option_values: OptionValues): VariantTexts {
  const { line, columns, title, price, compare_at, policy, sku, barcode, grams, variant_image } = row;
  return {
    line,
    option_values,
    title,
    image: variant_image,
    price: columns.has('price') ? price : undefined,
    compare_at: columns.has('compare_at') ? compare_at : undefined,
    prices: () => otherPrices(row.attributes),
    quantity: columns.has('quantity') ? quantityOf(row) : undefined,
    allow_backorder: columns.has('policy') ? ['continue', 'true'].includes(policy.toLowerCase()) : undefined,
    sku: columns.has('sku') ? sku : undefined,
    barcode: columns.has('barcode') ? barcode : undefined,
    weight: columns.has('grams') ? grams : undefined,
  };
}

/**
 * Returns the quantity, null if it is not tracked: if the tracker is blank, or if the file has no column of trackers and
 * the quantity is blank.
 */
function quantityOf({ columns, tracker, quantity }: ShopifyRow): string | null {
  return tracker === '' && (columns.has('tracker') || quantity === '') ? null : quantity;
}

/** Whether a product of Shopify with this status is in lists. */
const IS_LISTED: Readonly<Record<string, boolean>> = {
  active: true,
  unlisted: false,
  draft: false,
  archived: false,
};

/**
 * Returns the visibility. A draft, archived or unlisted product is private. Otherwise `Published` decides, and if it is
 * empty, `Status`. Undefined if both are empty. Throws `RowError` for another word, so that nothing becomes public by it.
 */
function parseVisibility(row: ShopifyRow, warn: (reason: string) => void): Visibility | undefined {
  const [status, published] = [row.status.toLowerCase(), row.published.toLowerCase()];
  if (status !== '' && !Object.hasOwn(IS_LISTED, status))
    throw new RowError(
      `Status "${shortenText(row.status, 40)}": must be ${Object.keys(IS_LISTED).join(', ')}, or empty`,
    );
  if (!['true', 'false', ''].includes(published))
    throw new RowError(`Published "${shortenText(row.published, 40)}": must be true or false`);
  if (status === 'unlisted') warn('the product was imported as private, because it is unlisted');
  if (published === 'false' || IS_LISTED[status] === false) return 'private';
  return published === 'true' || status === 'active' ? 'public' : undefined;
}

/**
 * Uses the product type as the name of the listing, or else the first tag. If both are empty, the product is in no
 * listing. Does not set the listing if the file does not have the columns that this takes.
 */
function parseListing(row: ShopifyRow): Pick<PublicationItem, 'listing'> {
  if (row.type !== '') return { listing: oneLine(row.type) };
  if (!row.columns.has('type') || !row.columns.has('tags')) return {};
  const [first] = tagsOf(row);
  return { listing: first === undefined ? null : oneLine(first) };
}

/** Returns the images by their position; those without one come last, in the order of the rows. */
function imagesOf(rows: readonly ShopifyRow[]): ImageAddress[] | undefined {
  const { columns } = rows[0]!;
  if (!columns.has('image') && !columns.has('variant_image')) return undefined;
  const images = new Map<string, ImageAddress>();
  const positioned = rows.map((row) => ({ row, position: Number(row.image_position) || Infinity }));
  positioned.sort((a, b) => (a.position === b.position ? 0 : a.position - b.position));
  for (const { row } of positioned)
    if (row.image !== '' && !images.has(row.image)) {
      const alt = columns.has('image_alt') ? row.image_alt || null : undefined;
      images.set(row.image, { url: row.image, alt });
    }
  for (const { variant_image: url } of rows) if (url !== '' && !images.has(url)) images.set(url, { url });
  return [...images.values()];
}
