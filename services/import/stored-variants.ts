import type { Publication } from '../../shared/catalog/publication/publication';
import { isSameValue, keyOfTexts } from '../../shared/kernel/same-value';
import type { NewPublication } from '../command/publication';
import type { UnreadVariants } from './item';

/*
 * What a row of a file means for a publication that has variants.
 */

/** Fields that a row without variants has, and that a variant has, too. */
const OF_ONLY_VARIANT = ['price_amount', 'compare_at_amount', 'quantity_available'] as const;
/** Fields of a publication that depend on its variants. */
export const PRICE_AND_STOCK = ['price_amount', 'price_currency', 'quantity_available'] as const;

/** The changes of a row, and the fields that the row cannot change because the variants have them. */
export interface RowChanges {
  readonly wanted: NewPublication;
  readonly ignored: readonly string[];
}

/**
 * Returns the changes as the publication can take them. Variants whose rows are invalid (`unread`) stay as they are. A row
 * without variants changes the price and the stock of the only variant; those of several variants stay.
 */
export function forVariantsOf(
  { variants: stored, ...before }: Publication,
  wanted: NewPublication,
  unread: UnreadVariants,
): RowChanges {
  if (wanted.variants) {
    const kept = variantsToKeep(stored, wanted.variants, unread);
    return { wanted: { ...wanted, variants: [...wanted.variants, ...kept] }, ignored: [] };
  }
  if (stored.length === 1) {
    const changes = OF_ONLY_VARIANT.filter((name) => wanted[name] !== undefined);
    const fields = Object.fromEntries(changes.map((name) => [name, wanted[name]]));
    return { wanted: { ...wanted, variants: [{ ...stored[0]!, ...fields }] }, ignored: [] };
  }
  const follows = stored.length > 1 ? PRICE_AND_STOCK : [];
  const ignored = follows.filter(
    (name) => wanted[name] !== undefined && !isSameValue(wanted[name], before[name]),
  );
  const kept = Object.fromEntries(follows.map((name) => [name, before[name]]));
  return { wanted: { ...wanted, ...kept } as NewPublication, ignored };
}

/** Returns the stored variants that an import keeps because invalid rows of the file may have contained them. */
function variantsToKeep(
  stored: Publication['variants'],
  variants: NonNullable<NewPublication['variants']>,
  unread: UnreadVariants,
): Publication['variants'] {
  const keysOf = (values: readonly object[]) => new Set(values.map(keyOfTexts));
  if (unread === 'unknown') {
    const read = keysOf(variants.map(({ option_values = {} }) => option_values));
    return stored.filter(({ option_values }) => !read.has(keyOfTexts(option_values)));
  }
  const invalid = keysOf(unread);
  return stored.filter(({ option_values }) => invalid.has(keyOfTexts(option_values)));
}
