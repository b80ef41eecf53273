import { CatalogProposedError, type ErrorInfo, type Publication, type Variant } from 'catalog-client';
import { isSame } from '../../lib/draft';
import { messageOf, wordFault } from '../../lib/errors';
import { formatAmount, parseMoney } from '../../lib/format';
import type { Texts } from '../../texts/texts';

/* The fields of a product that a cell can change. Price, stock and codes of a product with one variant are those of the variant. */

export type Field =
  | 'title'
  | 'price'
  | 'compare_at'
  | 'stock'
  | 'sku'
  | 'barcode'
  | 'vendor'
  | 'type'
  | 'tags'
  | 'visibility';
type Value = string | number | readonly string[] | null;
/** The body of a PATCH, or the values of its fields before the PATCH. */
export type Body = Readonly<Record<string, unknown>>;

interface Rule {
  /** The name of the field in the interface. */
  readonly name: string;
  readonly kind: 'line' | 'money' | 'count' | 'list' | 'visibility';
  /** `both`: variants have the field instead of their product. `variant`: only variants have it. */
  readonly owner?: 'both' | 'variant';
  /** Whether the field always has a value. */
  readonly isRequired?: boolean;
}

export const RULES: Readonly<Record<Field, Rule>> = {
  title: { name: 'title', kind: 'line', isRequired: true },
  price: { name: 'price_amount', kind: 'money', owner: 'both', isRequired: true },
  compare_at: { name: 'compare_at_amount', kind: 'money', owner: 'both' },
  stock: { name: 'quantity_available', kind: 'count', owner: 'both' },
  sku: { name: 'sku', kind: 'line', owner: 'variant' },
  barcode: { name: 'barcode', kind: 'line', owner: 'variant' },
  vendor: { name: 'vendor', kind: 'line' },
  type: { name: 'product_type', kind: 'line' },
  tags: { name: 'tags', kind: 'list' },
  visibility: { name: 'visibility', kind: 'visibility', isRequired: true },
};

export const variantsOf = (product: Publication): readonly Variant[] => product.variants?.data ?? [];

/** Returns what has the field: the product, or its only variant. Undefined if several variants have it, or none can. */
function ownerOf(product: Publication, field: Field): object | undefined {
  const { owner } = RULES[field];
  if (!owner) return product;
  if (product.variant_count === undefined) return owner === 'both' ? product : undefined;
  return product.variant_count === 1 ? product.variants?.data[0] : undefined;
}

export const isEditable = (product: Publication, field: Field): boolean =>
  ownerOf(product, field) !== undefined;

export function fieldValue(product: Publication, field: Field): Value {
  const owner = ownerOf(product, field) as Readonly<Record<string, Value | undefined>> | undefined;
  return owner?.[RULES[field].name] ?? null;
}

/** The text that a cell shows while it is edited. */
export function textOf(product: Publication, field: Field, t: Texts, locale: string): string {
  const value = fieldValue(product, field);
  if (value === null) return '';
  switch (RULES[field].kind) {
    case 'money':
      return formatAmount(value as number, product.price_currency, locale);
    case 'list':
      return (value as readonly string[]).join(', ');
    case 'visibility':
      return t.products.visibilities[value as 'public' | 'private'];
    default:
      return String(value);
  }
}

/** Reads what was typed or pasted into a cell. Returns the reason if it is no value of the field. */
export function parseField(
  field: Field,
  text: string,
  currency: string,
  t: Texts,
): { readonly value: Value } | { readonly fault: string } {
  const { kind, isRequired } = RULES[field];
  const bare = text.trim();
  if (bare === '') return isRequired ? { fault: t.errors.required } : { value: null };
  switch (kind) {
    case 'money': {
      const value = parseMoney(bare, currency);
      return value === undefined || value === null ? { fault: t.errors.noAmount } : { value };
    }
    case 'count': {
      const digits = bare.replace(/\s/g, '').replace(/[.,](?=\d{3}(?:[.,]|$))/g, '');
      return /^-?\d{1,9}$/.test(digits) ? { value: Number(digits) } : { fault: t.errors.noNumber };
    }
    case 'list':
      return { value: listOf(bare) };
    case 'visibility': {
      const found = (['public', 'private'] as const).find((each) =>
        [each, t.products.visibilities[each].toLowerCase()].includes(bare.toLowerCase()),
      );
      return found ? { value: found } : { fault: t.products.noVisibility };
    }
    default:
      return { value: bare };
  }
}

