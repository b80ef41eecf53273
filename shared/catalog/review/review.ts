import { z } from 'zod';
import { accept, type Decision } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { ReviewId, StoreId } from '../../kernel/ids';
import type { Aggregate } from '../events/aggregate';
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

export type ReviewState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'posted'; readonly review: ReviewFields };

export const reviewAggregate: Aggregate<ReviewState, ReviewEvent, ReviewId> = {
  category: 'review',
  events: reviewEvents,
  state_version: 1,
  absent: { tag: 'absent' },
  evolve: (_state, event) => ({ tag: 'posted', review: event.data }),
  owner: (state) => (state.tag === 'absent' ? undefined : { store_id: state.review.store_id as StoreId }),
};

export type ReviewCommand = { readonly type: 'PostReview'; readonly review: ReviewFields };

/**
 * Returns `ReviewPosted` for a new review and no event for an existing one. The id of a review is derived from its
 * content, so posting it again addresses the same stream.
 */
export function decideReview(state: ReviewState, command: ReviewCommand): Decision<ReviewEvent> {
  switch (command.type) {
    case 'PostReview':
      return state.tag === 'posted' ? accept() : accept({ type: 'ReviewPosted', data: command.review });
    default:
      return assertNever(command.type, 'review command');
  }
}

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
