import { z } from 'zod';
import type { Fault } from '../../kernel/errors';
import { isSameValue } from '../../kernel/same-value';
import type { JsonObject } from '../events/envelope';
import { type Changes, field, initialValues, patchShape, storedShape, withoutNulls } from '../fields';
import {
  ATTRIBUTES_MAX,
  amountField,
  attributesField,
  attributesSchema,
  fewNames,
  idField,
  lineField,
  namedValuesField,
  stopAtFaults,
} from '../input-rules';
import { parseBarcode } from './barcode';
import {
  faultsOfAmounts,
  faultsOfCurrencies,
  PRICES_EXAMPLE,
  type Prices,
  patchedPrices,
  variantPrices,
} from './currency-prices';

export const OPTIONS_MAX = 5;
export const VARIANTS_MAX = 2_048;
/** How many variants an item of a list shows, and how many a single publication shows. Documents repeat the former. */
export const LISTED_VARIANTS_MAX = 50;
export const SHOWN_VARIANTS_MAX = 250;
/** Maximum size of all variants as JSON, so that one event can contain them (`APPEND_BYTES_MAX`). */
const VARIANTS_BYTES_MAX = 900_000;
/** Not counted: releases before variants had a sale price have stored as many bytes without it. */
const NO_SALE_BYTES = '"sale_price_amount":null,'.length;
const COUNT_MAX = 1_000_000_000;
const POSITION_MAX = 1_000_000;

const event = 'VariantChanged';

/** The writable fields of a variant, in the order of responses. All are optional in requests. */
export const variantFields = {
  sku: field(z.string().nullable(), {
    event,
    input: lineField(100).nullable(),
    initial: null,
    doc: "The merchant's article number. Unique in the store.",
    example: 'CAMISA-M-AZUL',
  }),
  external_id: field(z.string().nullable(), {
    event,
    input: lineField(255).nullable(),
    initial: null,
    added: true,
    doc: 'The id of the variant in another system, such as an ERP. Unique among the variants of the store.',
    example: 'erp-10442-m',
  }),
  barcode: field(z.string().nullable(), {
    event,
    input: lineField(50)
      .transform((text) => parseBarcode(text) ?? INVALID)
      .refine((code) => code !== INVALID, {
        params: { condition: 'field_invalid' },
        error: 'a code whose check digit is right',
      })
      .nullable(),
    initial: null,
    doc: 'The code on the package. The check digit of an EAN-8, EAN-13, UPC-A, GTIN-14 or ISBN must be right; spaces and hyphens in it are removed. Other codes are stored as they are.',
    example: '7750182003834',
  }),
  option_values: field(z.record(z.string(), z.string()), {
    event,
    input: fewNames(z.record(z.string(), lineField(120)), OPTIONS_MAX),
    initial: {},
    doc: 'The value of each option, by the name of the option. No two variants have the same values.',
    example: { Talla: 'M', Color: 'Azul' },
  }),
  price_amount: field(z.int().min(0), {
    event,
    input: amountField,
    initial: 0,
    doc: 'The price in hundredths of the major unit of the currency of the publication. Default: the price of the publication.',
    example: 8900,
  }),
  compare_at_amount: field(z.int().min(0).nullable(), {
    event,
    input: amountField.nullable(),
    initial: null,
    doc: 'The price before a discount, in hundredths of the major unit.',
    example: 9900,
  }),
  sale_price_amount: field(z.int().min(0).nullable(), {
    event,
    input: amountField.nullable(),
    initial: null,
    added: true,
    doc: 'The price in hundredths during a sale, which begins and ends as that of the publication. Not above `price_amount`. Without it, the variant has the `sale_price_amount` of the publication.',
    example: 7900,
  }),
  quantity_available: field(z.int().nullable(), {
    event,
    input: z.int().min(-COUNT_MAX).max(COUNT_MAX).nullable(),
    initial: null,
    doc: 'Number of units in stock. Below 0 only with `allow_backorder`. Omitted if stock is not tracked.',
    example: 12,
  }),
  allow_backorder: field(z.boolean(), {
    event,
    input: z.boolean(),
    initial: false,
    doc: 'Whether customers can order more than is in stock.',
    example: false,
  }),
  position: field(z.int().min(1), {
    event,
    input: z.int().min(1).max(POSITION_MAX),
    initial: 1,
    doc: 'Variants are sorted by it, from low to high. Default: after the variant before it.',
    example: 1,
  }),
  media_id: field(z.string().nullable(), {
    event,
    input: idField.nullable(),
    initial: null,
    doc: "The id of the variant's picture: one of the `media_ids` of the publication.",
    example: '0195d4a2-8a03-7c1e-9f31-5b0c7a6e1d04',
  }),
  weight_grams: field(z.int().min(0).nullable(), {
    event,
    input: z.int().min(0).max(COUNT_MAX).nullable(),
    initial: null,
    doc: 'The weight in grams.',
    example: 240,
  }),
  attributes: field(attributesSchema, {
    event,
    input: attributesField,
    initial: null,
    doc: `Further properties by name. Maximum ${ATTRIBUTES_MAX}. A value is a text, a number, true or false, or a list of texts. Omitted if there are none.`,
    example: { material: 'algodón' },
  }),
  prices: field(variantPrices.stored, { event, ...variantPrices.rules, example: PRICES_EXAMPLE }),
};
/** The fields whose value no other variant of the store has (docs/decisions/0030-names-are-reserved.md). */
export const VARIANT_NAMES = ['sku', 'external_id'] as const;

