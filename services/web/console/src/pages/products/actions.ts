import type { Publication } from 'catalog-client';
import { type Body, changesOf, variantsOf } from './fields';

/** How an amount becomes another one. `value`: percent, or hundredths. */
export type Change = { readonly how: 'percent' | 'amount' | 'set'; readonly value: number };
export const ROUNDINGS = ['exact', 'whole', 'nines'] as const;
export type Rounding = (typeof ROUNDINGS)[number];

/** A change of many products. */
export type Action =
  | ({ readonly kind: 'price'; readonly rounding: Rounding } & Change)
  | { readonly kind: 'stock'; readonly how: 'set' | 'amount'; readonly value: number | null }
  | { readonly kind: 'visibility'; readonly visibility: 'public' | 'private' }
  | { readonly kind: 'tags'; readonly add: readonly string[]; readonly remove: readonly string[] }
  | { readonly kind: 'vendor' | 'type'; readonly text: string }
  | { readonly kind: 'listing'; readonly how: 'main' | 'add' | 'remove'; readonly listing_id: string }
  | ({
      readonly kind: 'sale';
      readonly rounding: Rounding;
      readonly from: string | null;
      readonly to: string | null;
    } & (Change | { readonly how: 'end' }))
  | { readonly kind: 'schedule'; readonly publish_at: string | null; readonly unpublish_at: string | null }
  | { readonly kind: 'delete' };

/** Currencies whose amounts are multiples of 100 have no decimals. */
const hasDecimals = (currency: string): boolean =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits !== 0;

function round(amount: number, rounding: Rounding, currency: string): number {
  if (rounding === 'whole' || !hasDecimals(currency)) return Math.round(amount / 100) * 100;
  if (rounding === 'nines') return Math.max(99, Math.round((amount + 1) / 100) * 100 - 1);
  return Math.round(amount);
}

function changed(amount: number, { how, value }: Change, rounding: Rounding, currency: string): number {
  if (how === 'set') return value;
  const exact = how === 'percent' ? amount * (1 + value / 100) : amount + value;
  return Math.max(0, round(exact, rounding, currency));
}

/** Returns what the action changes in a product, undefined if nothing. Products with variants have a change of each variant. */
export function bodyOfAction(action: Action, product: Publication): Body | 'delete' | undefined {
  return action.kind === 'delete' ? 'delete' : changesOf(product, wanted(action, product));
}

function wanted(action: Exclude<Action, { kind: 'delete' }>, product: Publication): Body {
  switch (action.kind) {
    case 'price': {
      const next = (amount: number) => changed(amount, action, action.rounding, product.price_currency);
      return ofEach(product, (owner) => ({ price_amount: next(owner.price_amount) }));
    }
    case 'stock': {
      const { how, value } = action;
      const next = (stock = 0) => (how === 'set' || value === null ? value : Math.max(0, stock + value));
      return ofEach(product, (owner) => ({ quantity_available: next(owner.quantity_available) }));
    }
    case 'visibility':
      return { visibility: action.visibility };
    case 'tags': {
      const kept = (product.tags ?? []).filter((tag) => !action.remove.includes(tag));
      return { tags: [...kept, ...action.add.filter((tag) => !kept.includes(tag))] };
    }
    case 'vendor':
      return { vendor: action.text.trim() || null };
    case 'type':
      return { product_type: action.text.trim() || null };
    case 'listing':
      return listings(product, action);
    case 'sale':
      return sale(product, action);
    case 'schedule': {
      const { publish_at, unpublish_at } = action;
      // Hidden until then.
      return { publish_at, unpublish_at, ...(publish_at && { visibility: 'private' }) };
    }
  }
}

interface Priced {
  readonly price_amount: number;
  readonly quantity_available?: number;
}

function ofEach(product: Publication, bodyOf: (owner: Priced) => Body): Body {
  if (!product.variant_count) return bodyOf(product);
  return { variants: variantsOf(product).map((variant) => ({ id: variant.id, ...bodyOf(variant) })) };
}

function listings(product: Publication, { how, listing_id }: Extract<Action, { kind: 'listing' }>): Body {
  const main = product.listing_id ?? null;
  const others = product.listing_ids ?? [];
  const without = others.filter((id) => id !== listing_id);
  if (how === 'main') return { listing_id, listing_ids: without };
  if (how === 'remove') return { listing_id: main === listing_id ? null : main, listing_ids: without };
  return main === listing_id || others.includes(listing_id) ? {} : { listing_ids: [...others, listing_id] };
}

function sale(product: Publication, action: Extract<Action, { kind: 'sale' }>): Body {
  const dates =
    action.how === 'end'
      ? { sale_from: null, sale_to: null }
      : { sale_from: action.from, sale_to: action.to };
  const priceOf = ({ price_amount }: Priced): number | null =>
    action.how === 'end' ? null : changed(price_amount, action, action.rounding, product.price_currency);
  const body = { ...dates, sale_price_amount: priceOf(product) };
  if (!product.variant_count) return body;
  return { ...body, ...ofEach(product, (variant) => ({ sale_price_amount: priceOf(variant) })) };
}
