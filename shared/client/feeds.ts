import type { FeedIssue } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, QueryOf } from './operations.js';
import type { ListOptions } from './options.js';
import type { Pages } from './pages.js';
import { pagesOf } from './pages.js';

/** The channels that read the products of a store as a feed. */
export type FeedChannel = 'google' | 'meta' | 'acp';

/** Feeds for marketplaces, advertisers and agents. */
export class FeedCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Lists what a channel would refuse in the products of the store, or show less of. It has no numbered pages: `cursor` of the
   * query is `meta.next_cursor` of an earlier page. Requires a secret key.
   *
   * @example
   * for await (const { title, message } of client.feeds.issues('google', { severity: 'error' }))
   *   console.log(title, message);
   */
  issues(
    channel: FeedChannel,
    query: QueryOf<'listFeedIssues'> = {},
    options: ListOptions = {},
  ): Pages<FeedIssue, AnswerOf<'listFeedIssues'>> {
    return pagesOf(
      ({ page: _, ...place }) => this.calls.page('listFeedIssues', { id: channel, query: place }, options),
      ({ data }) => data,
      ({ meta }) => ({ total_pages: 1, next_cursor: meta.next_cursor }),
      query,
    );
  }
}
