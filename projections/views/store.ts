import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { MediaDocument } from '../../shared/catalog/media/document';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { orderOf } from '../../shared/catalog/sorting';
import {
  type StoreBody,
  type StoreDocument,
  type StoreDocumentState,
  type StoreExpansions,
  type StoreKeys,
  storeKeys,
} from '../../shared/catalog/store/document';
import {
  evolveStore,
  type StoreEvent,
  type StoreState,
  storeResource,
} from '../../shared/catalog/store/store';
import type { Entry } from '../../shared/catalog/stored-document';
import type { StoreId } from '../../shared/kernel/ids';
import { NO_ENTRIES, placeEntry, placeTransition } from './entries';
import { moveFacet } from './listing';
import { MEDIA_ORDER } from './media';
import { type EntryList, type Known, type Occasion, type Reaction, type Transition, unchanged } from './view';

/** The order of its listings. */
export const LISTING_ORDER = orderOf('created_at_desc');

const NOTHING_EXPANDED: StoreExpansions = { listings: NO_ENTRIES, media: [] };
const NO_KEYS: StoreKeys = { account_id: null, status: null, created_at: null, name_fold: null };
const SHELL: StoreDocumentState = {
  store: null,
  account_id: null,
  facets: {},
  listings: { public: 0, private: 0 },
  media: 0,
  payment_methods: 0,
  revision: -1,
};

/** One event of the store's own stream. Stores are never deleted. */
export function foldStore(
  before: Known<StoreDocument>,
  event: StoreEvent,
  { id, revision, at }: Occasion<StoreId>,
): Known<StoreDocument> {
  if (before === null || (before && revision <= before.state.revision)) return before;
  const store = before?.state.store ?? null;
  const current: StoreState = store ? { tag: 'present', store } : { tag: 'absent' };
  const after = evolveStore(current, event, id, at);
  if (after.tag === 'absent') return before;
  const counts = before?.state ?? SHELL;
  const state: StoreDocumentState = {
    ...counts,
    store: after.store,
    account_id: after.store.account_id,
    payment_methods: after.store.payment_methods.length,
    revision,
  };
  return render(state, before?.expansions ?? NOTHING_EXPANDED);
}

/** One of the store's publications came, changed or went. */
export function countPublication(
  before: Known<StoreDocument>,
  transition: Transition<PublicationDocument>,
): Known<StoreDocument> {
  const view = before ?? render(SHELL, NOTHING_EXPANDED);
  const facets = moveFacet(view.state.facets, transition);
  if (before === null || facets === view.state.facets) return before;
  return { ...view, state: { ...view.state, facets } };
}

/** One of the store's listings came, changed, gained or lost publications, or went. */
export function reactToListing(
  before: Known<StoreDocument>,
  listing_id: string,
  transition: Transition<ListingDocument>,
): Reaction<Known<StoreDocument>> {
  if (before === null || sameShown(transition)) return unchanged(before);
  const state = before?.state ?? SHELL;
  const expansions = before?.expansions ?? NOTHING_EXPANDED;
  const entries = expansions.listings;
  const listings = moveCount(state.listings, transition);
  const placed = placeTransition(entries, listing_id, transition, listings, LISTING_ORDER);
  if (before && listings === state.listings && placed.entries === entries)
    return { view: before, incomplete: placed.incomplete };
  const view = render({ ...state, listings }, { ...expansions, listings: placed.entries });
  return { view, incomplete: placed.incomplete };
}

/** One of the store's media came, changed or went. */
export function reactToMedia(
  before: Known<StoreDocument>,
  media_id: string,
  transition: Transition<MediaDocument>,
): Reaction<Known<StoreDocument>> {
  if (before === null) return unchanged(before);
  const view = before ?? render(SHELL, NOTHING_EXPANDED);
  const change = (transition.after ? 1 : 0) - (transition.before ? 1 : 0);
  const media = view.state.media + change;
  const placed = placeEntry(view.expansions.media, media_id, transition.after, media, MEDIA_ORDER);
  const expansions = { ...view.expansions, media: placed.list };
  return {
    view: { ...view, state: { ...view.state, media }, expansions },
    incomplete: placed.incomplete ? ['media'] : [],
  };
}

export function withEntries(view: StoreDocument, name: EntryList, list: readonly Entry[]): StoreDocument {
  if (name === 'media') return { ...view, expansions: { ...view.expansions, media: list } };
  const listings = { ...view.expansions.listings, [name]: list };
  return { ...view, expansions: { ...view.expansions, listings } };
}

/** Whether a store shows the listing as before: its order of publications and their entries are not shown there. */
function sameShown({ before, after }: Transition<ListingDocument>): boolean {
  if (before === after) return true;
  if (!before || !after) return false;
  return before.body === after.body && before.keys === after.keys;
}

function moveCount(
  counts: StoreDocumentState['listings'],
  { before, after }: Transition<ListingDocument>,
): StoreDocumentState['listings'] {
  const left = before?.keys.visibility;
  const joined = after?.keys.visibility;
  if (left === joined) return counts;
  const next = { ...counts };
  if (left) next[left] -= 1;
  if (joined) next[joined] += 1;
  return next;
}

function render(state: StoreDocumentState, expansions: StoreExpansions): StoreDocument {
  const { store } = state;
  if (!store) return { keys: NO_KEYS, body: {} as StoreBody, state, expansions };
  const body = { ...storeResource(store), stats: { listing_count: state.listings.public } } as StoreBody;
  return { keys: storeKeys(store), body, state, expansions };
}
