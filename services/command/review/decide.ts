import type { ReviewEvent, ReviewFields } from '../../../shared/catalog/review/review';
import { assertNever } from '../../../shared/kernel/assert-never';
import { accept, type Decision } from '../../../shared/kernel/decision';

export type ReviewState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'posted'; readonly review: ReviewFields };

export type ReviewCommand = { readonly type: 'PostReview'; readonly review: ReviewFields };

/** A review is written once; its id follows from its content, so that a second posting is the same review. */
export function decideReview(state: ReviewState, command: ReviewCommand): Decision<ReviewEvent> {
  switch (command.type) {
    case 'PostReview':
      return state.tag === 'posted' ? accept() : accept({ type: 'ReviewPosted', data: command.review });
    default:
      return assertNever(command.type, 'review command');
  }
}
