import type { JsonObject } from '../../shared/catalog/events/envelope';
import { slugOf } from '../../shared/catalog/input-rules';
import { HTML_MAX } from '../../shared/catalog/publication/fields';
import type { Visibility } from '../../shared/catalog/vocabulary';
import { shortenText } from '../../shared/kernel/text';
import { CategoryTree, pathIn } from './categories';
import type { ColumnMapping, FileRow } from './columns';
import { htmlToText } from './html-text';
import { type ImageAddress, type ImportFile, type ImportItem, RowError } from './item';
import {
  type AboutFile,
  addressesIn,
  attributesOf,
  descriptionOf,
  foldRows,
  gramsIn,
  oneLine,
  openProductFile,
  type ProductReader,
  type ProductTexts,
  type VariantTexts,
  wordsIn,
} from './product';
import { readRows } from './records';

/** The attributes of a product that have columns. */
const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] as const;
type AttributeColumn = `${'name' | 'values' | 'visible'}${(typeof NUMBERS)[number]}`;

const attributeColumns = NUMBERS.flatMap((number) => [
  [`name${number}`, [`Attribute ${number} name`, `Nombre del atributo ${number}`]],
  [`values${number}`, [`Attribute ${number} value(s)`, `Valor(es) del atributo ${number}`]],
  [`visible${number}`, [`Attribute ${number} visible`, `Atributo visible ${number}`]],
]);

/** The columns of WooCommerce's product export that an import reads, each with its English and its Spanish names. */
const WOOCOMMERCE_COLUMNS = {
  id: ['ID'],
  type: ['Type', 'Tipo'],
  sku: ['SKU'],
  barcode: ['GTIN, UPC, EAN, or ISBN', 'GTIN, UPC, EAN o ISBN'],
  name: ['Name', 'Nombre'],
  published: ['Published', 'Publicado'],
  featured: ['Is featured?', '¿Está destacado?'],
  catalog: ['Visibility in catalog', 'Visibilidad en el catálogo'],
  summary: ['Short description', 'Descripción corta'],
  body: ['Description', 'Descripción'],
  sale_from: ['Date sale price starts', 'Día en que empieza el precio rebajado'],
  sale_to: ['Date sale price ends', 'Día en que termina el precio rebajado'],
  in_stock: ['In stock?', '¿Existencias?', '¿En inventario?'],
  stock: ['Stock', 'Inventario'],
  backorders: ['Backorders allowed?', '¿Permitir reservas de productos agotados?'],
  kilograms: ['Weight (kg)', 'Peso (kg)'],
  grams: ['Weight (g)', 'Peso (g)'],
  pounds: ['Weight (lbs)', 'Peso (lbs)'],
  ounces: ['Weight (oz)', 'Peso (oz)'],
  sale_price: ['Sale price', 'Precio rebajado'],
  price: ['Regular price', 'Precio normal'],
  categories: ['Categories', 'Categorías'],
  tags: ['Tags', 'Etiquetas'],
  images: ['Images', 'Imágenes'],
  parent: ['Parent', 'Superior'],
  position: ['Position', 'Posición'],
  brands: ['Brands', 'Marcas'],
  ...(Object.fromEntries(attributeColumns) as Readonly<Record<AttributeColumn, readonly string[]>>),
} as const;

type Row = FileRow<keyof typeof WOOCOMMERCE_COLUMNS>;

export const WOOCOMMERCE_FILE = {
  columns: WOOCOMMERCE_COLUMNS,
  required: 'name',
  name: "WooCommerce's product export",
} as const;

/** Opens WooCommerce's product export (`openProductFile`). */
export const openWooCommerceFile = (
  path: string,
  currency?: string,
  rows_max?: number,
  mapping?: ColumnMapping,
): Promise<ImportFile> => {
  const reader = new WooCommerceReader((unused) => readRows(path, WOOCOMMERCE_FILE, mapping, unused));
  return openProductFile(path, reader, currency, rows_max);
};

