import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { allEnded, Semaphore } from '../../shared/kernel/async';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import type { StoreDeps, WriteContext } from './execute';
import { reserveName } from './names';

/** Reservations at the same time, so that many of them share one commit of the log. */
const AT_ONCE = 64;

/**
 * Reserves the SKUs that a write adds to the variants of a publication (docs/decisions/0030-names-are-reserved.md). Throws
 * `name_taken` for a SKU of another publication. `before`: undefined for a new or deleted one. `at` names the field of a
 * variant.
 */
export async function reserveSkus(
  deps: StoreDeps,
  context: WriteContext,
  target: { readonly environment: Environment; readonly store_id: StoreId; readonly id: PublicationId },
  variants: readonly { readonly sku?: string | null | undefined }[],
  before: Publication | undefined,
  at = (index: number): string => `variants.${index}.sku`,
): Promise<void> {
  const held = new Set(before?.variants.map(({ sku }) => sku));
  const { environment, store_id, id } = target;
  const slots = new Semaphore(AT_ONCE);
  const reserve = ({ sku }: (typeof variants)[number], index: number): Promise<void>[] => {
    if (!sku || held.has(sku)) return [];
    const name = { store_id, kind: 'variant', field: 'sku', value: sku };
    const holding = {
      has: (publication: Publication) => publication.variants.some((variant) => variant.sku === sku),
      interrupt: 'handle',
      at: at(index),
    } as const;
    return [
      slots.run(() => reserveName(deps, context, environment, publicationAggregate, name, id, holding)),
    ];
  };
  await allEnded(variants.flatMap(reserve));
}
