import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import { VARIANT_NAMES } from '../../shared/catalog/publication/variants';
import type { Environment } from '../../shared/catalog/realm';
import { allEnded, Semaphore } from '../../shared/kernel/async';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import type { StoreDeps, WriteContext } from './execute';
import { reserveName } from './names';

/** Reservations at the same time, so that many of them share one commit of the log. */
const AT_ONCE = 64;

type Named = { readonly [Name in (typeof VARIANT_NAMES)[number]]?: string | null | undefined };

/**
 * Reserves the SKUs and external ids that a write adds to the variants of a publication
 * (docs/decisions/0030-names-are-reserved.md). Throws `name_taken` for a name of another publication. `before`: undefined
 * for a new or deleted one. `at` names the variant in an error.
 */
export async function reserveVariantNames(
  deps: StoreDeps,
  context: WriteContext,
  target: { readonly environment: Environment; readonly store_id: StoreId; readonly id: PublicationId },
  variants: readonly Named[],
  before: Publication | undefined,
  at = (index: number): string => `variants.${index}.`,
): Promise<void> {
  const { environment, store_id, id } = target;
  const slots = new Semaphore(AT_ONCE);
  const reserve = (field: keyof Named): Promise<void>[] => {
    const held = new Set(before?.variants.map((variant) => variant[field]));
    return variants.flatMap(({ [field]: value }, index) => {
      if (!value || held.has(value)) return [];
      const name = { store_id, kind: 'variant', field, value };
      const holding = {
        has: (publication: Publication) => publication.variants.some((variant) => variant[field] === value),
        interrupt: 'handle',
        at: at(index) + field,
      } as const;
      return slots.run(() =>
        reserveName(deps, context, environment, publicationAggregate, name, id, holding),
      );
    });
  };
  await allEnded(VARIANT_NAMES.flatMap(reserve));
}
