import type { Media, NewPublication, Publication, PublicationPatch, Variant } from 'catalog-client';
import { type TranslatedTexts, textsOf, withPatch } from '../../lib/translations';
import {
  type DraftOption,
  isNew,
  type Row,
  savedOptions,
  savedRows,
  usedOptions,
  valueNames,
} from './matrix';
import { htmlOf, textOf } from './plain-text';

/** A property as it is edited: what was typed, until it is saved. */
export interface DraftAttribute {
  readonly name: string;
  readonly type: 'text' | 'number' | 'boolean' | 'list';
  /** Of a list: its texts. Otherwise what was typed; `true` or `false` for a boolean. */
  readonly value: string | readonly string[];
}

/** The fields of a variant that its row edits. */
export interface Cells {
  readonly sku: string | null;
  readonly external_id: string | null;
  readonly barcode: string | null;
  readonly price_amount: number | null;
  readonly compare_at_amount: number | null;
  readonly sale_price_amount: number | null;
  readonly quantity_available: number | null;
  readonly weight_grams: number | null;
  readonly allow_backorder: boolean;
  readonly media_id: string | null;
  readonly attributes: readonly DraftAttribute[];
}

export const CELLS = [
  'sku',
  'external_id',
  'barcode',
  'price_amount',
  'compare_at_amount',
  'sale_price_amount',
  'quantity_available',
  'weight_grams',
  'allow_backorder',
  'media_id',
  'attributes',
] as const satisfies readonly (keyof Cells)[];

interface ProductFields {
  readonly title: string;
  readonly description_html: string;
  readonly visibility: 'public' | 'private';
  readonly publish_at: string | null;
  readonly unpublish_at: string | null;
  readonly price_currency: string;
  readonly price_amount: number | null;
  readonly price_active: boolean;
  readonly compare_at_amount: number | null;
  readonly sale_price_amount: number | null;
  readonly sale_from: string | null;
  readonly sale_to: string | null;
  readonly quantity_available: number | null;
  readonly free_shipping: boolean | null;
  readonly listing_id: string | null;
  readonly listing_ids: readonly string[];
  readonly vendor: string | null;
  readonly product_type: string | null;
  readonly tags: readonly string[];
  readonly attributes: readonly DraftAttribute[];
  readonly seo_title: string | null;
  readonly seo_description: string | null;
  readonly handle: string | null;
  readonly external_id: string | null;
  readonly media_ids: readonly string[];
  readonly options: readonly DraftOption[];
  readonly rows: readonly Row[];
}

/** What a price in another currency has (docs/interface/currencies.md). Only that of a product has the times of its sale. */
export const AMOUNTS = ['price_amount', 'compare_at_amount', 'sale_price_amount'] as const;
const PRICE_PARTS = [...AMOUNTS, 'sale_from', 'sale_to'] as const;
/** The name of a part of a price in another currency, such as `price_amount_EUR`: of a product, and of a cell of a variant. */
export type PriceField = `${(typeof PRICE_PARTS)[number]}_${string}`;
const PRICE_FIELD = /^(.*)_([A-Z]{3})$/;
/** Returns the currency of a part of a price, and undefined for another field. */
export const currencyOf = (field: string): string | undefined => PRICE_FIELD.exec(field)?.[2];
/** Returns the name without the currency. */
export const partOf = (field: string): string => field.replace(PRICE_FIELD, '$1');

/** Returns the name of a field or a cell, such as `Price (EUR)`. */
export function namedIn(labels: object, field: string): string {
  const currency = currencyOf(field);
  const label = (labels as Readonly<Record<string, string>>)[partOf(field)] ?? field;
  return currency ? `${label} (${currency})` : label;
}

/** The address of a cell in the fields: that of a variant, by its key. */
export type CellName = keyof Cells | PriceField;
export type CellField = `variants/${string}/${CellName}`;
export const cellField = (key: string, cell: CellName): CellField => `variants/${key}/${cell}`;

/** All that the editor edits, flat, so that changes of two people contradict only in the same cell. */
export type Fields = ProductFields &
  TranslatedTexts &
  Readonly<Record<`alt/${string}`, string | null>> & { readonly [cell: CellField | PriceField]: unknown };

