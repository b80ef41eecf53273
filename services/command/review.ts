import { z } from 'zod';
import { idField, lineField, textField, timeField } from '../../shared/catalog/input-rules';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { decideReview, type ReviewFields, reviewAggregate } from '../../shared/catalog/review/review';
import { CatalogError } from '../../shared/kernel/errors';
import { deriveId, type PublicationId, type ReviewId, type StoreId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { execute, load, placeIn, type StoreDeps, type WriteContext, type Written } from './execute';

/** A review as imported; decisions §5 name its fields, the limits are those of other texts. */
export const newReviewSchema = z.strictObject({
  publication_id: idField,
  rating: z.int().min(1).max(5),
  title: lineField(200).nullish(),
  body: textField(10_000).nullish(),
  author_name: lineField(120),
  verified: z.boolean().nullish(),
  /** When it was written; by default now. */
  created_at: timeField.nullish(),
});

export type NewReview = z.output<typeof newReviewSchema>;

/** `external_id`: the other system's id of the review; without one its own words tell it from others. */
export interface ReviewTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly external_id?: string | undefined;
}

/**
 * Posts a review under an id that follows from what it is, so that importing it again writes nothing
 * (`changed: false`). Throws `field_invalid` where the store has no such publication.
 */
export async function postReview(
  deps: StoreDeps,
  context: WriteContext,
  target: ReviewTarget,
  input: NewReview,
): Promise<Written<ReviewFields> & { readonly id: ReviewId }> {
  const { environment, store_id } = target;
  const publication = await requirePublication(deps, target, input.publication_id as PublicationId);
  const { publication_id, rating, author_name } = input;
  const review: ReviewFields = {
    store_id,
    publication_id,
    rating,
    title: input.title ?? null,
    body: input.body ?? '',
    author_name,
    verified: input.verified ?? false,
    created_at: input.created_at ?? timestamp(deps.system.now()),
  };
  const id = reviewId(publication, target.external_id, review, input.created_at ?? '');
  const written = await execute({
    ...placeIn(deps, environment, reviewAggregate, id),
    context,
    decide: (state) => decideReview(state, { type: 'PostReview', review }),
  });
  if (written.value.tag === 'absent') throw new Error('a review that was just written is not there');
  return { ...written, value: written.value.review, id };
}

/** From the time of the publication on, since a review may come without a time of its own. */
function reviewId(
  publication: Publication,
  external_id: string | undefined,
  review: ReviewFields,
  written_at: string,
): ReviewId {
  const names =
    external_id === undefined
      ? ['words', review.author_name, String(review.rating), written_at, review.title ?? '', review.body]
      : ['external', external_id];
  return deriveId(Date.parse(publication.created_at), 'review', publication.id, ...names);
}

async function requirePublication(
  deps: StoreDeps,
  { environment, store_id }: ReviewTarget,
  id: PublicationId,
): Promise<Publication> {
  const { state } = await load(placeIn(deps, environment, publicationAggregate, id));
  if (state.tag === 'present' && state.publication.store_id === store_id) return state.publication;
  throw CatalogError.ofFaults([
    { condition: 'field_invalid', field: 'publication_id', constraint: 'a publication of the store' },
  ]);
}
