import { writes } from '../../shared/api/operations/writes';
import { revertBody } from '../../shared/api/requests/writes';
import { listingFields } from '../../shared/catalog/listing/fields';
import type { Listing } from '../../shared/catalog/listing/listing';
import { patchToPrices } from '../../shared/catalog/publication/currency-prices';
import { withoutDerivedPrices } from '../../shared/catalog/publication/derived-prices';
import { publicationFields } from '../../shared/catalog/publication/fields';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { storeAggregate } from '../../shared/catalog/store/store';
import { patchTo } from '../../shared/catalog/translations';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { CatalogError, invalidField } from '../../shared/kernel/errors';
import type { ListingId, PublicationId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import { findInLog, load, loadUpTo, streamIn } from '../../shared/ports/stream-state';
import type { StoreDeps, WriteContext } from './execute';
import { findListing, listings } from './listing';
import { type PublicationPatch, publications } from './publication';
import { existingMedia, existingReferences } from './references';
import { guardFor, type RouteDeps, writeContextOf } from './request';

export const revertRoutes = (deps: RouteDeps): Route[] => [
  routeOf(writes.revertPublication, (request) => revert(deps, request)),
];

/** Names stay: another publication may have the earlier ones. */
const NAMES = ['external_id', 'handle'];
const RESTORED = Object.keys(publicationFields).filter((name) => !NAMES.includes(name));

/** Handles `POST /api/publication/:id/revert`: patches the publication with its fields at an earlier revision. */
async function revert(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const { revision } = parseBody(revertBody, request.body);
  const { environment } = request.principal;
  const id = request.params.id as PublicationId;
  const guard = guardFor(request, deps.stores, 'publication_not_found');
  const { written, not_restored } = await revertTo(
    deps,
    writeContextOf(request),
    { environment, id, guard },
    () => publicationAt(deps, environment, id, revision),
  );
  const answer = await publications.answerAfter(deps, request, written);
  return { ...answer, data: { ...answer.data, not_restored }, changed: written.changed };
}

/** Returns the publication as it was at a revision, from 1. Throws `field_invalid` if it has no such revision. */
async function publicationAt(
  deps: StoreDeps,
  environment: Environment,
  id: PublicationId,
  revision: number,
): Promise<Publication> {
  const ref = streamIn(deps, environment, publicationAggregate, id);
  const current = await load<Publication>(ref);
  const is_known = revision <= current.revision + 1;
  const { state } = is_known ? await loadUpTo<Publication>(ref, revision - 1) : current;
  if (is_known && state.tag === 'present') return state.resource;
  throw CatalogError.ofFaults([invalidField('revision', 'a revision of its history, not a deletion')]);
}

/**
 * Patches a publication with the fields of an earlier state. Reads that state only after the guard of the target. Throws
 * what `readEarlier` throws, and as `updatePublication` does.
 */
export async function revertTo(
  deps: StoreDeps,
  context: WriteContext,
  target: Parameters<typeof publications.update>[2],
  readEarlier: () => Promise<Publication>,
) {
  const readRestorable = async () =>
    restorable(deps, target.environment, withoutDerivedPrices(await readEarlier()));
  let restored: Awaited<ReturnType<typeof restorable>> | undefined;
  const patchOf = async (before: Publication): Promise<PublicationPatch> => {
    restored = await readRestorable();
    const { fields, locales } = restored;
    const known = new Map(before.variants.map((variant) => [variant.id, variant]));
    const variants = fields.variants?.map((variant) => {
      const now = known.get(variant.id);
      // A variant that was removed meanwhile is created again: it has no id in the request.
      const restored = now ? variant : ({ ...variant, id: undefined } as unknown as typeof variant);
      const prices = patchToPrices(variant.prices, now?.prices ?? { ...before.prices, ...fields.prices });
      return { ...restored, prices };
    });
    // Translations in a locale that the store no longer has stay as they are, if the earlier state has this locale, too.
    const wanted = Object.entries(fields.translations ?? {}).flatMap(([locale, earlier]) => {
      const translation = locales.includes(locale) ? earlier : before.translations?.[locale];
      return translation ? [[locale, translation]] : [];
    });
    const translations = patchTo(Object.fromEntries(wanted), before.translations);
    return { ...fields, variants, translations, prices: patchToPrices(fields.prices, before.prices) };
  };
  const written = await publications.update(deps, context, target, patchOf);
  // A repetition whose first run is in the log does not ask for a patch.
  const { not_restored } = restored ?? (await readRestorable());
  return { written, not_restored };
}

/**
 * Patches a listing with the fields of an earlier state. A reference to what does not exist any more is left out. Throws as
 * the update of a listing does, except for too many levels below it.
 */
export async function revertListingTo(
  deps: StoreDeps,
  context: WriteContext,
  target: Parameters<typeof listings.update>[2],
  earlier: Listing,
) {
  const { environment } = target;
  const media_ids = await existingMedia(deps, environment, earlier.media_ids);
  const parent = earlier.parent_id && (await findListing(deps, environment, earlier.parent_id as ListingId));
  const is_parent_gone = earlier.parent_id !== null && !parent;
  const values = Object.entries({ ...earlier, media_ids }).filter(
    ([name]) => name in listingFields && !NAMES.includes(name) && !(name === 'parent_id' && is_parent_gone),
  );
  return listings.update(deps, context, target, async (before) => ({
    ...Object.fromEntries(values),
    translations: patchTo(earlier.translations, before.translations),
  }));
}

/** Returns the fields to restore, without references to what does not exist any more, and the names of such fields. */
async function restorable(deps: StoreDeps, environment: Environment, earlier: Publication) {
  const [existing, store] = await Promise.all([
    existingReferences(deps, environment, earlier),
    findInLog(deps, environment, storeAggregate, earlier.store_id),
  ]);
  const { locales = [] } = store ?? {};
  const { listing_id, listing_ids, media_ids } = existing;
  const variants = earlier.variants.map((variant) => ({
    ...variant,
    media_id: media_ids.some((id) => id === variant.media_id) ? variant.media_id : null,
  }));
  const is_listing_gone = listing_id !== earlier.listing_id;
  const not_restored = [
    ...(is_listing_gone ? ['listing_id'] : []),
    ...(isSameValue(listing_ids, earlier.listing_ids) ? [] : ['listing_ids']),
    ...(isSameValue(media_ids, earlier.media_ids) ? [] : ['media_ids']),
    ...(Object.keys(earlier.translations ?? {}).every((locale) => locales.includes(locale))
      ? []
      : ['translations']),
  ];
  const values = Object.entries({ ...earlier, ...existing, variants }).filter(
    ([name]) => RESTORED.includes(name) && !(is_listing_gone && name === 'listing_id'),
  );
  return { fields: Object.fromEntries(values) as PublicationPatch, locales, not_restored };
}
