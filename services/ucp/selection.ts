import type { Publication } from '../../shared/client';
import type { SelectedOption, UcpVariant } from './product';

const has = ({ options = [] }: UcpVariant, { name, label }: SelectedOption): boolean =>
  options.some((each) => each.name === name && each.label === label);

/** Returns the variants that have all selected options. */
export const matching = (
  variants: readonly UcpVariant[],
  selected: readonly SelectedOption[],
): readonly UcpVariant[] => variants.filter((variant) => selected.every((option) => has(variant, option)));

/**
 * Returns the selection without the options that no variant has, and without others until a variant has all that are left.
 * Options that `preferences` does not name are left out first, then the last ones that `preferences` names.
 */
export function relaxed(
  variants: readonly UcpVariant[],
  selected: readonly SelectedOption[],
  preferences: readonly string[] = [],
): readonly SelectedOption[] {
  const rankOf = ({ name }: SelectedOption): number => {
    const rank = preferences.indexOf(name);
    return rank === -1 ? preferences.length : rank;
  };
  const kept = selected
    .filter((option) => matching(variants, [option]).length > 0)
    .sort((a, b) => rankOf(a) - rankOf(b));
  while (matching(variants, kept).length === 0) kept.pop();
  return selected.flatMap(({ name, label }) =>
    kept.some((each) => each.name === name) ? [{ name, label }] : [],
  );
}

/** Returns the options of the product. Each value says whether a variant with it and the other selected options exists. */
export function availabilityMap(
  { options = [] }: Publication,
  variants: readonly UcpVariant[],
  selected: readonly SelectedOption[],
) {
  return options.map(({ name, values }) => {
    const others = matching(
      variants,
      selected.filter((option) => option.name !== name),
    );
    return {
      name,
      values: values.map((label) => {
        const found = matching(others, [{ name, label }]);
        const available = found.some(({ availability }) => availability.available);
        return { label, available, exists: found.length > 0 };
      }),
    };
  });
}