const isVariation = ({ type }: Pick<Row, 'type'>): boolean => type.toLowerCase().startsWith('variation');
const isVariable = ({ type }: Row): boolean => type.toLowerCase().startsWith('variable');

class WooCommerceReader implements ProductReader<Row> {
  /** The keys of products with variations, by their SKUs. */
  private readonly by_sku = new Map<string, string>();
  private readonly tree = new CategoryTree();

  constructor(readonly read: ProductReader<Row>['read']) {}

  note(row: Row): void {
    this.tree.note(categoriesOf(row));
    if (row.sku !== '' && isVariable(row)) this.by_sku.set(row.sku, this.keyOf(row));
  }

  keyOf({ line, id, sku, parent, ...row }: Row): string {
    const alone = `\u0000${line}`;
    if (isVariation(row)) return parent.replace(/^id:\s*/i, 'id:') || alone;
    return id === '' ? sku || alone : `id:${id}`;
  }

  productOf(key: string): string {
    return this.by_sku.get(key) ?? key;
  }

  fold(rows: readonly Row[], about: AboutFile): ImportItem[] {
    const product = rows.find((row) => !isVariation(row));
    const others = rows.filter((row) => row !== product);
    const ordered = product ? [product, ...others] : rows;
    const name = product ? product.id || product.sku || slugOf(product.name) : '';
    return foldRows(ordered, name, about, (warn): ProductTexts => {
      if (!product) throw new RowError(`the file has no product ${rows[0]!.parent || 'of the variation'}`);
      if (product.name === '') throw new RowError('missing name');
      const twin = others.find((row) => !isVariation(row));
      if (twin) throw new RowError(`the product of line ${twin.line} has the same id or SKU`);
      const variations = others.filter((row) => isSold(row, warn));
      return this.describe(product, variations, warn);
    });
  }

  private describe(product: Row, variations: readonly Row[], warn: Warn): ProductTexts {
    const { columns, id, position, brands, tags } = product;
    const note = (reason: string) => warn(product, reason);
    noteType(product, note);
    const visibility = visibilityOf(product, note);
    const used = variations.flatMap((row) => attributesIn(row).filter(hasValue)).map(({ name }) => name);
    const attributes = attributesIn(product).filter(({ name }) => !used.includes(name));
    // In the order of the product, which its variations may not have.
    const named = attributesIn(product).map(({ name }) => name);
    const options = [...new Set([...named, ...used])].filter((name) => used.includes(name));
    for (const { name } of attributes.filter(({ is_visible }) => !is_visible))
      note(`attribute ${shortenText(name, 40)} was left out: customers do not see it`);
    const shown = attributes.filter(({ is_visible }) => is_visible);
    const sold = variations.length > 0 ? variations : [product];
    const featured_position = Math.max(1, Math.trunc(Number(position)) || 1);
    return {
      fields: {
        title: oneLine(product.name),
        ...(id !== '' && { external_id: id }),
        ...textsOf(product),
        ...(visibility && { visibility }),
        ...(columns.has('featured') && {
          featured_position: product.featured === '1' ? featured_position : null,
        }),
        ...(columns.has('brands') && { vendor: listIn(brands)[0] ?? null }),
        ...(columns.has('tags') && { tags: listIn(tags) }),
        ...(columns.has('name1') && {
          attributes: attributesOf(
            shown.map(({ name, values }) => [name, values]),
            note,
          ),
        }),
        ...saleTimesOf(sold, warn),
      },
      handle_of_new: slugOf(product.name),
      options,
      // A file may have the variable products without their variations.
      has_options: columns.has('type') && (variations.length > 0 || !isVariable(product)),
      variants: sold.map((row) => variantOf(row, product, options, (reason) => warn(row, reason))),
      images: columns.has('images') ? imagesOf([product, ...variations]) : undefined,
      ...(columns.has('categories') && this.tree.place(categoriesOf(product), product.line, note)),
    };
  }
}

type Warn = (row: Row, reason: string) => void;
type Note = (reason: string) => void;

/** Returns the words between commas. A comma with a backslash before it belongs to the word. */
const listIn = (cell: string): string[] =>
  wordsIn(cell.split(/(?<!\\),/).map((word) => word.replaceAll('\\,', ',').replaceAll('&amp;', '&')));