const listOf = (text: string): string[] => [...new Set(text.split(',').flatMap((each) => each.trim() || []))];

/** The PATCH that gives the product these values. */
export function bodyOf(product: Publication, values: Partial<Readonly<Record<Field, Value>>>): Body {
  const body: Record<string, unknown> = {};
  const of_variant: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(values) as [Field, Value][]) {
    const target = ownerOf(product, field) === product ? body : of_variant;
    target[RULES[field].name] = value;
  }
  if (Object.keys(of_variant).length === 0) return body;
  return { ...body, variants: variantsOf(product).map(({ id }) => ({ id, ...of_variant })) };
}

const valueIn = (owner: object, name: string): unknown => {
  const value = (owner as Readonly<Record<string, unknown>>)[name] ?? null;
  return Array.isArray(value) && value.length === 0 ? null : value;
};
const isValue = (owner: object, name: string, value: unknown): boolean =>
  isSame(valueIn(owner, name), valueIn({ value }, 'value'));

type VariantBody = Readonly<Record<string, unknown>> & { readonly id: string };
const variantBodies = (body: Body): readonly VariantBody[] =>
  (body.variants as readonly VariantBody[] | undefined) ?? [];

/** Whether the product has all values of the body. Variants that the body does not name do not count. */
export function hasValues(product: Publication, body: Body): boolean {
  const own = Object.entries(body).filter(([name]) => name !== 'variants');
  const is_own = own.every(([name, value]) => isValue(product, name, value));
  return is_own && variantBodies(body).every((wanted) => hasVariant(product, wanted));
}

function hasVariant(product: Publication, wanted: VariantBody): boolean {
  const variant = variantsOf(product).find(({ id }) => id === wanted.id);
  return !variant || Object.entries(wanted).every(([name, value]) => isValue(variant, name, value));
}

/** Leaves out of the body what the product has already. Returns undefined if nothing is left. */
export function changesOf(product: Publication, body: Body): Body | undefined {
  const { variants: _, ...own } = body;
  const changed = Object.entries(own).filter(([name, value]) => !isValue(product, name, value));
  const are_variants_changed = variantBodies(body).some((wanted) => !hasVariant(product, wanted));
  if (changed.length === 0 && !are_variants_changed) return undefined;
  return { ...Object.fromEntries(changed), ...(are_variants_changed && { variants: body.variants }) };
}

/** The values that the product has of the fields of the body. */
export function valuesBefore(product: Publication, body: Body): Body {
  const pick = (owner: object, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, valueIn(owner, name)]));
  const { variants: _, ...own } = body;
  if (!body.variants) return pick(product, Object.keys(own));
  const variants = variantBodies(body).flatMap((wanted) => {
    const variant = variantsOf(product).find(({ id }) => id === wanted.id);
    return variant ? pick(variant, Object.keys(wanted)) : [];
  });
  return { ...pick(product, Object.keys(own)), variants };
}

/** Makes a body about some variants one about all variants: the service removes the variants that a list leaves out. */
export function withAllVariants(product: Publication, body: Body): Body {
  if (!body.variants) return body;
  const named = new Map(variantBodies(body).map((each) => [each.id, each]));
  return { ...body, variants: variantsOf(product).map(({ id }) => named.get(id) ?? { id }) };
}

export type Refusal = Pick<ErrorInfo, 'message' | 'details'>;
type Fault = NonNullable<ErrorInfo['details']>['errors'][number];

/** Returns why the value of the field was refused, if the error is about it. */
export function faultOf({ details }: Refusal, field: Field, t: Texts): string | undefined {
  const fault = details?.errors.find((each) => each.field.split('.').at(-1) === RULES[field].name);
  return fault && wordProductFault(fault, t);
}

/** Returns why a product was refused, or that its change was proposed. */
export function reasonOf(refusal: Refusal, t: Texts): string {
  if (refusal instanceof CatalogProposedError) return messageOf(refusal, t);
  const { message, details } = refusal;
  const fault = details?.errors[0];
  return fault ? wordProductFault(fault, t) : message;
}

const wordProductFault = (fault: Fault, t: Texts): string =>
  fault.constraint.includes('sale_price_amount') ? t.products.belowSale : wordFault(fault, t);
