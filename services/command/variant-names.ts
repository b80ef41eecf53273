import type { FieldCommand } from '../../shared/catalog/field-aggregate';
import type { publicationFields } from '../../shared/catalog/publication/fields';
import type { Publication } from '../../shared/catalog/publication/publication';
import { VARIANT_NAMES } from '../../shared/catalog/publication/variants';
import type { StoreId } from '../../shared/kernel/ids';
import type { WantedName } from './names';

type PublicationFieldCommand = FieldCommand<typeof publicationFields>;

type Named = { readonly [Name in (typeof VARIANT_NAMES)[number]]?: string | null | undefined };

/**
 * Returns the SKUs and external ids that a write adds to the variants of a publication
 * (docs/decisions/0030-names-are-reserved.md). `before`: undefined for a new or deleted one. `at` names the variant in an
 * error.
 */
export function variantNames(
  store_id: StoreId,
  variants: readonly Named[],
  before: Publication | undefined,
  at = (index: number): string => `variants.${index}.`,
): WantedName<Publication, PublicationFieldCommand>[] {
  return VARIANT_NAMES.flatMap((field) => {
    const held = new Set(before?.variants.map((variant) => variant[field]));
    return variants.flatMap(
      ({ [field]: value }, index): WantedName<Publication, PublicationFieldCommand>[] => {
        if (!value || held.has(value)) return [];
        return [
          {
            name: { store_id, kind: 'variant', field, value },
            has: (publication: Publication) =>
              publication.variants.some((variant) => variant[field] === value),
            interrupt: { type: 'Interrupt', field: 'handle' },
            giveUp,
            at: at(index) + field,
          },
        ];
      },
    );
  });
}

/** Returns the command that takes the names from the variants which the publication does not have `after`. */
function giveUp(publication: Publication, after: Publication): PublicationFieldCommand {
  const kept = VARIANT_NAMES.map((field) => new Set(after.variants.map((variant) => variant[field])));
  const variants = publication.variants.map((variant) => {
    const lost = VARIANT_NAMES.filter((field, index) => !kept[index]!.has(variant[field]));
    return { ...variant, ...Object.fromEntries(lost.map((field) => [field, null])) };
  });
  return { type: 'Update', changes: { variants } };
}