const categoriesOf = ({ categories }: Row) =>
  listIn(categories)
    .map(pathIn)
    .filter((path) => path.length > 0);

/** What becomes of a product whose type says more than that it has variations. */
const TYPES: Readonly<Record<string, string | undefined>> = {
  '': undefined,
  simple: undefined,
  variable: undefined,
  grouped: 'the grouped product was imported without the products in it',
  external: 'the external product was imported without its address',
};

function noteType({ type }: Row, note: Note): void {
  const [word = ''] = type.toLowerCase().split(',');
  const reason = Object.hasOwn(TYPES, word)
    ? TYPES[word]
    : `the type "${shortenText(word, 40)}" was left out`;
  if (reason) note(reason);
}

/** Whether a product is public, by the word in `Published`: 0 is private, -1 a draft, and 2 waits for a review. */
const IS_PUBLIC: Readonly<Record<string, boolean>> = { '1': true, '0': false, '-1': false, '2': false };
const IN_CATALOG = ['', 'visible', 'catalog', 'search', 'hidden'];

/** Returns undefined if the file does not say it. Throws `RowError` for another word, so that nothing becomes public by it. */
function visibilityOf({ published, catalog }: Row, note: Note): Visibility | undefined {
  if (published !== '' && !Object.hasOwn(IS_PUBLIC, published))
    throw new RowError(`Published "${shortenText(published, 40)}": must be 1, 0, -1 or 2`);
  const place = catalog.toLowerCase();
  if (!IN_CATALOG.includes(place))
    throw new RowError(
      `Visibility in catalog "${shortenText(catalog, 40)}": must be ${IN_CATALOG.slice(1).join(', ')}`,
    );
  if (place === 'hidden') {
    note('the product was imported as private, because it is hidden');
    return 'private';
  }
  if (place === 'catalog' || place === 'search')
    note(`the product is shown in lists and searches, not only in ${place}`);
  if (published === '') return undefined;
  return IS_PUBLIC[published] ? 'public' : 'private';
}

/** Returns whether customers can choose a variation. Warns about one that is left out. */
function isSold(row: Row, warn: Warn): boolean {
  const is_sold = IS_PUBLIC[row.published] ?? true;
  if (!is_sold) warn(row, 'the variation was left out, because it is not enabled');
  return is_sold;
}

interface Attribute {
  readonly name: string;
  readonly values: readonly string[];
  readonly is_visible: boolean;
}

const attributesIn = (row: Row): Attribute[] =>
  NUMBERS.flatMap((number) => {
    const name = oneLine(row[`name${number}`]);
    const values = listIn(row[`values${number}`]);
    return name === '' ? [] : [{ name, values, is_visible: row[`visible${number}`] !== '0' }];
  });

const hasValue = ({ values }: Attribute): boolean => values.length > 0;

/** Returns the short description as the plain text, and the long one as HTML. One of them alone is both. */
function textsOf({ columns, summary, body }: Row): JsonObject {
  if (!columns.has('summary') && !columns.has('body')) return {};
  const [short, long] = [summary, body].map((text) => htmlOf(text));
  if (!short || !long) return descriptionOf(long || short || '');
  // Nested elements take long.
  return { ...descriptionOf(long), description: htmlToText(short.slice(0, 2 * HTML_MAX)) };
}

const BLOCK = /<(p|br|div|ul|ol|table|h[1-6])\b/i;

/** Returns the HTML of a text of WordPress, in which `\n` is a line break and a blank line begins a paragraph. */
function htmlOf(text: string): string {
  const lines = text.replace(/(?<!\\)\\n/g, '\n').trim();
  if (lines === '' || BLOCK.test(lines)) return lines;
  const paragraphs = lines.split(/\n\s*\n/).map((each) => `<p>${each.trim().replaceAll('\n', '<br>')}</p>`);
  return paragraphs.join('');
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d{1,2}):(\d\d)(?::(\d\d))?)?$/;

