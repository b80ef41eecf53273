import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../kernel/ids';
import { isSameValue } from '../../kernel/same-value';
import type { Aggregate } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import {
  type Changes,
  changeEvents,
  changesOf,
  dataOfNew,
  type Input,
  initialValues,
  resourceOf,
  responseNames,
  storedShape,
} from '../fields';
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

/** A publication: the state that its events fold to. `listing_id` may name a listing that was deleted since. */
export interface Publication extends Omit<PublicationFields, 'store_id' | 'listing_id' | 'media_ids'> {
  readonly id: PublicationId;
  readonly store_id: StoreId;
  readonly listing_id: ListingId | null;
  readonly media_ids: readonly MediaId[];
  /** Views that earlier releases have counted in this stream. */
  readonly view_count: number;
  /** Number of events so far, except views. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export type PublicationState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly publication: Publication }
  | { readonly tag: 'deleted'; readonly store_id: StoreId };

/** Applies one event to the state. Pure and total: it never throws. */
export function evolvePublication(
  state: PublicationState,
  event: PublicationEvent,
  id: PublicationId,
  occurred_at: string,
): PublicationState {
  if (event.type === 'PublicationCreated') {
    // `id` comes first, because V8 takes twenty times as long for an object literal that begins with a spread.
    const { data } = event;
    const publication: Publication = {
      id,
      ...data,
      store_id: data.store_id as StoreId,
      listing_id: data.listing_id as ListingId | null,
      media_ids: data.media_ids as MediaId[],
      view_count: 0,
      version: 1,
      created_at: occurred_at,
      updated_at: occurred_at,
    };
    return { tag: 'present', publication };
  }
  if (state.tag !== 'present') return state;
  const before = state.publication;
  switch (event.type) {
    case 'PublicationViewed':
      return { tag: 'present', publication: { ...before, view_count: before.view_count + event.data.count } };
    case 'PublicationDeleted':
      return { tag: 'deleted', store_id: before.store_id };
    default: {
      const { data } = event satisfies EventOf<typeof fieldEvents>;
      const changed = data as Partial<Publication>;
      const publication = { ...before, ...changed, version: before.version + 1, updated_at: occurred_at };
      return { tag: 'present', publication };
    }
  }
}

export const publicationAggregate: Aggregate<PublicationState, PublicationEvent, PublicationId> = {
  category: 'publication',
  events: publicationEvents,
  state_version: 1,
  absent: { tag: 'absent' },
  evolve: evolvePublication,
  owner: (state) =>
    state.tag === 'absent'
      ? undefined
      : { store_id: state.tag === 'present' ? state.publication.store_id : state.store_id },
};

/** Values of some fields. A field that is missing stays unchanged. */
export type PublicationChanges = Changes<typeof publicationFields>;
/** Values for a new publication: the required fields, and any others. */
export type PublicationInput = Input<typeof publicationFields>;

export type PublicationCommand =
  | { readonly type: 'CreatePublication'; readonly store_id: string; readonly input: PublicationInput }
  /** Creates the publication if it does not exist, otherwise patches it. An import sends one per row. */
  | { readonly type: 'PutPublication'; readonly store_id: string; readonly input: PublicationInput }
  | { readonly type: 'UpdatePublication'; readonly changes: PublicationChanges }
  | { readonly type: 'DeletePublication' };

/** Returns the events of the command, none if it changes nothing, or the condition to reject it with. Pure. */
export function decidePublication(
  state: PublicationState,
  command: PublicationCommand,
): Decision<PublicationEvent> {
  if (state.tag === 'deleted') return reject('publication_not_found');
  switch (command.type) {
    case 'CreatePublication': {
      const data = newPublication(command.store_id, command.input);
      if (state.tag === 'absent') return accept({ type: 'PublicationCreated', data });
      const is_repeat = isSameValue({ ...state.publication, ...data }, state.publication);
      return is_repeat ? accept() : reject('lost_race', 'A publication with this id already exists');
    }
    case 'PutPublication': {
      const data = newPublication(command.store_id, command.input);
      if (state.tag === 'absent') return accept({ type: 'PublicationCreated', data });
      if (state.publication.store_id !== command.store_id) return reject('publication_not_found');
      return accept(...changesOf(fieldEvents, state.publication, command.input));
    }
    case 'UpdatePublication':
      if (state.tag === 'absent') return reject('publication_not_found');
      return accept(...changesOf(fieldEvents, state.publication, command.changes));
    case 'DeletePublication':
      if (state.tag === 'absent') return reject('publication_not_found');
      return accept({ type: 'PublicationDeleted', data: {} });
    default:
      return assertNever(command, 'publication command');
  }
}

const INITIAL = initialValues(publicationFields);

function newPublication(store_id: string, input: PublicationInput): PublicationFields {
  return dataOfNew<PublicationFields>({ store_id }, INITIAL, input);
}

const RESPONSE_NAMES = responseNames(publicationFields);

/** The references that a resource shows. The aggregate may also refer to resources that were deleted since. */
export interface ShownReferences {
  /** Null if the listing does not exist or is hidden. */
  readonly listing_id: string | null;
  readonly media_ids: readonly string[];
}

/**
 * Returns the resource with these references. Without `view_count`, it has no `stats`. `listing_id` comes last, so that
 * readers can append it.
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
