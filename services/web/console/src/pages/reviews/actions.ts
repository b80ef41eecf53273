import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import type { Review } from 'catalog-client';
import { useRef } from 'react';
import { useApi } from '../../lib/api';
import { messageOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { say, sayFailed } from '../../ui/feedback';

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
   * decision is on its way.
   */
  async function run(
    next: (shown: Review, list: string) => Review | undefined,
    requests: readonly (() => Promise<unknown>)[],
  ): Promise<boolean> {
    running.current++;
    await queries.cancelQueries({ queryKey: ['reviews'] });
    for (const [key] of queries.getQueriesData({ queryKey: ['reviews', 'list'] }))
      queries.setQueryData<InfiniteData<ReviewPage>>(key, (lists) => {
        const list = String(key[2]);
        const shown = (page: ReviewPage) => page.data.flatMap((review) => next(review, list) ?? []);
        return lists && { ...lists, pages: lists.pages.map((page) => ({ ...page, data: shown(page) })) };
      });
    const sent = last.current.then(async () => {
      for (const request of requests) await request();
    });
    last.current = sent.catch(() => {});
    try {
      await sent;
      return true;
    } catch (error) {
      sayFailed(messageOf(error, t));
      return false;
    } finally {
      running.current--;
      if (running.current === 0) void queries.invalidateQueries({ queryKey: ['reviews'] });
    }
  }

  function tell(text: string, undo: () => Promise<unknown>): void {
    const once = async () => {
      undos.current = undos.current.filter((each) => each !== once);
      await undo();
    };
    undos.current.push(once);
    say(text, once, 'reviews');
  }

  const set = (statuses: ReadonlyMap<string, Status>) =>
    run(
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

  async function decide(reviews: readonly Review[], status: Status): Promise<void> {
    const changed = reviews.filter((each) => each.status !== status);
    if (changed.length === 0) return;
    const before = new Map(changed.map(({ id, status }) => [id, status!]));
    if (await set(new Map(changed.map(({ id }) => [id, status]))))
      tell(t.reviews.decided[status](changed.length), () => set(before));
  }

  /** The undo writes the same reviews again, because the interface does not restore them. */
  async function remove(reviews: readonly Review[]): Promise<void> {
    const ids = new Set(reviews.map(({ id }) => id));
    const is_done = await run(
      (review) => (ids.has(review.id) ? undefined : review),
      reviews.map(
        ({ id }) =>
          () =>
            client.reviews.delete(id),
      ),
    );
    const createAgain = reviews.map((review) => () => {
      const { publication_id, rating, author_name, title, body, verified, created_at, status } = review;
      const fields = { rating, author_name, title, body, verified_purchase: verified, created_at, status };
      return client.reviews.create(publication_id, fields);
    });
    if (is_done) tell(t.reviews.deleted(reviews.length), () => run((review) => review, createAgain));
  }

  const undo = () => undos.current.at(-1)?.();

  return { decide, remove, undo };
}
