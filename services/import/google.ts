import type { JsonObject } from '../../shared/catalog/events/envelope';
import { slugOf } from '../../shared/catalog/input-rules';
import { isUuid } from '../../shared/kernel/ids';
import { keyOfTexts } from '../../shared/kernel/same-value';
import { shortenText } from '../../shared/kernel/text';
import { CategoryTree, pathIn } from './categories';
import type { ColumnMapping, FileRow } from './columns';
import { GOOGLE_COLUMNS } from './google-feed';
import { handleOf } from './identity';
import { type ImageAddress, type ImportFile, type ImportItem, type OptionValues, RowError } from './item';
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
  type WeightUnit,
} from './product';
import { readRows } from './records';

type Row = FileRow<keyof typeof GOOGLE_COLUMNS>;
type Warn = (row: Row, reason: string) => void;

export const FEED = { columns: GOOGLE_COLUMNS, required: 'title', name: 'a product feed' } as const;

/** The columns whose values tell variants apart, with the names of the options. */
const OPTIONS = { color: 'Color', size: 'Size', material: 'Material', pattern: 'Pattern' } as const;
type OptionColumn = keyof typeof OPTIONS;
const OPTION_COLUMNS = Object.keys(OPTIONS) as OptionColumn[];
/** The option of variants that no other column tells apart. */
const OTHER_OPTION = 'Variant';
/** The columns that become attributes. */
const ATTRIBUTES = [
  'google_product_category',
  'mpn',
  'condition',
  'availability_date',
  'gender',
  'age_group',
] as const;

/** Opens a feed in the form of Google Merchant Center, in XML or as a table (`openProductFile`). */
export const openGoogleFile = (
  path: string,
  currency?: string,
  rows_max?: number,
  mapping?: ColumnMapping,
): Promise<ImportFile> => {
  const reader = new FeedReader((unused) => readRows(path, FEED, mapping, unused));
  return openProductFile(path, reader, currency, rows_max);
};

class FeedReader implements ProductReader<Row> {
  private readonly tree = new CategoryTree();

  constructor(readonly read: ProductReader<Row>['read']) {}

  note(row: Row): void {
    this.tree.note(categoriesOf(row));
  }

  keyOf({ item_group_id, id, line }: Row): string {
    if (item_group_id !== '') return `group ${item_group_id}`;
    return id === '' ? `line ${line}` : `item ${id}`;
  }

  fold(rows: readonly Row[], about: AboutFile): ImportItem[] {
    const { item_group_id, id, title } = rows[0]!;
    const name = item_group_id || id;
    return foldRows(rows, name, about, (warn) => {
      if (name === '') throw new RowError('missing id');
      if (title === '') throw new RowError('missing title');
      return this.describe(rows, name, warn);
    });
  }

  private describe(rows: readonly Row[], external_id: string, warn: Warn): ProductTexts {
    const first = rows[0]!;
    const { columns } = first;
    const is_group = first.item_group_id !== '';
    const group = is_group ? groupOf(rows) : { ...NO_GROUP, title: titleIn(first) };
    const { common, own } = attributesIn(rows, group, warn);
    const prices = rows.map((row) => priceIn(row.price));
    const currency = prices.find((price) => price.currency)?.currency;
    if (prices.some((price) => price.currency && price.currency !== currency))
      throw new RowError('the prices have several currencies');
    const have_own_images = is_group && rows.some(({ image_link }) => image_link !== first.image_link);
    return {
      fields: {
        ...(currency && { price_currency: currency }),
        title: group.title,
        external_id,
        ...(columns.has('description') && textsOf(first)),
        ...(columns.has('brand') && { vendor: oneLine(first.brand) || null }),
        ...(common !== undefined && { attributes: common }),
        ...saleTimeOf(rows, warn),
      },
      handle_of_new: handleIn(first.link) || slugOf(group.title),
      options: group.names,
      has_options: true,
      variants: rows.map((row, index) => ({
        ...variantOf(row, prices[index]!.amount),
        option_values: group.values[index] ?? {},
        external_id: is_group ? row.id : undefined,
        image: have_own_images ? row.image_link : '',
        ...(own && { attributes: own[index]! }),
      })),
      images: imagesOf(rows),
      ...this.placeOf(first),
    };
  }

  /** A feed names one listing of a product. Without it, the product stays where it is. */
  private placeOf(row: Row): Pick<ProductTexts, 'listing' | 'listings'> {
    const paths = categoriesOf(row);
    if (paths.length === 0) return {};
    const { listing, listings } = this.tree.place(paths, row.line, () => {});
    return { listing, listings };
  }
}

