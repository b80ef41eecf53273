import { z } from 'zod';
import { assertNever } from '../../kernel/assert-never';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../kernel/ids';
import { defineEvent, type EventOf } from '../events/event-definition';
import { amountSchema, currencySchema } from '../money';
import { visibilitySchema } from '../vocabulary';

const price = { price_currency: currencySchema, price_amount: amountSchema, price_active: z.boolean() };
const quantity = z.int().min(0).nullable();
const featured = z.int().min(1).max(10_000).nullable();

export const publicationEvents = [
  defineEvent(
    'PublicationCreated',
    z.object({
      store_id: z.string(),
      title: z.string(),
      description: z.string(),
      description_html: z.string().nullable(),
      visibility: visibilitySchema,
      ...price,
      free_shipping: z.boolean().nullable(),
      quantity_available: quantity,
      featured_position: featured,
      listing_id: z.string().nullable(),
      media_ids: z.array(z.string()),
    }),
  ),
  defineEvent(
    'PublicationDescribed',
    z.object({
      title: z.string(),
      description: z.string(),
      description_html: z.string().nullable(),
      free_shipping: z.boolean().nullable(),
    }),
  ),
  defineEvent('PublicationPriced', z.object(price)),
  defineEvent('PublicationStocked', z.object({ quantity_available: quantity })),
  defineEvent('PublicationFeatured', z.object({ featured_position: featured })),
  defineEvent('PublicationVisibilityChanged', z.object({ visibility: visibilitySchema })),
  defineEvent('PublicationMovedToListing', z.object({ listing_id: z.string().nullable() })),
  defineEvent('PublicationMediaArranged', z.object({ media_ids: z.array(z.string()) })),
  /** Views are buffered: one event per publication and interval, never one per view (decisions §5). */
  defineEvent('PublicationViewed', z.object({ count: z.int().min(1) })),
  defineEvent('PublicationDeleted', z.object({})),
] as const;

export type PublicationEvent = EventOf<typeof publicationEvents>;
export type PublicationFields = Extract<PublicationEvent, { type: 'PublicationCreated' }>['data'];

/** What a publication's events add up to. `listing_id` is what was said last, even if that listing is gone since. */
export interface Publication extends Omit<PublicationFields, 'store_id' | 'listing_id' | 'media_ids'> {
  readonly id: PublicationId;
  readonly store_id: StoreId;
  readonly listing_id: ListingId | null;
  readonly media_ids: readonly MediaId[];
  readonly view_count: number;
  /** Counts what was written, views excepted: the part of the ETag that `If-Match` compares. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export type PublicationState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly publication: Publication }
  | { readonly tag: 'deleted'; readonly store_id: StoreId };

/** Pure and total. `at` is the event's `occurred_at`. */
export function evolvePublication(
  state: PublicationState,
  event: PublicationEvent,
  id: PublicationId,
  at: string,
): PublicationState {
  if (event.type === 'PublicationCreated') {
    const data = event.data;
    // Field by field: a copy of this many that then grows takes a hundred times as long to make.
    const publication: Publication = {
      id,
      store_id: data.store_id as StoreId,
      title: data.title,
      description: data.description,
      description_html: data.description_html,
      visibility: data.visibility,
      price_currency: data.price_currency,
      price_amount: data.price_amount,
      price_active: data.price_active,
      free_shipping: data.free_shipping,
      quantity_available: data.quantity_available,
      featured_position: data.featured_position,
      listing_id: data.listing_id as ListingId | null,
      media_ids: data.media_ids as MediaId[],
      view_count: 0,
      version: 1,
      created_at: at,
      updated_at: at,
    };
    return { tag: 'present', publication };
  }
  if (state.tag !== 'present') return state;
  const before = state.publication;
  const changed = (fields: Partial<Publication>): PublicationState => ({
    tag: 'present',
    publication: { ...before, ...fields, version: before.version + 1, updated_at: at },
  });
  switch (event.type) {
    case 'PublicationDescribed':
    case 'PublicationPriced':
    case 'PublicationStocked':
    case 'PublicationFeatured':
    case 'PublicationVisibilityChanged':
      return changed(event.data);
    case 'PublicationMovedToListing':
      return changed({ listing_id: event.data.listing_id as ListingId | null });
    case 'PublicationMediaArranged':
      return changed({ media_ids: event.data.media_ids as MediaId[] });
    case 'PublicationViewed':
      return { tag: 'present', publication: { ...before, view_count: before.view_count + event.data.count } };
    case 'PublicationDeleted':
      return { tag: 'deleted', store_id: before.store_id };
    default:
      return assertNever(event, 'publication event');
  }
}