/** The change of one cell. */
export const cellChange = (key: string, cell: CellName, value: unknown): Partial<Fields> =>
  ({ [cellField(key, cell)]: value }) as Partial<Fields>;

/** A product as the service has it. */
export interface Product {
  /** Undefined for a new product. */
  readonly publication: Publication | undefined;
  readonly etag: string | undefined;
  readonly variants: readonly Variant[];
  readonly media: readonly Media[];
  readonly fields: Fields;
}

/** A new product, before anything was typed. */
export const newProduct = (currency: string): Product => ({
  publication: undefined,
  etag: undefined,
  variants: [],
  media: [],
  fields: {
    ...fieldsOf({
      title: '',
      description: '',
      visibility: 'public',
      price_currency: currency,
      price_active: true,
      media_ids: [],
    }),
    price_amount: null,
  },
});

type Shown = Pick<
  Publication,
  'title' | 'description' | 'visibility' | 'price_currency' | 'price_active' | 'media_ids'
> &
  Partial<Publication>;

export function fieldsOf(
  publication: Shown,
  variants: readonly Variant[] = [],
  media: readonly Media[] = [],
): Fields {
  const fields: Record<string, unknown> = {
    title: publication.title,
    description_html: publication.description_html ?? htmlOf(publication.description),
    visibility: publication.visibility,
    publish_at: publication.publish_at ?? null,
    unpublish_at: publication.unpublish_at ?? null,
    price_currency: publication.price_currency,
    price_amount: publication.price_amount ?? null,
    price_active: publication.price_active,
    compare_at_amount: publication.compare_at_amount ?? null,
    sale_price_amount: publication.sale_price_amount ?? null,
    sale_from: publication.sale_from ?? null,
    sale_to: publication.sale_to ?? null,
    quantity_available: publication.quantity_available ?? null,
    free_shipping: publication.free_shipping ?? null,
    listing_id: publication.listing_id ?? null,
    listing_ids: publication.listing_ids ?? [],
    vendor: publication.vendor ?? null,
    product_type: publication.product_type ?? null,
    tags: publication.tags ?? [],
    attributes: draftAttributes(publication.attributes),
    seo_title: publication.seo?.title ?? null,
    seo_description: publication.seo?.description ?? null,
    handle: publication.handle ?? null,
    external_id: publication.external_id ?? null,
    media_ids: publication.media_ids,
    options: savedOptions(publication.options ?? []),
    rows: savedRows(variants),
  } satisfies ProductFields;
  for (const [locale, { description, ...texts }] of Object.entries(publication.translations ?? {})) {
    const description_html = texts.description_html ?? (description && htmlOf(description));
    Object.assign(fields, textsOf({ [locale]: { ...texts, description_html } }));
  }
  Object.assign(fields, priceFields(publication.prices));
  for (const { id, alt } of media) fields[`alt/${id}`] = alt ?? null;
  for (const variant of variants) {
    for (const cell of CELLS)
      fields[cellField(variant.id, cell)] =
        cell === 'attributes' ? draftAttributes(variant.attributes) : (variant[cell] ?? null);
    for (const [cell, value] of Object.entries(priceFields(variant.prices)))
      fields[cellField(variant.id, cell as PriceField)] = value;
  }
  return fields as unknown as Fields;
}

type Prices = Publication['prices'] | Variant['prices'];

function priceFields(prices: Prices = {}): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  // A price that the service derives is not set.
  for (const [currency, price] of Object.entries(prices).filter(([, price]) => price.derived === undefined))
    for (const part of PRICE_PARTS)
      if (part in price) fields[`${part}_${currency}`] = price[part as 'price_amount'];
  return fields;
}

/** Returns the parts of a price in a currency that are set. `start`: of the names of the fields of a variant. */
function partsIn(values: Fields, currency: string, start = ''): object {
  const all = values as unknown as Readonly<Record<string, unknown>>;
  const parts = PRICE_PARTS.map((part) => [part, all[`${start}${part}_${currency}`] ?? null] as const);
  return Object.fromEntries(parts.filter(([, value]) => value !== null));
}

/** Returns the price to send, null if it was removed. A write replaces the price in a currency as a whole. */
const priceOf = (parts: object): object | null =>
  Object.keys(parts).some((part) => part.endsWith('amount')) ? parts : null;

