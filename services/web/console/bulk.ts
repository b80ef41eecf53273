import { formatAmount } from '../../../shared/catalog/amounts';
import { smallestAmount } from '../../../shared/catalog/input-rules';
import type { BodyOf, CatalogClient, Publication, Variant } from '../../../shared/client';
import { type FormField, InvalidText, parseText } from './fields';

type Item = BodyOf<'batchPublications'>['items'][number];

/** The changes that a bulk edit makes in one product. */
export interface Planned {
  readonly title: string;
  readonly rows: readonly { readonly what: string; readonly before: string; readonly after: string }[];
  readonly item: Item;
}

const PRICE: FormField = { name: 'price', label: 'Price', kind: 'money' };
const STOCK: FormField = { name: 'stock', label: 'Stock', kind: 'count' };
/** Products with more variants are left out, because a page of the interface has no more. */
const VARIANTS_MAX = 250;

type Change = (value: number | null, of: Publication | Variant, currency: string) => number | null;

/** Parses a new price: an amount, or a percentage such as `+10%`. */
function priceChange(text: string): Change | undefined {
  const percent = /^([+-]\d{1,3}(?:[.,]\d{1,2})?)\s*%$/.exec(text.trim());
  if (!percent) {
    if (text.trim() === '') return undefined;
    return (_value, _of, currency) => parseText({ ...PRICE, currency }, text) as number;
  }
  const factor = 1 + Number(percent[1]!.replace(',', '.')) / 100;
  if (factor < 0) throw new InvalidText('price', 'Price: at most −100 %');
  return (value, _, currency) => {
    const unit = smallestAmount(currency);
    return Math.round(((value ?? 0) * factor) / unit) * unit;
  };
}

/** Parses a new stock: a number, or a difference such as `+5`. A stock that is not tracked has no difference. */
function stockChange(text: string): Change | undefined {
  const trimmed = text.trim();
  if (/^[+-]\d{1,9}$/.test(trimmed)) {
    const difference = Number(trimmed);
    return (value, of) => {
      if (value === null) return null;
      const may_be_negative = difference > 0 || ('allow_backorder' in of && of.allow_backorder);
      return may_be_negative ? value + difference : Math.max(value + difference, Math.min(value, 0));
    };
  }
  const count = parseText(STOCK, trimmed) as number | null;
  return count === null ? undefined : () => count;
}

/** Returns what the form changes in the products that it names. Throws `InvalidText`. */
export async function planBulk(client: CatalogClient, form: URLSearchParams): Promise<Planned[]> {
  const price = priceChange(form.get('price') ?? '');
  const stock = stockChange(form.get('stock') ?? '');
  const visibility = form.get('visibility') ?? '';
  const planned: Planned[] = [];
  for (const id of form.getAll('id')) {
    const product = await client.publications.get(id, { visibility: 'all', expand: ['variants'] });
    const variants = product.variants.data;
    const rows: Planned['rows'][number][] = [];
    const changesOf = (one: Publication | Variant, name: string): Record<string, unknown> => {
      const changes: Record<string, unknown> = {};
      const change = (field: 'price_amount' | 'quantity_available', what: string, by: Change | undefined) => {
        if (!by) return;
        const before = one[field] ?? null;
        const after = by(before, one, product.price_currency);
        if (after === before) return;
        changes[field] = after;
        const shown = (value: number): string =>
          field === 'price_amount' ? formatAmount('en', value, product.price_currency) : String(value);
        const show = (value: number | null): string => (value === null ? '—' : shown(value));
        rows.push({ what: `${what}${name}`, before: show(before), after: show(after) });
      };
      change('price_amount', 'Price', price);
      change('quantity_available', 'Stock', stock);
      return changes;
    };
    const body: Record<string, unknown> = {};
    if (visibility && visibility !== product.visibility) {
      body.visibility = visibility;
      rows.push({ what: 'Visibility', before: product.visibility, after: visibility });
    }
    if (variants.length === 0) Object.assign(body, changesOf(product, ''));
    else if ((product.variant_count ?? 0) <= VARIANTS_MAX) {
      const changed = variants.map((variant) => ({
        id: variant.id,
        ...changesOf(variant, ` of ${Object.values(variant.option_values).join(' / ')}`),
      }));
      if (changed.some((variant) => Object.keys(variant).length > 1)) body.variants = changed;
    }
    if (rows.length > 0)
      planned.push({ title: product.title, rows, item: { action: 'update', id, body } as Item });
  }
  return planned;
}
