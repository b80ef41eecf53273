import { stateOf } from '../../shared/catalog/events/aggregate';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { areIdsOf, idsOf } from '../../shared/catalog/media/document';
import {
  keysInListings,
  NO_REVIEWS,
  NOT_FEATURED,
  type PublicationBody,
  type PublicationDocument,
  publicationCollection,
  publicationKeys,
  ratingOf,
  ratingRank,
  unitsOf,
} from '../../shared/catalog/publication/document';
import { facetKey } from '../../shared/catalog/publication/facets';
import { type PageViewEvent, viewsIn } from '../../shared/catalog/publication/page-views';
import { shownVariants } from '../../shared/catalog/publication/price-history';
import { hasSale, inEachCurrency } from '../../shared/catalog/publication/prices';
import {
  type Publication,
  type PublicationEvent,
  publicationAggregate,
  publicationResource,
} from '../../shared/catalog/publication/publication';
import { LISTED_VARIANTS_MAX } from '../../shared/catalog/publication/variants';
import {
  LABEL_FIELDS,
  publicationWords,
  TEXT_FIELDS,
  termsOfTexts,
  withLabels,
} from '../../shared/catalog/search/words';
import type { Unit } from '../../shared/catalog/stored-document';
import type { PublicationId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import type { Tally } from './tally';
import { type EventContext, noKeys, type View } from './view';

const PLACEHOLDER: PublicationDocument = {
  keys: noKeys<PublicationDocument['keys']>(publicationCollection.keys),
  body: {} as PublicationBody,
  state: {
    publication: null,
    deleted: null,
    reviews: NO_REVIEWS,
    page_views: 0,
    revision: -1,
  },
  expansions: { listing: null, listings: [], media: [], variants: [] },
};

export const publicationView: View<PublicationDocument, PublicationEvent> = {
  collection: 'publications',
  category: 'publication',
  aggregate: 'publication',
  placeholder: PLACEHOLDER,
  fold: (before, event, { id, revision, occurred_at }: EventContext<PublicationId>) => {
    const base = before ?? PLACEHOLDER;
    const current = base.state.deleted ?? stateOf(base.state.publication);
    const after = publicationAggregate.evolve(current, event, id, occurred_at);
    // The counts stay, because reviews that are written meanwhile are counted for a publication that may be restored.
    if (after.tag === 'deleted' && after !== current) {
      // It can no longer be restored.
      if (!after.resource) return null;
      const { store_id: deleted_in, deleted_at = null } = after;
      return {
        ...PLACEHOLDER,
        keys: { ...PLACEHOLDER.keys, deleted_in, deleted_at },
        state: { ...base.state, publication: null, deleted: after, revision },
      };
    }
    if (after.tag !== 'present') return before;
    const publication = after.resource;
    const at_ms = Date.parse(occurred_at);
    const units = unitsAfter(base, publication, at_ms);
    return {
      keys: publicationKeys(publication, base.keys, base.state.reviews, at_ms, units),
      body: bodyOf(publication, base),
      state: { ...base.state, publication, deleted: null, revision },
      expansions: withVariants(base.expansions, publication),
      words: wordsAfter(base, publication),
      units,
    };
  },
  derive: (document) => {
    const { body, expansions } = document;
    const { publication } = document.state;
    if (!publication) return document;
    const listing_id = shownListingId(document) ?? undefined;
    const is_current =
      body.listing_id === listing_id &&
      isSameValue(body.listing_ids ?? [], shownListingIds(document)) &&
      isSameValue(body.stats.rating, ratingOf(document.state.reviews).rating) &&
      areIdsOf(body.media_ids, expansions.media);
    if (is_current) return document;
    const rating_rank = ratingRank(document.state.reviews, publication.created_at);
    const has_media = Number(expansions.media.length > 0);
    return {
      ...document,
      keys: { ...document.keys, rating_rank, has_media },
      body: bodyOf(publication, document),
    };
  },
};

/** Adds page views to the publications of a store. */
export const pageViewTally: Tally<PublicationDocument, PageViewEvent> = {
  category: 'views',
  collection: 'publications',
  numbersOf: viewsIn,
  add: (document, views) => {
    const { publication } = document.state;
    const state = { ...document.state, page_views: document.state.page_views + views };
    const after = { ...document, state };
    return publication ? { ...after, body: bodyOf(publication, after) } : after;
  },
};

function bodyOf(publication: Publication, document: PublicationDocument): PublicationBody {
  const references = {
    listing_id: shownListingId(document),
    listing_ids: shownListingIds(document),
    media_ids: idsOf(document.expansions.media),
  };
  const view_count = publication.view_count + document.state.page_views;
  const counts = { view_count, ...ratingOf(document.state.reviews) };
  return publicationResource(publication, references, counts) as PublicationBody;
}

/** Returns the id of the listing if a storefront may see the listing. */
function shownListingId({ keys, expansions: { listing } }: PublicationDocument): string | null {
  return listing?.visibility === 'public' ? keys.listing_id : null;
}

/** Returns the ids of the other listings that a storefront may see. */
const shownListingIds = ({ expansions: { listings } }: PublicationDocument): string[] =>
  listings.flatMap(({ id, visibility }) => (visibility === 'public' ? id : []));

/**
 * Returns the body as an entry of a listing's document. In its main listing, it has `listing_id` also if the listing is
 * private: who reads the entry, reads the listing. The entry therefore does not depend on the copy of that listing.
 */
export function entryBody({ body, keys }: PublicationDocument, listing_id: string): JsonObject {
  return keys.listing_id !== listing_id || body.listing_id === listing_id ? body : { ...body, listing_id };
}

/** Returns the expansions with the first variants. Keeps the object if the variants are the same. */
function withVariants(
  expansions: PublicationDocument['expansions'],
  publication: Publication,
): PublicationDocument['expansions'] {
  const first = shownVariants(publication).slice(0, LISTED_VARIANTS_MAX);
  return isSameValue(expansions.variants, first) ? expansions : { ...expansions, variants: first };
}

/** Returns the search words. Keeps those whose fields are unchanged, because splitting a long text is slow. */
function wordsAfter({ state, words }: PublicationDocument, after: Publication): readonly string[] {
  const before = state.publication;
  const isSame = (name: keyof Publication): boolean => isSameValue(before![name], after[name]);
  if (!before || !words || !TEXT_FIELDS.every(isSame)) return publicationWords(after);
  if (LABEL_FIELDS.every(isSame) && isSameValue(labelledOf(before), labelledOf(after))) return words;
  return withLabels(termsOfTexts(words), after);
}

/** The fields on which the units depend, besides the time of a sale. */
const UNIT_FIELDS = [
  ...(['variants', 'price_active', 'price_amount', 'quantity_available', 'sale_price_amount'] as const),
  ...(['price_currency', 'prices'] as const),
];

/** Returns the units. Keeps those whose fields are unchanged, because there may be 2,048. */
function unitsAfter(
  { state, units }: PublicationDocument,
  after: Publication,
  at_ms: number,
): readonly Unit[] {
  const before = state.publication;
  const isSame = (name: keyof Publication): boolean => isSameValue(before![name], after[name]);
  const is_unchanged = before !== null && UNIT_FIELDS.every(isSame) && !inEachCurrency(after).some(hasSale);
  return (is_unchanged && units) || unitsOf(after, at_ms);
}

/** Not all of the variants: their stock changes more often than anything else. */
const labelledOf = ({ variants }: Publication) =>
  variants.map(({ sku, barcode, prices }) => [sku, barcode, prices]);

/** Returns the facet under which a store counts the publication. */
export const facetOf = ({ keys }: PublicationDocument): string => facetOfKeys(keys);

/** Returns the facet under which this listing counts the publication. */
export const facetInListing = ({ keys }: PublicationDocument, listing_id: string): string =>
  facetOfKeys(keysInListings(keys, [listing_id]));

function facetOfKeys(keys: PublicationDocument['keys']): string {
  return facetKey(keys.visibility ?? 'private', {
    featured: keys.featured_rank !== NOT_FEATURED,
    free_shipping: keys.free_shipping === 1,
    in_stock: keys.in_stock === 1,
  });
}
