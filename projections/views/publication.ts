import {
  NOT_FEATURED,
  type PublicationBody,
  type PublicationDocument,
  publicationCollection,
  publicationKeys,
} from '../../shared/catalog/publication/document';
import { facetKey } from '../../shared/catalog/publication/facets';
import {
  evolvePublication,
  type Publication,
  type PublicationEvent,
  type PublicationState,
  publicationResource,
} from '../../shared/catalog/publication/publication';
import { publicationWords } from '../../shared/catalog/search/words';
import type { PublicationId } from '../../shared/kernel/ids';
import { noKeys, type Occasion, type View } from './view';

const SHELL: PublicationDocument = {
  keys: noKeys<PublicationDocument['keys']>(publicationCollection.keys),
  body: {} as PublicationBody,
  state: {
    publication: null,
    reviews: { count: 0, sum: 0, distribution: { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0 } },
    revision: -1,
  },
  expansions: { listing: null, media: [] },
};

export const publicationView: View<PublicationDocument, PublicationEvent> = {
  collection: 'publications',
  category: 'publication',
  aggregate: 'publication',
  shell: SHELL,
  fold: (before, event, { id, revision, at }: Occasion<PublicationId>) => {
    const known = before?.state.publication;
    const state: PublicationState = known ? { tag: 'present', publication: known } : { tag: 'absent' };
    const after = evolvePublication(state, event, id, at);
    if (after.tag === 'deleted') return null;
    if (after.tag === 'absent') return before;
    const { publication } = after;
    const base = before ?? SHELL;
    return {
      keys: publicationKeys(publication, base.keys.listing_id),
      body: publicationResource(publication, base.expansions.media.length) as PublicationBody,
      state: { publication, reviews: base.state.reviews, revision },
      expansions: base.expansions,
      words: wordsAfter(base, publication),
    };
  },
  derive: (document) => {
    const media_count = document.expansions.media.length;
    if (!document.state.publication || document.body.stats.media_count === media_count) return document;
    return { ...document, body: { ...document.body, stats: { ...document.body.stats, media_count } } };
  },
};

/** Most events leave the text alone, and a long one takes its time. */
function wordsAfter({ state, words }: PublicationDocument, after: Publication): readonly string[] {
  const known = state.publication;
  const same =
    known?.title === after.title &&
    known.description === after.description &&
    known.description_html === after.description_html;
  return (same && words) || publicationWords(after);
}

/** Under which a listing's and a store's `facets` count it. */
export function facetOf({ keys }: PublicationDocument): string {
  return facetKey(keys.visibility ?? 'private', {
    featured: keys.featured_rank !== NOT_FEATURED,
    free_shipping: keys.free_shipping === 1,
    in_stock: keys.in_stock === 1,
  });
}