/** Returns the attributes that all rows share, and the other ones of each row. Undefined if the file has none of them. */
function attributesIn(rows: readonly Row[], { options }: Pick<Group, 'options'>, warn: Warn) {
  const first = rows[0]!;
  const others = OPTION_COLUMNS.filter((option) => !options.includes(option));
  const known = [...ATTRIBUTES, ...others].filter((name) => first.columns.has(name));
  const shared = known.filter((name) => rows.every((row) => row[name] === first[name]));
  const differing = known.filter((name) => !shared.includes(name));
  // A product without a condition is new.
  const textOf = (row: Row, name: (typeof known)[number]): string =>
    name === 'condition' && row.condition.toLowerCase() === 'new' ? '' : row[name];
  const valuesIn = (row: Row, names: typeof known) =>
    attributesOf(
      names.map((name) => [name, textOf(row, name)]),
      (reason) => warn(row, reason),
    );
  return {
    common: known.length > 0 ? valuesIn(first, shared) : undefined,
    own: differing.length > 0 ? rows.map((row) => valuesIn(row, differing)) : undefined,
  };
}

const categoriesOf = ({ product_type }: Row) => [pathIn(product_type)].filter((path) => path.length > 0);

/** More than the title of a publication may have. A longer one is refused later, and takes long to compare. */
const TITLE_MAX = 500;
const titleIn = ({ title }: Row): string => oneLine(title.slice(0, TITLE_MAX));

/** What tells the items of a group apart, and the title without it. */
interface Group {
  readonly title: string;
  readonly options: readonly OptionColumn[];
  readonly names: readonly string[];
  /** The option values of each row. */
  readonly values: readonly OptionValues[];
}

const NO_GROUP = { options: [], names: [], values: [] } as const;

function groupOf(rows: readonly Row[]): Group {
  const first = rows[0]!;
  const options = OPTION_COLUMNS.filter(
    (option) =>
      rows.some((row) => row[option] !== first[option]) || rows.every((row) => isNamed(row, option)),
  );
  const title = titleOf(rows, options);
  const option_names = options.map((option) => OPTIONS[option]);
  const values = rows.map((row) =>
    Object.fromEntries(options.map((option) => [OPTIONS[option], oneLine(row[option]) || NO_VALUE])),
  );
  const rests = rows.map((row) => {
    const known = options.map((option) => row[option]);
    const rest = withoutEnd(titleIn(row).slice(title.length), known).replace(BETWEEN, '');
    return rest
      .split(' / ')
      .filter((part) => !known.includes(part))
      .join(' / ');
  });
  const have_names = rows.every((row, index) => rests[index] && titleIn(row).startsWith(`${title} - `));
  if (areDifferent(values) && !have_names) return { title, options, names: option_names, values };
  const withOther = (texts: readonly string[]) =>
    values.map((each, index) => ({ ...each, [OTHER_OPTION]: texts[index]! }));
  const named = withOther(rests);
  return {
    title,
    options,
    names: [...option_names, OTHER_OPTION],
    values: have_names && areDifferent(named) ? named : withOther(rows.map(({ id }) => id)),
  };
}

const areDifferent = (values: readonly OptionValues[]): boolean =>
  new Set(values.map(keyOfTexts)).size === values.length;

/** The value of a variant that the feed does not tell. */
const NO_VALUE = '-';

/** Returns whether the end of the title of a row names the value of an option. */
const isNamed = (row: Row, option: OptionColumn): boolean =>
  row[option] !== '' && titleIn(row).split(' - ').at(-1)!.split(' / ').includes(row[option]);

