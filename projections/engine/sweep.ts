import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import type { Listing, ListingEvent } from '../../shared/catalog/listing/listing';
import { evolveListing } from '../../shared/catalog/listing/listing';
import type { ListingId } from '../../shared/kernel/ids';
import { publicationTotals } from '../views/listing';
import { withListing } from '../views/publication';
import { decodedOrNothing } from './decoded';
import { LostRaceError } from './errors';
import type { UnitOfWork } from './unit-of-work';

/** A change of a listing that each of its publications shows. */
export interface Sweep {
  readonly listing_id: string;
  /** As the events leave it; null where they delete it. */
  readonly listing: Listing | null;
  readonly position: RecordedEvent['position'];
  /** How many events at the head of those looked at it stands for: a patch writes several at once. */
  readonly length: number;
}

const CHUNK = 500;

/** A patch gives a few events; a longer run of one listing's events is swept in parts. */
const LENGTH_MAX = 16;

/** The sweep that the event at `index` calls for, taken together with those of the same stream right behind it. */
export function sweepFor(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  index: number,
): Sweep | undefined {
  const first = listingEvent(events[index]);
  if (!first) return undefined;
  const view = unit.read('listings', first.id);
  if (!view) return undefined;
  const totals = publicationTotals(view.state.facets);
  if (totals.public + totals.private === 0) return undefined;

  const before = view.state.listing;
  let state: ReturnType<typeof evolveListing> = before
    ? { tag: 'present', listing: before }
    : { tag: 'absent' };
  let position = events[index]!.position;
  let length = 0;
  for (const recorded of events.slice(index, index + LENGTH_MAX)) {
    const next = listingEvent(recorded);
    if (next?.id !== first.id) break;
    if (recorded.revision > view.state.revision)
      state = evolveListing(state, next.event, first.id, recorded.metadata.occurred_at);
    position = recorded.position;
    length++;
  }
  const listing = state.tag === 'present' ? state.listing : null;
  const nothingNew = listing === before || state.tag === 'absent';
  return nothingNew ? undefined : { listing_id: first.id, listing, position, length };
}

/**
 * Brings a listing's change into its publications, chunk by chunk; `openUnit` gives a fresh unit and `write` applies
 * one. Doing it again, or a part of it, changes nothing more: an embed gives way only to a newer one.
 * Gives the ids of the publications that were looked at.
 */
export async function sweepPublications(
  { listing_id, listing, position }: Sweep,
  openUnit: () => UnitOfWork,
  write: (unit: UnitOfWork) => Promise<void>,
): Promise<string[]> {
  const seen: string[] = [];
  for (let after_id: string | undefined; ; ) {
    const unit = openUnit();
    const page = { where: { listing_id }, limit: CHUNK, ...(after_id === undefined ? {} : { after_id }) };
    const chunk = await unit.version.scan('publications', page);
    unit.begin({ position });
    for (const stored of chunk) {
      unit.adopt('publications', stored);
      const view = unit.read('publications', stored.id);
      if (!view) throw new LostRaceError(`publication ${stored.id} was deleted meanwhile`);
      unit.set('publications', stored.id, withListing(view, listing_id, listing));
      seen.push(stored.id);
    }
    await write(unit);
    after_id = chunk.at(-1)?.id;
    if (chunk.length < CHUNK || after_id === undefined) return seen;
  }
}

function listingEvent(
  recorded: RecordedEvent | undefined,
): { readonly id: ListingId; readonly event: ListingEvent } | undefined {
  const known = recorded && decodedOrNothing(recorded);
  if (known?.category !== 'listing') return undefined;
  return { id: known.id as ListingId, event: known.event as ListingEvent };
}
