import { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { newReviewBody, reviewPatchBody } from '../../shared/api/requests/writes';
import type { State } from '../../shared/catalog/events/aggregate';
import { idField } from '../../shared/catalog/input-rules';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import {
  type Review,
  type ReviewCommand,
  type ReviewFields,
  reviewAggregate,
  reviewResource,
} from '../../shared/catalog/review/review';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { CatalogError, invalidField } from '../../shared/kernel/errors';
import { deriveId, type PublicationId, type ReviewId, type StoreId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { execute, idForNew, type StoreDeps, type WriteContext, type Written, withResource } from './execute';
import { answerTo, guardFor, type RouteDeps, writeContextOf } from './request';
import { deletionRoute, patchRoute } from './resource';
import { findStore } from './store';

/** Input for a review that is imported. */
export const newReviewSchema = newReviewBody
  .omit({ status: true, verified_purchase: true })
  .extend({ publication_id: idField, verified: z.boolean().nullish() });

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
 * (`changed: false`), also if it was deleted since. Its status is `published`. Throws `field_invalid` if the publication
 * does not exist in the store.
 */
export async function postReview(
  deps: StoreDeps,
  context: WriteContext,
  target: ReviewTarget,
  input: NewReview,
): Promise<Written<State<Review>> & { readonly id: ReviewId }> {
  const { environment } = target;
  const publication = await requirePublication(deps, target, input.publication_id as PublicationId);
  const review = reviewOf(deps, publication, input, input.verified, 'published');
  const id = deriveReviewId(publication, target.external_id, review, input.created_at ?? '');
  const command: ReviewCommand = { type: 'PostReview', review };
  const ref = streamIn(deps, environment, reviewAggregate, id);
  const write = { ...ref, context, prepare: () => ({ command }) };
  return { ...(await execute<Review, ReviewCommand>(write)), id };
}

/** Returns the review of a publication with these values. */
function reviewOf(
  { system }: StoreDeps,
  { id, store_id }: Publication,
  input: Pick<NewReview, 'rating' | 'title' | 'body' | 'author_name' | 'created_at'>,
  verified: boolean | null | undefined,
  status: ReviewFields['status'],
): ReviewFields {
  const { rating, title = null, body, author_name, created_at } = input;
  return {
    store_id,
    publication_id: id,
    rating,
    title,
    body: body ?? '',
    author_name,
    verified: verified ?? false,
    created_at: created_at ?? timestamp(system.now()),
    status,
  };
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
  throw CatalogError.ofFaults([invalidField('publication_id', 'a publication of the store')]);
}

export function reviewRoutes(deps: RouteDeps): Route[] {
  return [
    routeOf(writes.createReview, (request) => create(deps, request)),
    patchRoute(deps, writes.updateReview, reviewAggregate, reviewPatchBody, ({ id, ...review }) =>
      reviewResource(id, review),
    ),
    deletionRoute(deps, writes.deleteReview, reviewAggregate),
  ];
}

/** Handles `POST /api/publication/:id/reviews`. */
async function create(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const { environment } = request.principal;
  const publication_id = request.params.id as PublicationId;
  const guard = guardFor(request, deps.stores, 'publication_not_found');
  const { verified_purchase, ...input } = parseBody(newReviewBody, request.body);
  const { id, loaded } = await idForNew(deps, environment, reviewAggregate, context);
  const written = withResource(
    await execute<Review, ReviewCommand>({
      ...streamIn(deps, environment, reviewAggregate, id),
      context,
      loaded,
      prepare: async () => {
        const publication = await findInLog(deps, environment, publicationAggregate, publication_id);
        if (!publication) throw new CatalogError('publication_not_found');
        const { store_id } = publication;
        await guard({ store_id });
        const store = await findStore(deps, { environment, id: store_id });
        const status = input.status ?? store?.new_review_status ?? 'published';
        const review = reviewOf(deps, publication, input, verified_purchase, status);
        return { command: { type: 'PostReview', review } };
      },
    }),
  );
  const location = `/api/publication/${publication_id}/reviews?status=all`;
  return answerTo(deps, request, written, (review) => reviewResource(id, review), location);
}
