import { z } from 'zod';
import { idField, lineField, textField, timeField } from '../../../shared/catalog/input-rules';

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
