import { formatAmount, parseMoney } from '../../lib/format';
import { AMOUNTS, type Cells, type PriceField } from './fields';

/** What a cell of the variants accepts. */
export type CellKind = 'text' | 'money' | 'number';

export interface VariantColumn {
  readonly cell: Exclude<keyof Cells, 'attributes' | 'media_id' | 'allow_backorder'> | PriceField;
  readonly kind: CellKind;
  /** Whether a card on a phone shows it. The others are in the dialog of the variant. */
  readonly isInCard?: boolean;
}

export const COLUMNS: readonly VariantColumn[] = [
  { cell: 'sku', kind: 'text', isInCard: true },
  { cell: 'price_amount', kind: 'money', isInCard: true },
  { cell: 'compare_at_amount', kind: 'money' },
  { cell: 'sale_price_amount', kind: 'money' },
  { cell: 'quantity_available', kind: 'number', isInCard: true },
  { cell: 'barcode', kind: 'text' },
  { cell: 'weight_grams', kind: 'number' },
];

/** The columns of the prices in another currency. */
export const priceColumns = (currency: string): readonly VariantColumn[] =>
  AMOUNTS.map((part) => ({ cell: `${part}_${currency}`, kind: 'money', isInCard: true }));

export const shownCell = (kind: CellKind, value: unknown, currency: string, locale: string): string => {
  if (value === null || value === undefined) return '';
  return kind === 'money' ? formatAmount(value as number, currency, locale) : String(value);
};

/** Returns the value of a typed or pasted text, null if it is empty, undefined if it is none. */
export function parseCell(
  kind: CellKind,
  text: string,
  currency: string,
): string | number | null | undefined {
  const typed = text.trim();
  if (kind === 'text') return typed === '' ? null : text;
  if (kind === 'money') return parseMoney(typed, currency);
  if (typed === '') return null;
  return /^-?\d{1,9}$/.test(typed) ? Number(typed) : undefined;
}