/** Stands for a barcode with a wrong check digit. No valid code is empty. */
const INVALID = '';

export const variantSchema = z.object({ id: z.string(), ...storedShape(variantFields) });
export type Variant = z.output<typeof variantSchema>;
export const optionSchema = z.object({ name: z.string(), values: z.array(z.string()) });
export type Option = z.output<typeof optionSchema>;

const VARIANT_ID_DOC =
  'The id of a variant of the publication. Without it, the variant with these `option_values`.';

/** A variant in the list of a publication's body. */
export const listedVariantBody = z.strictObject({
  id: idField
    .optional()
    .meta({ description: VARIANT_ID_DOC, example: '0195d4a2-8a02-7c1e-9f31-5b0c00000001' }),
  ...patchShape(variantFields),
});
const OPTION_NAME_MAX = 60;
const OPTION_VALUE_MAX = 120;
export const optionBody = z.strictObject({
  name: lineField(OPTION_NAME_MAX).meta({
    description: 'The name of the option, shown to customers.',
    example: 'Talla',
  }),
  values: z
    .array(lineField(OPTION_VALUE_MAX))
    .max(VARIANTS_MAX)
    .optional()
    .transform((values) => values ?? [])
    .meta({
      description:
        'Its values, in the order to show them. Other values that variants have are added at the end.',
      example: ['S', 'M', 'L'],
    }),
});

/** The options in a publication's body. */
export const optionsField = z
  .array(optionBody)
  .max(OPTIONS_MAX)
  .refine((options) => new Set(options.map(({ name }) => name)).size === options.length, {
    params: { condition: 'field_invalid' },
    error: 'no name more than once',
  })
  .nullable()
  .transform((options) => options ?? []);

const option_value = lineField(OPTION_VALUE_MAX);
const NAME_DOC = { description: 'The name in this language.', example: 'Größe' };
const VALUES_DOC = {
  description: 'The values in this language, by those of the option.',
  example: { M: 'Mittel' },
};

/**
 * The rule of `options` in `translations`: the translated name of each option and its translated values, by the option's own
 * name and values. Variants have no translations of their own.
 */
export const optionsTranslation = {
  input: namedValuesField(
    z
      .strictObject({
        name: lineField(OPTION_NAME_MAX).nullish().meta(NAME_DOC),
        values: namedValuesField(option_value.nullable(), VARIANTS_MAX, OPTION_VALUE_MAX)
          .nullish()
          .meta(VALUES_DOC),
      })
      .nullable(),
    // A patch may remove the names of all earlier options.
    2 * OPTIONS_MAX,
    OPTION_NAME_MAX,
  ),
  answer: z.record(
    z.string(),
    z
      .strictObject({
        name: z.string().meta(NAME_DOC),
        values: z.record(z.string(), z.string()).meta(VALUES_DOC),
      })
      .partial(),
  ),
};
export const OPTIONS_TRANSLATION_EXAMPLE = { Talla: { name: 'Größe', values: { M: 'Mittel' } } };

