import { z } from 'zod';
import { defineEvent, type EventOf } from '../events/event-definition';

/** A review is written once: its stream holds one event. */
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
