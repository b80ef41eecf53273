import { z } from 'zod';
import type { ListingId, MediaId, PublicationId } from '../../kernel/ids';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { type FieldCommand, type FieldResource, fieldAggregate } from '../field-aggregate';
import { type Changes, changeEvents, type Input, resourceOf, responseNames, storedShape } from '../fields';
import { PUBLICATION_CHANGES, publicationFields } from './fields';

const fieldEvents = changeEvents(publicationFields, PUBLICATION_CHANGES);

export const publicationEvents = [
  defineEvent('PublicationCreated', z.object({ store_id: z.string(), ...storedShape(publicationFields) })),
  ...fieldEvents,
  /** Only in logs of earlier releases. Views are now in streams of their own (`page-views.ts`). */
  defineEvent('PublicationViewed', z.object({ count: z.int().min(1) })),
  defineEvent('PublicationDeleted', z.object({})),
] as const;

export type PublicationEvent = EventOf<typeof publicationEvents>;
export type PublicationFields = Extract<PublicationEvent, { type: 'PublicationCreated' }>['data'];

/** The state of a publication after its events. The listing and the media that it refers to may have been deleted. */
export interface Publication
  extends FieldResource<PublicationId>,
    Omit<PublicationFields, 'store_id' | 'listing_id' | 'media_ids'> {
  readonly listing_id: ListingId | null;
  readonly media_ids: readonly MediaId[];
  /** Number of views in this stream, which only earlier releases have appended. */
  readonly view_count: number;
}

/** Values of some fields. A field that is missing stays unchanged. */
export type PublicationChanges = Changes<typeof publicationFields>;
/** Values for a new publication: all required fields and any optional fields. */
export type PublicationInput = Input<typeof publicationFields>;
export type PublicationCommand = FieldCommand<typeof publicationFields>;

export const publicationAggregate = fieldAggregate<
  typeof publicationFields,
  Publication,
  PublicationEvent,
  PublicationId
>({
  category: 'publication',
  state_version: 1,
  not_found: 'publication_not_found',
  fields: publicationFields,
  events: publicationEvents,
  changes: fieldEvents,
  initial: { view_count: 0 },
  evolveOther: (before, event) =>
    event.type === 'PublicationViewed'
      ? { ...before, view_count: before.view_count + event.data.count }
      : undefined,
});

const RESPONSE_NAMES = responseNames(publicationFields);

/** The references that a resource shows. The aggregate may also refer to resources that have been deleted. */
export interface ShownReferences {
  /** Null if the listing does not exist or is hidden. */
  readonly listing_id: string | null;
  readonly media_ids: readonly string[];
}

/**
 * Returns the resource with these references. If `view_count` is undefined, the resource has no `stats`. `listing_id` is
 * the last field, so that code that reads a document without it can append it.
 */
export function publicationResource(
  publication: Publication,
  { listing_id, media_ids }: ShownReferences,
  view_count: number | undefined,
): JsonObject {
  const resource = resourceOf('publication', RESPONSE_NAMES, publication);
  if (view_count !== undefined) resource.stats = { media_count: media_ids.length, view_count };
  resource.media_ids = [...media_ids];
  if (listing_id !== null) resource.listing_id = listing_id;
  return resource;
}
