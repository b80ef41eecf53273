import { shortened } from '../../lib/change-words';
import type { Conflict } from '../../lib/draft';
import { formatMoney, formatTime } from '../../lib/format';
import { type ListingTree, pathText, useListings } from '../../lib/listings';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { ConflictBanner } from '../../ui/conflicts';
import { useLabels } from '../../ui/languages';
import { useEditing } from './editing';
import { currencyOf, type Fields, namedIn, partOf } from './fields';
import { type DraftOption, type Row, rowName, usedOptions } from './matrix';
import { textOf } from './plain-text';

interface ConflictsProps {
  readonly conflicts: readonly Conflict<Fields>[];
  readonly onMine: (field: keyof Fields) => void;
  readonly onTheirs: (field: keyof Fields) => void;
}

/** The fields that were changed here and by somebody else. Each waits for a decision. */
export function Conflicts({ conflicts, onMine, onTheirs }: ConflictsProps) {
  const t = useTexts();
  const locale = useLocale();
  const { values } = useEditing();
  const { tree } = useListings();
  const labelOf = useLabels(t.product.fieldNames, (field) => fieldLabel(field, values, t));
  const shown = (field: string, value: unknown): string =>
    wordsFor(field, value, { t, locale, values, nameOf: (id) => listingName(tree, id) });
  return (
    <ConflictBanner
      draft={{ conflicts, keepMine: onMine, takeTheirs: onTheirs }}
      labelOf={labelOf}
      wordsOf={shown}
    />
  );
}

function fieldLabel(field: string, values: Fields, t: Texts): string {
  if (field.startsWith('alt/')) return t.product.alt;
  const [, key, cell] = /^variants\/(.*)\/(\w+)$/.exec(field) ?? [];
  if (key === undefined || cell === undefined) return namedIn(t.product.fieldNames, field);
  const row = values.rows.find((each) => each.key === key);
  const name = row ? rowName(row, usedOptions(values.options)) : '';
  return t.product.cellOf(namedIn(t.product.cells, cell), name);
}

interface Shown {
  readonly t: Texts;
  readonly locale: string;
  readonly values: Fields;
  readonly nameOf: (id: string) => string;
}

function wordsFor(field: string, value: unknown, { t, locale, values, nameOf }: Shown): string {
  if (value === null || value === undefined || value === '') return t.common.none;
  const currency = currencyOf(field) ?? values.price_currency;
  if (partOf(field).endsWith('_amount')) return formatMoney(value as number, currency, locale);
  if (/^(sale_|publish_|unpublish_)/.test(field)) return formatTime(value as string, locale);
  if (field.endsWith('description_html')) return shortened(textOf(value as string));
  if (field === 'listing_id') return nameOf(value as string);
  if (field === 'listing_ids') return (value as string[]).map(nameOf).join(', ') || t.common.none;
  if (field === 'options')
    return (value as DraftOption[])
      .map((each) => `${each.name}: ${each.values.map(({ name }) => name).join(', ')}`)
      .join(' · ');
  if (field === 'rows') return t.product.variantCount((value as Row[]).length);
  if (field === 'media_ids') return t.product.pictureCount((value as string[]).length);
  if (field.endsWith('attributes'))
    return (
      (value as Fields['attributes']).map((each) => `${each.name}: ${each.value}`).join(' · ') ||
      t.common.none
    );
  if (field === 'visibility') return value === 'public' ? t.product.public : t.product.private;
  if (typeof value === 'boolean') return value ? t.common.yes : t.common.no;
  return shortened(Array.isArray(value) ? value.join(', ') : String(value));
}

const listingName = (tree: ListingTree | undefined, id: string): string => {
  const node = tree?.byId.get(id);
  return node ? pathText(node) : '…';
};