/** The variants in a publication's body. `arrangeVariants` completes them, which is why the type says that they are complete. */
export const variantsField = z
  .array(stopAtFaults(listedVariantBody))
  .max(VARIANTS_MAX)
  .nullable()
  .transform((variants) => variants ?? []) as unknown as z.ZodType<Variant[]>;

export const OPTIONS_EXAMPLE: Option[] = [{ name: 'Talla', values: ['S', 'M'] }];
export const VARIANTS_EXAMPLE = [
  { option_values: { Talla: 'S' }, price_amount: 8900, quantity_available: 3 },
  { option_values: { Talla: 'M' }, price_amount: 8900, quantity_available: 12 },
] as unknown as Variant[];

/** The fields of a variant that a request sends. The others keep their values, or get their defaults in a new variant. */
export type VariantChanges = Changes<typeof variantFields>;
type ListedVariant = VariantChanges & { readonly id?: string | undefined };

/** What variants depend on in their publication. */
interface Owner {
  readonly options: readonly Option[];
  readonly variants: readonly Variant[];
  readonly price_amount: number;
  readonly price_currency: string;
  readonly prices?: Prices | undefined;
  readonly media_ids: readonly string[];
  readonly version: number;
}

/** The options and variants after a request, or what is wrong with it. */
type Arranged =
  | { readonly faults?: undefined; readonly options: Option[]; readonly variants: Variant[] }
  | { readonly faults: readonly Fault[] };

const { prices: _, ...DEFAULTS } = initialValues(variantFields) as unknown as Omit<Variant, 'id'>;

/**
 * Returns the options and the variants of publication `id` after a request that sends the whole list of either.
 *
 * - An item with the `id` or the option values of an existing variant changes that variant. Fields that it does not have
 *   stay. Variants that are not in the list are removed.
 * - An option with the same name keeps the values of the variants. One with a new name is the old one renamed if it has all
 *   values that the variants have of that one.
 */
