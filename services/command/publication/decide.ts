import type {
  Publication,
  PublicationEvent,
  PublicationFields,
  PublicationState,
} from '../../../shared/catalog/publication/publication';
import { assertNever } from '../../../shared/kernel/assert-never';
import { accept, type Decision, reject } from '../../../shared/kernel/decision';
import { patched, sameValue } from '../../../shared/kernel/same-value';

type Writable = Omit<PublicationFields, 'store_id'>;

/** Any subset of what can be written; a field that is not given stays as it is. */
export type PublicationChanges = { readonly [Field in keyof Writable]?: Writable[Field] | undefined };

/** What a new publication needs at least; the rest has defaults (decisions §6). */
export type PublicationInput = PublicationChanges &
  Pick<Writable, 'title' | 'price_currency' | 'price_amount'>;

export type PublicationCommand =
  | { readonly type: 'CreatePublication'; readonly store_id: string; readonly input: PublicationInput }
  /** Creates what is not there and patches what is: a row of an import. */
  | { readonly type: 'PutPublication'; readonly store_id: string; readonly input: PublicationInput }
  | { readonly type: 'UpdatePublication'; readonly changes: PublicationChanges }
  | { readonly type: 'DeletePublication' }
  /** What was counted of a publication that is gone meanwhile is let go. */
  | { readonly type: 'RecordViews'; readonly count: number };

export function decidePublication(
  state: PublicationState,
  command: PublicationCommand,
): Decision<PublicationEvent> {
  if (command.type === 'RecordViews')
    return state.tag === 'present'
      ? accept({ type: 'PublicationViewed', data: { count: command.count } })
      : accept();
  if (state.tag === 'deleted') return reject('publication_not_found');
  switch (command.type) {
    case 'CreatePublication': {
      const data = newPublication(command.store_id, command.input);
      if (state.tag === 'absent') return accept({ type: 'PublicationCreated', data });
      const repeated = sameValue({ ...state.publication, ...data }, state.publication);
      return repeated ? accept() : reject('lost_race', 'a publication with this id exists already');
    }
    case 'PutPublication': {
      const data = newPublication(command.store_id, command.input);
      if (state.tag === 'absent') return accept({ type: 'PublicationCreated', data });
      if (state.publication.store_id !== command.store_id) return reject('publication_not_found');
      return accept(...changesOf(state.publication, command.input));
    }
    case 'UpdatePublication':
      if (state.tag === 'absent') return reject('publication_not_found');
      return accept(...changesOf(state.publication, command.changes));
    case 'DeletePublication':
      if (state.tag === 'absent') return reject('publication_not_found');
      return accept({ type: 'PublicationDeleted', data: {} });
    default:
      return assertNever(command, 'publication command');
  }
}

function newPublication(store_id: string, input: PublicationInput): PublicationFields {
  return {
    store_id,
    title: input.title,
    description: input.description ?? '',
    description_html: input.description_html ?? null,
    visibility: input.visibility ?? 'public',
    price_currency: input.price_currency,
    price_amount: input.price_amount,
    price_active: input.price_active ?? true,
    free_shipping: input.free_shipping ?? null,
    quantity_available: input.quantity_available ?? null,
    featured_position: input.featured_position ?? null,
    listing_id: input.listing_id ?? null,
    media_ids: input.media_ids ?? [],
  };
}

/** One event for each part that really changes. */
function changesOf(before: Publication, changes: PublicationChanges): PublicationEvent[] {
  const after: Writable = patched<Writable>({ ...before, media_ids: [...before.media_ids] }, changes);
  const { title, description, description_html, free_shipping } = after;
  const { price_currency, price_amount, price_active } = after;
  const { quantity_available, featured_position, visibility, listing_id, media_ids } = after;
  const possible: PublicationEvent[] = [
    { type: 'PublicationDescribed', data: { title, description, description_html, free_shipping } },
    { type: 'PublicationPriced', data: { price_currency, price_amount, price_active } },
    { type: 'PublicationStocked', data: { quantity_available } },
    { type: 'PublicationFeatured', data: { featured_position } },
    { type: 'PublicationVisibilityChanged', data: { visibility } },
    { type: 'PublicationMovedToListing', data: { listing_id } },
    { type: 'PublicationMediaArranged', data: { media_ids } },
  ];
  return possible.filter((event) => !sameValue({ ...before, ...event.data }, before));
}