/** The texts of a product that can be translated, by their paths in its translations. */
export const translatable = (values: Fields): [path: string[], text: string | null][] => [
  [['title'], values.title],
  [['description_html'], values.description_html],
  [['seo', 'title'], values.seo_title],
  [['seo', 'description'], values.seo_description],
  ...usedOptions(values.options).flatMap(({ name, values: own }): [string[], string][] => [
    [['options', name, 'name'], name],
    ...own.map((value): [string[], string] => [['options', name, 'values', value.name], value.name]),
  ]),
];

/** Returns a row's cells. A new row has those that were typed. */
export const cellsOf = (fields: Fields, key: string): Cells =>
  Object.fromEntries(
    CELLS.map((cell) => [cell, fields[cellField(key, cell)] ?? EMPTY_CELLS[cell]]),
  ) as unknown as Cells;

const EMPTY_CELLS: Cells = {
  ...(Object.fromEntries(CELLS.map((cell) => [cell, null])) as unknown as Cells),
  allow_backorder: false,
  attributes: [],
};

type Attributes = NonNullable<Publication['attributes']>;

const draftAttributes = (attributes: Attributes = {}): DraftAttribute[] =>
  Object.entries(attributes).map(([name, value]) => {
    if (Array.isArray(value)) return { name, type: 'list', value };
    if (typeof value === 'string') return { name, type: 'text', value };
    return { name, type: typeof value as 'number' | 'boolean', value: String(value) };
  });

const decimalOf = (value: DraftAttribute['value']): number => Number(String(value).replace(',', '.'));

export type AttributeFault = 'nameTwice' | 'noDecimal';

/** Returns why an attribute cannot be saved: its name is taken by another one, or its value is not a number. */
export function attributeFault(
  { name, type, value }: DraftAttribute,
  all: readonly DraftAttribute[],
): AttributeFault | undefined {
  const trimmed = name.trim();
  if (trimmed !== '' && all.filter((each) => each.name.trim() === trimmed).length > 1) return 'nameTwice';
  return type === 'number' && !Number.isFinite(decimalOf(value)) ? 'noDecimal' : undefined;
}

/** Returns the changed fields whose attributes cannot be saved, each with the first reason. */
export function attributeFaults(values: Fields, changed: Partial<Fields>): [string, AttributeFault][] {
  const fields = ['attributes', ...values.rows.map(({ key }) => cellField(key, 'attributes'))] as const;
  return fields.flatMap((field) => {
    const all = (changed[field as 'attributes'] ?? []) as readonly DraftAttribute[];
    const fault = all.map((each) => attributeFault(each, all)).find((each) => each !== undefined);
    return fault ? [[field, fault]] : [];
  });
}

/** Returns the attributes to send. Leaves out those without a name or a value. */
function attributesOf(attributes: readonly DraftAttribute[]): Attributes {
  const valueOfAttribute = ({ type, value }: DraftAttribute): Attributes[string] => {
    if (Array.isArray(value)) return [...value];
    if (type === 'boolean') return value === 'true';
    return type === 'number' ? decimalOf(value) : String(value);
  };
  return Object.fromEntries(
    attributes
      .filter(({ name, value }) => name.trim() !== '' && value.length > 0)
      .map((attribute) => [attribute.name.trim(), valueOfAttribute(attribute)]),
  );
}

/** The fields that the interface has under the same name. */
const SAME = [
  'title',
  'visibility',
  'publish_at',
  'unpublish_at',
  'price_currency',
  'price_active',
  'compare_at_amount',
  'sale_price_amount',
  'sale_from',
  'sale_to',
  'free_shipping',
  'listing_id',
  'listing_ids',
  'vendor',
  'product_type',
  'tags',
  'handle',
  'external_id',
  'media_ids',
] as const;

