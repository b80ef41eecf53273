import { z } from 'zod';
import { idField, lineField, textField, timeField } from '../../shared/catalog/input-rules';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { type ReviewFields, reviewAggregate } from '../../shared/catalog/review/review';
import { CatalogError } from '../../shared/kernel/errors';
import { deriveId, type PublicationId, type ReviewId, type StoreId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { executeOn, type StoreDeps, type WriteContext, type Written } from './execute';
import { findInLog, streamIn } from './load';

/** Input for a review, which only imports create (docs/interface.md#reviews). */
export const newReviewSchema = z.strictObject({
  publication_id: idField,
  rating: z.int().min(1).max(5),
  title: lineField(200).nullish(),
  body: textField(10_000).nullish(),
  author_name: lineField(120),
  verified: z.boolean().nullish(),
  /** When the review was written. Default: now. */
  created_at: timeField.nullish(),
});

export type NewReview = z.output<typeof newReviewSchema>;

/**
 * `external_id`: the id of the review in the system that it comes from. Without it, the content identifies the review.
 */
export interface ReviewTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly external_id?: string | undefined;
}

/**
 * Posts a review. Derives its id from the external id or the content, so importing it again appends nothing
 * (`changed: false`). Throws `field_invalid` if the publication does not exist in the store.
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
  const id = deriveReviewId(publication, target.external_id, review, input.created_at ?? '');
  const ref = streamIn(deps, environment, reviewAggregate, id);
  return { ...(await executeOn(ref, context, { type: 'PostReview', review })), id };
}

/** Derives the id. Uses the time of the publication as the timestamp of the id, because a review may have no time. */
function deriveReviewId(
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
  const publication = await findInLog(deps, environment, publicationAggregate, id);
  if (publication?.store_id === store_id) return publication;
  throw CatalogError.ofFaults([
    { condition: 'field_invalid', field: 'publication_id', constraint: 'a publication of the store' },
  ]);
}