/** What may be between the title of a product and the values of a variant. */
const BETWEEN = /^[\s,/|(–—-]+/;
const BEFORE_END = /[\s,/|(–—-]+$/;

/** Returns a title without the values at its end, each of which may be in brackets. */
function withoutEnd(title: string, values: readonly string[]): string {
  for (const value of values.flatMap((each) => (each === '' ? [] : [each, `${each})`]))) {
    const rest = title.slice(0, -value.length);
    const is_end = title.toLowerCase().endsWith(value.toLowerCase()) && BEFORE_END.test(rest);
    if (!is_end) continue;
    const others = values.filter((each) => each !== value && `${each})` !== value);
    return withoutEnd(rest.replace(BEFORE_END, ''), others);
  }
  return title;
}

/** Returns what the titles of the rows have in common, without the values of the options. */
function titleOf(rows: readonly Row[], options: readonly OptionColumn[]): string {
  const titles = rows.map((row) =>
    withoutEnd(
      titleIn(row),
      options.map((option) => row[option]),
    ),
  );
  const [first = ''] = titles;
  let length = first.length;
  for (const title of titles) while (!title.startsWith(first.slice(0, length))) length--;
  const shared = first.slice(0, length);
  const is_whole = titles.every((title) => title.length === length || BETWEEN.test(title.slice(length)));
  if (titles.every((title) => title.length === length)) return first;
  const words = is_whole ? shared : shared.replace(/[^\s,/|(–—-]*$/, '');
  const known = options.flatMap((option) => rows.map((row) => row[option]));
  return withoutEnd(words.replace(BEFORE_END, ''), [...new Set(known)]) || first;
}

/** More than a price or a time has. The patterns below are slow with a long text. */
const TEXT_MAX = 100;
/** `12.50 PEN`, or the code before the amount. */
const PRICE = /^(?:([A-Z]{3})\s*)?([^A-Z]*?)(?:\s*([A-Z]{3}))?$/i;

function priceIn(text: string): { readonly amount: string; readonly currency: string | undefined } {
  const [, before, amount = text, after] = PRICE.exec(text.slice(0, TEXT_MAX)) ?? [];
  return { amount, currency: (before ?? after)?.toUpperCase() };
}

const HTML = /<\/?[a-z][^<>]*>/i;

/** A plain text does not replace a description in HTML. */
const textsOf = ({ description }: Row): JsonObject =>
  HTML.test(description) ? descriptionOf(description) : { description };

/** Returns the handle in the address of a product: the last part of its path. */
function handleIn(link: string): string {
  if (!URL.canParse(link)) return '';
  const last = new URL(link).pathname.split('/').findLast((part) => part !== '') ?? '';
  try {
    const handle = handleOf(decodeURIComponent(last).replace(/\.(html?|php|aspx?)$/i, ''));
    return isUuid(handle) ? '' : handle;
  } catch {
    return '';
  }
}

const TIMES = /^(\S+?)([+-]\d\d:?\d\d|Z)?\/(\S+?)([+-]\d\d:?\d\d|Z)?$/;

/** Returns the time of the sale, which all variants of a product share here. */
function saleTimeOf(rows: readonly Row[], warn: Warn): JsonObject {
  if (!rows[0]!.columns.has('sale_price_effective_date')) return {};
  const sale = rows.find((row) => row.sale_price_effective_date !== '');
  if (!sale) return { sale_from: null, sale_to: null };
  const { sale_price_effective_date: text } = sale;
  for (const row of rows)
    if (row.sale_price !== '' && row.sale_price_effective_date !== text)
      warn(row, `the time of the sale was left out: the variants have that of line ${sale.line}`);
  const [, from, from_zone = 'Z', to, to_zone = 'Z'] = TIMES.exec(text.slice(0, TEXT_MAX)) ?? [];
  const [sale_from, sale_to] = [
    [from, from_zone],
    [to, to_zone],
  ].map(([time, zone]) => {
    const parsed = Date.parse(
      /T/.test(time ?? '') ? `${time}${zone!.replace(/(\d\d)(\d\d)$/, '$1:$2')}` : time!,
    );
    if (Number.isNaN(parsed))
      throw new RowError(`the time of the sale "${shortenText(text, 60)}" is no interval`);
    return new Date(parsed).toISOString();
  });
  return { sale_from: sale_from!, sale_to: sale_to! };
}

const ON_ORDER = ['backorder', 'preorder', 'available for order'];
/** Words in which a product can be bought, with underscores or spaces. */
const IN_STOCK = ['in stock', 'limited availability', ...ON_ORDER];
const SOLD_OUT = ['out of stock', 'discontinued'];

const WEIGHT = /^([\d.]+)\s*(g|kg|lb|oz)s?$/i;

function variantOf(row: Row, amount: string): Omit<VariantTexts, 'image' | 'option_values'> {
  const { columns, line, gtin, sale_price, shipping_weight } = row;
  const availability = row.availability.toLowerCase().replaceAll('_', ' ');
  if (availability !== '' && ![...IN_STOCK, ...SOLD_OUT].includes(availability))
    throw new RowError(
      `availability "${shortenText(row.availability, 40)}": must be in_stock, out_of_stock or backorder`,
    );
  const is_on_order = ON_ORDER.includes(availability);
  const is_sold_out = is_on_order || SOLD_OUT.includes(availability);
  const [, weight = shipping_weight, unit = 'g'] = WEIGHT.exec(shipping_weight) ?? [];
  return {
    line,
    price: columns.has('price') ? amount : undefined,
    sale_price: columns.has('sale_price') ? priceIn(sale_price).amount : undefined,
    quantity: row.quantity_to_sell_on_facebook || (is_sold_out ? '0' : null),
    allow_backorder: columns.has('availability') ? is_on_order : undefined,
    barcode: columns.has('gtin') ? gtin : undefined,
    weight: columns.has('shipping_weight') ? gramsIn(weight, unit.toLowerCase() as WeightUnit) : undefined,
  };
}

function imagesOf(rows: readonly Row[]): ImageAddress[] | undefined {
  const { columns } = rows[0]!;
  if (!columns.has('image_link') && !columns.has('additional_image_link')) return undefined;
  const urls = rows.flatMap(({ image_link, additional_image_link }) => [
    ...addressesIn(image_link),
    ...addressesIn(additional_image_link),
  ]);
  return [...new Set(urls)].map((url) => ({ url }));
}
