import { z } from 'zod';
import { accept } from '../../kernel/decision';
import type { ReviewId, StoreId } from '../../kernel/ids';
import { type Aggregate, present } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { withoutNulls } from '../fields';

/** A review never changes: its stream has exactly one event. */
export const reviewEvents = [
  defineEvent(
    'ReviewPosted',
    z.object({
      store_id: z.string(),
      publication_id: z.string(),
      rating: z.int().min(1).max(5),
      title: z.string().nullable(),
      body: z.string(),
      author_name: z.string(),
      verified: z.boolean(),
      /** When the review was written, which may be long before it was imported. */
      created_at: z.string(),
    }),
  ),
] as const;

export type ReviewEvent = EventOf<typeof reviewEvents>;
export type ReviewFields = ReviewEvent['data'];

export type ReviewCommand = { readonly type: 'PostReview'; readonly review: ReviewFields };

/**
 * Posting an existing review appends nothing. The id of a review is derived from its content, so posting it again
 * addresses the same stream.
 */
export const reviewAggregate: Aggregate<ReviewFields, ReviewEvent, ReviewId, ReviewCommand> = {
  category: 'review',
  events: reviewEvents,
  state_version: 1,
  not_found: 'publication_not_found',
  evolve: (_state, event) => present(event.data),
  decide: (state, { review }) =>
    state.tag === 'present' ? accept() : accept({ type: 'ReviewPosted', data: review }),
  owner: ({ store_id }) => ({ store_id: store_id as StoreId }),
};

export function reviewResource(id: string, review: ReviewFields): JsonObject {
  return withoutNulls({
    id,
    object: 'review',
    publication_id: review.publication_id,
    rating: review.rating,
    title: review.title,
    body: review.body,
    author_name: review.author_name,
    verified: review.verified,
    created_at: review.created_at,
  });
}
