import { formatPrice } from '../../shared/catalog/input-rules';
import type { Prices } from '../../shared/catalog/publication/currency-prices';
import { NO_OPTION_VALUE, SHOPIFY_COLUMNS } from '../../shared/catalog/shopify';
import { csvCell, escapeFormula, escapeNumber } from '../../shared/catalog/spreadsheet';
import type { ExportedPublication, ExportedVariant, ExportItem } from './export-items';

type Column = keyof typeof SHOPIFY_COLUMNS;
type Row = Partial<Record<Column, string | null | undefined>> & { readonly prices?: Prices | undefined };

const priceText = (amount: number | null | undefined): string => (amount == null ? '' : formatPrice(amount));

const COLUMNS = Object.keys(SHOPIFY_COLUMNS) as Column[];
const HEADER = COLUMNS.map((column) => SHOPIFY_COLUMNS[column][0]);
/** How many options a product has in Shopify. */
const OPTIONS_MAX = 3;

/** How a spreadsheet reads the file. */
export interface CsvOptions {
  /** Whether the file begins with a byte order mark, which tells Excel that it is UTF-8. */
  readonly bom?: boolean | undefined;
  /** Whether a text that a spreadsheet would run as a formula gets a quotation mark before it. */
  readonly escape_formulas?: boolean | undefined;
}

/** Yields the rows of Shopify's product file (docs/import.md#export). It has no listings. */
export async function* shopifyRows(
  items: AsyncIterable<ExportItem>,
  { bom = false, escape_formulas = false }: CsvOptions,
  [, ...currencies]: readonly string[] = [],
): AsyncGenerator<string> {
  const others = currencies.flatMap(
    (currency) =>
      [
        [`Price / ${currency}`, currency, 'price_amount'],
        [`Compare At Price / ${currency}`, currency, 'compare_at_amount'],
      ] as const,
  );
  const lineOf = (cells: readonly (string | null | undefined)[]): string =>
    `${cells.map((text) => csvCell(escapeFormula(text ?? '', escape_formulas))).join(',')}\n`;
  const lineOfRow = (row: Row): string => {
    const amounts = others.map(([, currency, part]) => priceText(row.prices?.[currency]?.[part]));
    return lineOf([...COLUMNS.map((column) => row[column]), ...amounts]);
  };
  yield (bom ? '\uFEFF' : '') + lineOf([...HEADER, ...others.map(([name]) => name)]);
  for await (const { publication } of items)
    if (publication) yield rowsOf(publication).map(lineOfRow).join('');
}

/** Returns a row for each variant and each picture. A row may have one of both. The first also describes the product. */
function rowsOf(publication: ExportedPublication): Row[] {
  const { external_id, handle, images } = publication;
  const variants = publication.variants.length > 0 ? publication.variants : [onlyVariantOf(publication)];
  return Array.from({ length: Math.max(variants.length, images.length) }, (_, index) => ({
    handle: handle ?? external_id,
    ...(index === 0 && productOf(publication)),
    ...(index < variants.length && variantOf(publication, variants[index]!, index === 0)),
    image: images[index]?.url,
    image_position: images[index] && String(index + 1),
    image_alt: images[index]?.alt,
  }));
}

function productOf(publication: ExportedPublication): Row {
  const { title, description, description_html, vendor, product_type, tags, visibility, seo, listing } =
    publication;
  const listing_name = typeof listing === 'string' ? listing : listing?.name;
  return {
    title,
    body: description_html ?? description,
    vendor,
    // Without a type, an import takes the first tag as the listing.
    type: product_type ?? (listing_name === tags?.[0] ? '' : listing_name),
    tags: tags?.join(', '),
    published: String(visibility === 'public'),
    status: visibility === 'public' ? 'active' : 'draft',
    seo_title: seo?.title,
    seo_description: seo?.description,
  };
}

/** Returns what Shopify calls the variant of a product that has none. */
function onlyVariantOf(publication: ExportedPublication) {
  const { price_amount, compare_at_amount, quantity_available, prices } = publication;
  return { price_amount, compare_at_amount, quantity_available, prices, option_values: {} };
}

function variantOf(
  { options, price_amount }: ExportedPublication,
  variant: Partial<ExportedVariant>,
  is_first: boolean,
): Row {
  const names = options.map(({ name }) => name);
  // The last column has the rest of more options.
  const columns = Array.from({ length: OPTIONS_MAX }, (_, index) =>
    names.slice(index, index === OPTIONS_MAX - 1 ? undefined : index + 1),
  );
  const joined = (column: number, toText: (name: string) => string | undefined) =>
    columns[column]!.map(toText).join(' / ');
  const valueIn = (name: string) => variant.option_values?.[name];
  const nameOf = (column: number) => (is_first ? joined(column, (name) => name) : '');
  const quantity = variant.quantity_available ?? null;
  const grams = variant.weight_grams ?? 0;
  return {
    option1_name: names.length > 0 || !is_first ? nameOf(0) : 'Title',
    option1: names.length > 0 ? joined(0, valueIn) : NO_OPTION_VALUE,
    option2_name: nameOf(1),
    option2: joined(1, valueIn),
    option3_name: nameOf(2),
    option3: joined(2, valueIn),
    sku: escapeNumber(variant.sku ?? ''),
    grams: String(grams),
    tracker: quantity === null ? '' : 'shopify',
    quantity: quantity === null ? '' : String(quantity),
    policy: variant.allow_backorder ? 'continue' : 'deny',
    price: formatPrice(variant.price_amount ?? price_amount),
    compare_at: priceText(variant.compare_at_amount),
    prices: variant.prices,
    barcode: escapeNumber(variant.barcode ?? ''),
    variant_image: variant.image,
  };
}