export function arrangeVariants(
  id: string,
  sent: {
    readonly options?: readonly Option[] | undefined;
    readonly variants?: readonly ListedVariant[] | undefined;
  },
  owner: Owner,
): Arranged {
  const faults: Fault[] = [];
  const fault = (at: string, constraint: string, condition: Fault['condition'] = 'field_invalid') =>
    faults.push({ condition, field: at, constraint });
  const kept = sent.options ? renameOptions(owner, sent.options) : owner.variants;
  const items: readonly ListedVariant[] = sent.variants ?? kept;
  const names = namesOf(sent.options ?? owner.options, items);
  const combination = ({ option_values = {} }: ListedVariant): string =>
    JSON.stringify(names.map((name) => optionValue(option_values, name)));
  const by_id = new Map(kept.map((variant) => [variant.id, variant]));
  const by_values = new Map(kept.map((variant) => [combination(variant), variant]));
  const newSet = () => new Set<string>();
  const seen = { id: newSet(), values: newSet(), sku: newSet(), external_id: newSet() };
  const isRepeated = (set: Set<string>, value: string): boolean => set.size === set.add(value).size;

  if (items.length > VARIANTS_MAX) fault('variants', `at most ${VARIANTS_MAX}`, 'field_too_long');
  let position = 0;
  const variants = items.slice(0, VARIANTS_MAX).map((item, index) => {
    const at = (name: string) => `variants.${index}.${name}`;
    const before = item.id === undefined ? by_values.get(combination(item)) : by_id.get(item.id);
    if (item.id !== undefined && !before) fault(at('id'), 'the id of a variant of the publication');
    const base = before ?? {
      ...DEFAULTS,
      price_amount: owner.price_amount,
      ...(owner.prices && { prices: amountsOf(owner.prices) }),
      id: variantId(id, owner.version, index),
    };
    const next = Math.min(position + 1, POSITION_MAX);
    const variant: Variant = { ...base, position: Math.max(next, before?.position ?? 1) };
    for (const [name, value] of Object.entries(item))
      if (value !== undefined && name !== 'prices') variant[name as 'sku'] = value as string;
    if (item.prices !== undefined) {
      const prices = patchedPrices(base.prices, item.prices);
      if (prices) variant.prices = prices;
      else delete variant.prices;
    }
    position = Math.max(position, variant.position);

    // Without an id, the variant is the one with its values, which are repeated then.
    if (isRepeated(seen.id, variant.id) && item.id !== undefined)
      fault(at('id'), 'no variant more than once');
    for (const name of names)
      if (optionValue(variant.option_values, name) === undefined)
        fault(at(`option_values.${name}`), 'required', 'field_required');
    for (const name of Object.keys(variant.option_values))
      if (!names.includes(name)) fault(at(`option_values.${name}`), 'an option of the publication');
    if (isRepeated(seen.values, combination(variant)))
      fault(
        sent.variants ? at('option_values') : 'options',
        'values that differ from those of every other variant',
      );
    for (const name of VARIANT_NAMES)
      if (variant[name] !== null && isRepeated(seen[name], variant[name]))
        fault(at(name), 'another one than every other variant');
    if ((variant.quantity_available ?? 0) < 0 && !variant.allow_backorder)
      fault(at('quantity_available'), 'at least 0 without allow_backorder');
    const { price_amount: price, sale_price_amount: sale } = variant;
    const has_old_prices = before?.price_amount === price && before.sale_price_amount === sale;
    if (sale !== null && sale > price && !has_old_prices)
      fault(at('sale_price_amount'), 'at most price_amount');
    for (const { field, constraint } of faultsOfAmounts(owner.price_currency, variant, before))
      fault(at(field), constraint);
    for (const { field, constraint } of faultsOfCurrencies(owner.price_currency, variant, before))
      fault(at(field), constraint);
    const is_new_picture = variant.media_id !== null && variant.media_id !== before?.media_id;
    if (is_new_picture && !owner.media_ids.includes(variant.media_id!))
      fault(at('media_id'), 'one of the media_ids of the publication');
    return before && isSameValue(before, variant) ? before : variant;
  });
  const without_sale = variants.filter((variant) => variant.sale_price_amount === null).length;
  if (Buffer.byteLength(JSON.stringify(variants)) - without_sale * NO_SALE_BYTES > VARIANTS_BYTES_MAX)
    fault('variants', 'at most 900,000 bytes of JSON in all variants together', 'field_too_long');
  if (faults.length > 0) return { faults };
  const options = names.map((name) => {
    const { values } = (sent.options ?? owner.options).find((option) => option.name === name) ?? {
      values: [],
    };
    return {
      name,
      values: [...new Set([...values, ...variants.map(({ option_values }) => option_values[name]!)])],
    };
  });
  return { options, variants: inOrder(variants) };
}

/** Returns the prices that a new variant takes from its publication: the amount in each currency, without sales. */
const amountsOf = (prices: Prices): Prices =>
  Object.fromEntries(
    Object.entries(prices).map(([currency, { price_amount }]) => [currency, { price_amount }]),
  );

/** Returns the value of the option. A name may be that of a property which all objects have, such as `constructor`. */
const optionValue = (values: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/** Returns the names of the options: without any, those that the first variant has. */
function namesOf(options: readonly Option[], [first]: readonly ListedVariant[]): string[] {
  return options.length > 0 ? options.map(({ name }) => name) : Object.keys(first?.option_values ?? {});
}

/** Returns the variants with the values of the new options. A value of a new option is missing. */
function renameOptions({ options, variants }: Owner, next: readonly Option[]): readonly Variant[] {
  const gone = options.filter(({ name }) => !next.some((option) => option.name === name));
  const renamed = new Map<string, string>();
  for (const { name, values } of next) {
    if (options.some((option) => option.name === name)) renamed.set(name, name);
    else {
      const index = gone.findIndex((old) =>
        variants.every(({ option_values }) => values.includes(option_values[old.name]!)),
      );
      if (index >= 0) renamed.set(name, gone.splice(index, 1)[0]!.name);
    }
  }
  const is_same = [...renamed].every(([name, old]) => name === old) && renamed.size === options.length;
  if (is_same) return variants;
  return variants.map((variant) => ({
    ...variant,
    option_values: Object.fromEntries(
      [...renamed].map(([name, old]) => [name, optionValue(variant.option_values, old)!]),
    ),
  }));
}

/** Returns the variants by their position. Those with the same position are sorted by id. */
export function inOrder(variants: readonly Variant[]): Variant[] {
  return [...variants].sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1));
}

