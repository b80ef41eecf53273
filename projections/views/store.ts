import type { Facets } from '../../shared/catalog/publication/facets';
import { storeResource } from '../../shared/catalog/resources';
import { orderOf } from '../../shared/catalog/sorting';
import { evolveStore, type Store, type StoreEvent, type StoreState } from '../../shared/catalog/store/store';
import type { Visibility } from '../../shared/catalog/vocabulary';
import type { StoreId } from '../../shared/kernel/ids';
import { foldText } from '../../shared/kernel/text';
import { type Entries, type Entry, NO_ENTRIES, placeEntry, placeTransition } from './entries';
import { type ListingView, moveFacet } from './listing';
import { MEDIA_ORDER, type MediaView } from './media';
import type { PublicationView } from './publication';
import {
  type EntryList,
  type Known,
  type Occasion,
  type Reaction,
  type Transition,
  unchanged,
  type View,
} from './view';

/**
 * `store` is null in a shell: listings or publications came, the store itself did not (its stream may be parked).
 * A shell has no keys, so no read finds it.
 */
export interface StoreViewState {
  readonly store: Store | null;
  readonly account_id: string | null;
  /** Over all of the store's publications, in whatever listing or none. */
  readonly facets: Facets;
  readonly listings: Readonly<Record<Visibility, number>>;
  readonly media: number;
  readonly payment_methods: number;
  /** Of the newest event of the store's own stream that is part of this. */
  readonly revision: number;
}

export interface StoreExpansions {
  readonly listings: Entries;
  /** The newest 20. */
  readonly media: readonly Entry[];
}

export type StoreView = View<StoreViewState, StoreExpansions>;

/** The order of its listings. */
export const LISTING_ORDER = orderOf('created_at_desc');

const NOTHING_EXPANDED: StoreExpansions = { listings: NO_ENTRIES, media: [] };
const NO_KEYS = { account_id: null, status: null, created_at: null, name_fold: null };
const SHELL: StoreViewState = {
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
  before: Known<StoreView>,
  event: StoreEvent,
  { id, revision, at }: Occasion<StoreId>,
): Known<StoreView> {
  if (before === null || (before && revision <= before.state.revision)) return before;
  const store = before?.state.store ?? null;
  const current: StoreState = store ? { tag: 'present', store } : { tag: 'absent' };
  const after = evolveStore(current, event, id, at);
  if (after.tag === 'absent') return before;
  const counts = before?.state ?? SHELL;
  const state: StoreViewState = {
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
  before: Known<StoreView>,
  transition: Transition<PublicationView>,
): Known<StoreView> {
  const view = before ?? render(SHELL, NOTHING_EXPANDED);
  const facets = moveFacet(view.state.facets, transition);
  if (before === null || facets === view.state.facets) return before;
  return { ...view, state: { ...view.state, facets } };
}

/** One of the store's listings came, changed, gained or lost publications, or went. */
export function reactToListing(
  before: Known<StoreView>,
  listing_id: string,
  transition: Transition<ListingView>,
): Reaction<Known<StoreView>> {
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
  before: Known<StoreView>,
  media_id: string,
  transition: Transition<MediaView>,
): Reaction<Known<StoreView>> {
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

export function withEntries(view: StoreView, name: EntryList, list: readonly Entry[]): StoreView {
  if (name === 'media') return { ...view, expansions: { ...view.expansions, media: list } };
  const listings = { ...view.expansions.listings, [name]: list };
  return { ...view, expansions: { ...view.expansions, listings } };
}

/** Whether a store shows the listing as before: its order of publications and their entries are not shown there. */
function sameShown({ before, after }: Transition<ListingView>): boolean {
  if (before === after) return true;
  if (!before || !after) return false;
  return before.body === after.body && before.keys === after.keys;
}

function moveCount(
  counts: StoreViewState['listings'],
  { before, after }: Transition<ListingView>,
): StoreViewState['listings'] {
  const left = before?.keys.visibility as Visibility | undefined;
  const joined = after?.keys.visibility as Visibility | undefined;
  if (left === joined) return counts;
  const next = { ...counts };
  if (left) next[left] -= 1;
  if (joined) next[joined] += 1;
  return next;
}

function render(state: StoreViewState, expansions: StoreExpansions): StoreView {
  const { store } = state;
  if (!store) return { keys: NO_KEYS, body: {}, state, expansions };
  const { account_id, status, created_at } = store;
  return {
    keys: { account_id, status, created_at, name_fold: foldText(store.name) },
    body: { ...storeResource(store), stats: { listing_count: state.listings.public } },
    state,
    expansions,
  };
}
