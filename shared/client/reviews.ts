import type { DeletedReview, Review } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, BodyOf, QueryOf } from './operations.js';
import type { ListOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf } from './pages.js';

/** Reviews of a store, for its merchant. Storefronts read those of a publication with `publications.reviews`. */
export class ReviewCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Lists the store's reviews of every status, newest first.
   *
   * @example
   * for await (const { id, body } of client.reviews.list({ status: 'pending' })) console.log(id, body);
   */
  list(
    query: QueryOf<'listStoreReviews'> = {},
    options: ListOptions = {},
  ): Pages<Review, AnswerOf<'listStoreReviews'>> {
    return listOf((page) => this.calls.page('listStoreReviews', { query: page }, options), query);
  }

  /**
   * Creates a review of a publication.
   *
   * @example
   * await client.reviews.create(tea.id, { rating: 5, author_name: 'Diego', verified_purchase: true });
   */
  create(publication_id: string, body: BodyOf<'createReview'>, options: WriteOptions = {}): Promise<Review> {
    return this.calls.write('createReview', { id: publication_id, body }, options);
  }

  /**
   * Changes the status of a review.
   *
   * @example
   * await client.reviews.update(id, { status: 'rejected' });
   */
  update(id: string, body: BodyOf<'updateReview'>, options: WriteOptions = {}): Promise<Review> {
    return this.calls.write('updateReview', { id, body }, options);
  }

  /** Deletes a review. */
  delete(id: string, options: WriteOptions = {}): Promise<DeletedReview> {
    return this.calls.write('deleteReview', { id }, options);
  }
}