/** The digits of a variant's id that are its own. Those before are the ones of its publication. */
const OWN_DIGITS = 8;

/**
 * Returns the id of a new variant. It begins with the first digits of the id of its publication, by which the publication is
 * found. The other digits are a number that no variant of the publication had before: it grows with the version.
 */
export function variantId(publication_id: string, version: number, index: number): string {
  const number = (version * 2 * VARIANTS_MAX + index) % 16 ** OWN_DIGITS;
  return variantIdPrefix(publication_id) + number.toString(16).padStart(OWN_DIGITS, '0');
}

/** Returns the part of an id that the ids of a publication and of all its variants have in common. */
const variantIdPrefix = (id: string): string => id.slice(0, -OWN_DIGITS);

/** More than the publications whose ids have the same first 24 digits. Nearly always there is one. */
const SAME_PREFIX_MAX = 4;

/** Returns the stored publications that may have the variant, because their ids begin like its id. `scan` is that of a view. */
export async function possibleOwners<Found extends { readonly id: string; readonly document: object | null }>(
  variant_id: string,
  scan: (range: { readonly after_id: string; readonly limit: number }) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const prefix = variantIdPrefix(variant_id);
  const found = await scan({ after_id: prefix, limit: SAME_PREFIX_MAX });
  return found.filter(({ id, document }) => id.startsWith(prefix) && document);
}

/** Returns whether the variant can be bought. */
export const isAvailable = ({ quantity_available, allow_backorder }: Variant): boolean =>
  allow_backorder || quantity_available === null || quantity_available > 0;

/** Returns the first variant with the lowest price, which is the price of the publication. */
export const cheapestOf = <One extends { readonly price_amount: number }>(variants: readonly One[]): One =>
  variants.reduce((one, other) => (other.price_amount < one.price_amount ? other : one));

/** The fields of a publication that follow from its variants, if it has any. */
export const OF_VARIANTS = ['price_amount', 'quantity_available'] as const;

/** Returns the fields of a publication that follow from its variants. Undefined if it has no variants. */
export function priceAndStockOf(variants: readonly Variant[]) {
  if (variants.length === 0) return undefined;
  const is_tracked = variants.every(({ quantity_available }) => quantity_available !== null);
  const quantity_available = is_tracked
    ? variants.reduce((sum, variant) => sum + Math.max(0, variant.quantity_available!), 0)
    : null;
  return { price_amount: cheapestOf(variants).price_amount, quantity_available };
}

/** What a publication shows of its variants. Undefined if it has no variants. */
export function summaryOf(variants: readonly Variant[]) {
  if (variants.length === 0) return undefined;
  const max = Math.max(...variants.map(({ price_amount }) => price_amount));
  return {
    price_range: { min: cheapestOf(variants).price_amount, max },
    variant_count: variants.length,
    in_stock: variants.some(isAvailable),
  };
}

/** Returns the resource. `media_ids`: the media that the publication shows; without another one, it has no picture. */
export function variantResource(
  variant: Variant,
  publication_id: string,
  media_ids: readonly string[],
): JsonObject {
  const { id, media_id, prices, ...fields } = variant;
  return withoutNulls({
    id,
    object: 'variant',
    publication_id,
    ...fields,
    media_id: media_id !== null && media_ids.includes(media_id) ? media_id : null,
    ...(prices && { prices }),
  } as JsonObject);
}
