import { parseBody } from '../../shared/http/validation';
import type { PublicationId } from '../../shared/kernel/ids';
import { newReviewSchema } from '../command/review';
import { wordsOf } from './identity';
import type { ReviewRow } from './item';
import type { Tally } from './report';
import type { CatalogWriter } from './writer';

/**
 * The reviews of an import. One without an id of its own is known by its words; those of one publication that say
 * exactly the same are told apart by their number.
 */
export class Reviews {
  private readonly repetitions = new Map<string, number>();

  constructor(
    private readonly writer: CatalogWriter,
    private readonly tally: Tally,
  ) {}

  /** Throws `CatalogError` where the review is refused. */
  async post(publication_id: PublicationId, row: ReviewRow): Promise<void> {
    const input = parseBody(newReviewSchema, { ...row.fields, publication_id });
    const external_id = row.external_id ?? this.repetitionOf(publication_id, row);
    this.tally.count('reviews', await this.writer.postReview(input, external_id));
  }

  /** An id for the second and every further review of the same words; undefined for the first. */
  private repetitionOf(publication_id: PublicationId, row: ReviewRow): string | undefined {
    const words = wordsOf(row.fields);
    const counted = `${publication_id} ${words}`;
    const repetition = (this.repetitions.get(counted) ?? 0) + 1;
    this.repetitions.set(counted, repetition);
    return repetition === 1 ? undefined : `words ${words} ${repetition}`;
  }
}
