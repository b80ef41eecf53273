import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { ReviewId, StoreId } from '../../kernel/ids';
import { type Aggregate, present, type State } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { ERASED, type EraseCommand } from '../field-aggregate';
import { withoutNulls } from '../fields';
import { type ReviewStatus, reviewStatusSchema } from '../vocabulary';

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
      /** Events from before reviews were moderated have none. */
      status: reviewStatusSchema.default('published'),
    }),
  ),
  /** `publication_id`: the publication, which counts the review from now on, or no longer. */
  defineEvent('ReviewModerated', z.object({ publication_id: z.string(), status: reviewStatusSchema })),
  defineEvent('ReviewErased', ERASED),
  defineEvent('ReviewDeleted', z.object({})),
] as const;

export type ReviewEvent = EventOf<typeof reviewEvents>;
export type ReviewFields = Extract<ReviewEvent, { type: 'ReviewPosted' }>['data'];

/** A review: the state that its events fold to. */
export interface Review extends ReviewFields {
  readonly id: ReviewId;
  readonly store_id: StoreId;
  /** Number of events so far. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
}

function evolve(state: State<Review>, event: ReviewEvent, id: ReviewId): State<Review> {
  if (event.type === 'ReviewPosted') {
    const store_id = event.data.store_id as StoreId;
    return state.tag === 'absent' ? present({ id, ...event.data, store_id, version: 1 }) : state;
  }
  if (event.type === 'ReviewErased') return { tag: 'deleted', store_id: event.data.store_id as StoreId };
  if (state.tag !== 'present') return state;
  const before = state.resource;
  switch (event.type) {
    case 'ReviewModerated':
      return present({ ...before, status: event.data.status, version: before.version + 1 });
    case 'ReviewDeleted':
      return { tag: 'deleted', store_id: before.store_id };
    default:
      return assertNever(event, 'review event');
  }
}

export type ReviewCommand =
  /** Ignored if the review exists or was deleted: an import derives the id of a review from its content. */
  | { readonly type: 'PostReview'; readonly review: ReviewFields }
  | { readonly type: 'Update'; readonly changes: { readonly status?: ReviewStatus | undefined } }
  | { readonly type: 'Delete' }
  | EraseCommand;

function decide(state: State<Review>, command: ReviewCommand): Decision<ReviewEvent> {
  if (command.type === 'PostReview')
    return state.tag === 'absent' ? accept({ type: 'ReviewPosted', data: command.review }) : accept();
  if (command.type === 'Erase')
    return state.tag === 'deleted'
      ? accept({ type: 'ReviewErased', data: { store_id: command.store_id } })
      : reject('lost_race');
  if (state.tag !== 'present') return reject('review_not_found');
  switch (command.type) {
    case 'Update': {
      const { status } = command.changes;
      const { publication_id, status: old_status } = state.resource;
      if (status === undefined || status === old_status) return accept();
      return accept({ type: 'ReviewModerated', data: { publication_id, status } });
    }
    case 'Delete':
      return accept({ type: 'ReviewDeleted', data: {} });
    default:
      return assertNever(command, 'review command');
  }
}

export const reviewAggregate: Aggregate<Review, ReviewEvent, ReviewId, ReviewCommand> = {
  category: 'review',
  events: reviewEvents,
  state_version: 2,
  not_found: 'review_not_found',
  evolve,
  decide,
  owner: ({ store_id }) => ({ store_id }),
};

/** Returns the resource with its status, which a storefront does not get. */
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
    status: review.status,
  });
}
