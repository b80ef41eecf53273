import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import type { Review } from 'catalog-client';
import { useRef } from 'react';
import { useApi } from '../../lib/api';
import { useTexts } from '../../texts/texts';
import { say, sayError } from '../../ui/feedback';

export type Status = NonNullable<Review['status']>;
export interface ReviewPage {
  readonly data: readonly Review[];
}

/** Decisions about reviews. A decision shows at once, and can be taken back by its message or by `undo`, the last one first. */
export function useReviewActions() {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const undos = useRef<(() => Promise<void>)[]>([]);
  const running = useRef(0);
  const last = useRef<Promise<unknown>>(Promise.resolve());

  /**
   * Changes the lists that are shown, then sends the requests after those of earlier decisions. Lists are read again when no
   * decision is on its way. A failure is said, and ends the requests. Returns how many of them succeeded.
   */
  async function run(
    next: (shown: Review, list: string) => Review | undefined,
    requests: readonly (() => Promise<unknown>)[],
  ): Promise<number> {
    let done = 0;
    running.current++;
    await queries.cancelQueries({ queryKey: ['reviews'] });
    for (const [key] of queries.getQueriesData({ queryKey: ['reviews', 'list'] }))
      queries.setQueryData<InfiniteData<ReviewPage>>(key, (lists) => {
        const list = String(key[2]);
        const shown = (page: ReviewPage) => page.data.flatMap((review) => next(review, list) ?? []);
        return lists && { ...lists, pages: lists.pages.map((page) => ({ ...page, data: shown(page) })) };
      });
    const sent = last.current.then(async () => {
      for (const request of requests) {
        await request();
        done++;
      }
    });
    last.current = sent.catch(() => {});
    try {
      await sent;
    } catch (error) {
      sayError(error, t);
    }
    running.current--;
    if (running.current === 0) void queries.invalidateQueries({ queryKey: ['reviews'] });
    return done;
  }

  /** `undo` returns how many of the reviews are as before. The others can be undone again. */
  function tell(
    textOf: (count: number) => string,
    reviews: readonly Review[],
    undo: (reviews: readonly Review[]) => Promise<number>,
  ): void {
    if (reviews.length === 0) return;
    const once = async () => {
      undos.current = undos.current.filter((each) => each !== once);
      const done = await undo(reviews);
      tell(textOf, reviews.slice(done), undo);
    };
    undos.current.push(once);
    say(textOf(reviews.length), once, 'reviews');
  }

  /** Writes the status that `statusOf` returns for each review. */
  const set = (reviews: readonly Review[], statusOf: (review: Review) => Status) => {
    const statuses = new Map(reviews.map((each) => [each.id, statusOf(each)]));
    return run(
      (review, list) => {
        const status = statuses.get(review.id);
        if (!status) return review;
        return list === 'all' || list === status ? { ...review, status } : undefined;
      },
      [...statuses].map(
        ([id, status]) =>
          () =>
            client.reviews.update(id, { status }),
      ),
    );
  };

  async function decide(reviews: readonly Review[], status: Status): Promise<void> {
    const changed = reviews.filter((each) => each.status !== status);
    const done = await set(changed, () => status);
    tell(t.reviews.decided[status], changed.slice(0, done), (left) => set(left, (each) => each.status!));
  }

  /**
   * The undo writes the same reviews again, because the interface does not restore them. It does not take reviews of a deleted
   * product, so without `has_undo` the deletion is final.
   */
  async function remove(reviews: readonly Review[], has_undo: boolean): Promise<void> {
    const ids = new Set(reviews.map(({ id }) => id));
    const done = await run(
      (review) => (ids.has(review.id) ? undefined : review),
      reviews.map(
        ({ id }) =>
          () =>
            client.reviews.delete(id),
      ),
    );
    const deleted = reviews.slice(0, done);
    if (has_undo) tell(t.reviews.deleted, deleted, createAgain);
    else if (done > 0) say(t.reviews.deleted(done));
  }

  const createAgain = (reviews: readonly Review[]) =>
    run(
      (review) => review,
      reviews.map((review) => () => {
        const { publication_id, rating, author_name, title, body, verified, created_at, status } = review;
        const fields = { rating, author_name, title, body, verified_purchase: verified, created_at, status };
        return client.reviews.create(publication_id, fields);
      }),
    );

  const undo = () => undos.current.at(-1)?.();

  return { decide, remove, undo };
}