/** Returns the body of the request that saves the changed fields. */
export function bodyOf(values: Fields, changed: Partial<Fields>): PublicationPatch {
  const body: Record<string, unknown> = Object.fromEntries(
    SAME.filter((field) => field in changed).map((field) => [field, changed[field]]),
  );
  if (changed.description_html !== undefined) {
    body.description_html = changed.description_html || null;
    body.description = textOf(changed.description_html);
  }
  const { translations } = withPatch(changed);
  for (const texts of Object.values(translations ?? {}))
    if ('description_html' in texts)
      texts.description = texts.description_html && textOf(texts.description_html as string);
  if (translations) body.translations = translations;
  const has_variants = values.rows.length > 0;
  for (const field of Object.keys(changed)) {
    const currency = field.includes('/') ? undefined : currencyOf(field);
    if (!currency) continue;
    const parts = partsIn(values, currency);
    // Of a product with variants, only the times of the sale count.
    body.prices = {
      ...(body.prices as object),
      [currency]: has_variants ? { price_amount: 0, ...parts } : priceOf(parts),
    };
  }
  if (changed.attributes) body.attributes = attributesOf(changed.attributes);
  if ('seo_title' in changed || 'seo_description' in changed) {
    const seo = { title: values.seo_title || undefined, description: values.seo_description || undefined };
    body.seo = seo.title || seo.description ? seo : null;
  }
  for (const field of ['price_amount', 'quantity_available'] as const)
    if (field in changed && !has_variants) body[field] = changed[field];
  if (changed.options)
    body.options = usedOptions(values.options).map(({ name, values }) => ({
      name: name.trim(),
      values: values.map((value) => value.name),
    }));
  if (changed.options || changed.rows || Object.keys(changed).some((field) => field.startsWith('variants/')))
    body.variants = variantsOf(values, changed);
  return body as PublicationPatch;
}

/** Returns the body of the request that creates a product. A missing title or price is refused by the service. */
export const newBodyOf = (values: Fields, changed: Partial<Fields>): NewPublication => ({
  ...bodyOf(values, changed),
  title: values.title,
  price_currency: values.price_currency,
  price_amount: (values.rows.length > 0 ? (values.price_amount ?? 0) : values.price_amount) as number,
});

function variantsOf(values: Fields, changed: Partial<Fields>): Record<string, unknown>[] {
  const cells = new Map<string, Record<string, unknown>>();
  for (const [field, value] of Object.entries(changed)) {
    const [, key, cell] = /^variants\/(.*)\/(\w+)$/.exec(field) ?? [];
    if (!key || !cell) continue;
    const row = cells.get(key) ?? {};
    const currency = currencyOf(cell);
    if (currency)
      row.prices = {
        ...(row.prices as object),
        [currency]: priceOf(partsIn(values, currency, `variants/${key}/`)),
      };
    else row[cell] = cell === 'attributes' ? attributesOf(value as DraftAttribute[]) : value;
    cells.set(key, row);
  }
  const options = usedOptions(values.options);
  const is_shape_changed = changed.options !== undefined || changed.rows !== undefined;
  return values.rows.map((row, index) => {
    const { price_amount, allow_backorder, ...sent } = cells.get(row.key) ?? {};
    return {
      ...(!isNew(row) && { id: row.key }),
      ...(is_shape_changed && { option_values: valueNames(row, options), position: index + 1 }),
      ...sent,
      ...(typeof allow_backorder === 'boolean' && { allow_backorder }),
      // A price that was cleared becomes that of the product.
      ...(price_amount === null || (isNew(row) && price_amount === undefined)
        ? { price_amount: values.price_amount ?? 0 }
        : price_amount !== undefined && { price_amount }),
    };
  });
}

/** Returns the names of the fields of faults as the editor has them: `variants.3.sku` becomes that of the row. */
export function faultsOf(
  faults: Readonly<Record<string, string>>,
  rows: readonly Row[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(faults).map(([given, fault]) => {
      const [, place, currency, part = 'price_amount'] =
        /^(.*\.|)prices\.([A-Z]{3})(?:\.(\w+))?$/.exec(given) ?? [];
      const field = currency ? `${place}${part}_${currency}` : given;
      const [, index, cell = 'sku'] = /^variants\.(\d+)(?:\.(\w+))?/.exec(field) ?? [];
      const row = index === undefined ? undefined : rows[Number(index)];
      if (row) return [`variants/${row.key}/${cell}`, fault];
      return [
        field.replace(/^seo\./, 'seo_').replace(/^(attributes|tags|listing_ids|media_ids|options)\..*/, '$1'),
        fault,
      ];
    }),
  );
}
