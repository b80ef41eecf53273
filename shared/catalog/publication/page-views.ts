import { z } from 'zod';
import type { StoreId } from '../../kernel/ids';
import { timestamp } from '../../kernel/system';
import { type StreamName, streamName } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import type { Environment } from '../realm';
import { isPacked, unpackCounts } from './packed-counts';

/**
 * The most publications that one event counts. It then has about 9 kB, far below the limits of the event stores, and a
 * worker loads at most this many publications for it.
 */
export const COUNTED_PUBLICATIONS_MAX = 500;

export const pageViewEvents = [
  /**
   * How often publications of a store were viewed in an interval. Query processes count in memory first: one event per
   * store and interval, not one per view (docs/interface.md#views). `counts` is packed (`packCounts`), because ids are
   * most of what views cost in the log.
   */
  defineEvent(
    'PageViewsCounted',
    z.object({ counts: z.string().refine(isPacked, 'packed counts of publications') }),
  ),
  /** Only in logs of earlier releases: the same counts by id. */
  defineEvent('PublicationsViewed', z.object({ counts: z.record(z.string(), z.int().min(1)) })),
] as const;

export type PageViewEvent = EventOf<typeof pageViewEvents>;

/** Returns how often each publication was viewed according to the event, by id. */
export function viewsIn(event: PageViewEvent): Readonly<Record<string, number>> {
  return event.type === 'PageViewsCounted' ? unpackCounts(event.data.counts) : event.data.counts;
}

/**
 * Returns the stream of a store's page views on the UTC day of `time_ms`. They are not in the streams of the
 * publications, so that writing to a popular publication reads none of them (docs/decisions/0020-streams-of-views.md).
 */
export function pageViewStream(environment: Environment, store_id: StoreId, time_ms: number): StreamName {
  const [day] = timestamp(time_ms).split('T');
  return streamName(environment, 'views', `${store_id}-${day}`);
}