/** Returns the time of the sale, which all variations of a product share here. */
function saleTimesOf(rows: readonly Row[], warn: Warn): JsonObject {
  const { columns } = rows[0]!;
  if (!columns.has('sale_from') && !columns.has('sale_to')) return {};
  const sale = rows.find(({ sale_from, sale_to }) => sale_from !== '' || sale_to !== '') ?? rows[0]!;
  const isOther = (row: Row) => row.sale_from !== sale.sale_from || row.sale_to !== sale.sale_to;
  for (const row of rows.filter((each) => each.sale_price !== '' && isOther(each)))
    warn(row, `the time of the sale was left out: the variations have that of line ${sale.line}`);
  const timeOf = (text: string, time_of_day: string): string | null => {
    if (text === '') return null;
    const [, day, hour, minute, second = '00'] = TIME.exec(text) ?? [];
    const time = `${day}T${hour ? `${hour.padStart(2, '0')}:${minute}:${second}` : time_of_day}.000Z`;
    if (Number.isNaN(Date.parse(time)))
      throw new RowError(`date "${shortenText(text, 40)}": must be a day such as 2026-11-27`);
    return time;
  };
  return { sale_from: timeOf(sale.sale_from, '00:00:00'), sale_to: timeOf(sale.sale_to, '23:59:59') };
}

const UNITS = { kilograms: 'kg', grams: 'g', pounds: 'lb', ounces: 'oz' } as const;

/** Returns the weight in grams, undefined if the file has none. */
function weightOf(row: Row): string | undefined {
  const unit = (Object.keys(UNITS) as (keyof typeof UNITS)[]).find((each) => row.columns.has(each));
  return unit && gramsIn(row[unit], UNITS[unit]);
}

function variantOf(row: Row, product: Row, options: readonly string[], note: Note): VariantTexts {
  const { columns, line, id, price, sale_price, sku, barcode, in_stock, backorders, body } = row;
  const is_variation = row !== product;
  if (is_variation && body !== '') note('the description was left out: a variation has none');
  const values = new Map(attributesIn(row).map((each) => [each.name, each.values.join(', ')]));
  const valueIn = (option: string): string => {
    const value = values.get(option);
    if (!value) note(`${option} was imported as "${ANY}", because the variation is for each value`);
    return value || ANY;
  };
  const has_stock = columns.has('stock') || columns.has('in_stock');
  const is_on_order = ['1', 'notify', 'yes'].includes(backorders) || in_stock === 'backorder';
  // A product without a price cannot be bought.
  const has_price = columns.has('price') && (is_variation || price !== '');
  return {
    line,
    option_values: Object.fromEntries(options.map((option) => [option, valueIn(option)])),
    price: has_price ? price : undefined,
    sale_price: columns.has('sale_price') ? sale_price : undefined,
    quantity: has_stock ? quantityOf(row, product, note) : undefined,
    allow_backorder: columns.has('backorders') ? is_on_order : undefined,
    sku: columns.has('sku') ? sku : undefined,
    barcode: columns.has('barcode') ? barcode : undefined,
    // A variation without a weight has that of its product.
    weight: weightOf(row) || weightOf(product),
    external_id: is_variation ? id : undefined,
    image: is_variation ? (addressesIn(row.images)[0] ?? '') : '',
  };
}

/** The value of a variation that is sold for every value of an option. */
const ANY = 'Any';

/** Returns the stock. Without a number, it is not counted, unless the product is sold out. */
function quantityOf({ stock, in_stock }: Row, product: Row, note: Note): string | null {
  const is_shared = stock.toLowerCase() === 'parent';
  if (is_shared) note('the variation has the whole stock of the product, which it shares with others');
  const counted = (is_shared ? product.stock : stock).replace(/\.0+$/, '');
  if (counted !== '') return counted;
  return in_stock === '0' || in_stock === 'backorder' ? '0' : null;
}

const imagesOf = (rows: readonly Row[]): ImageAddress[] =>
  [...new Set(rows.flatMap(({ images }) => addressesIn(images)))].map((url) => ({ url }));
