import { encodeEvent } from '../../shared/catalog/events/codec';
import type { EncodedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { packCounts, pageViewStream } from '../../shared/catalog/publication/page-views';
import type { Environment } from '../../shared/catalog/realm';
import { pause, withJitter } from '../../shared/kernel/async';
import { LRUCache } from '../../shared/kernel/cache';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { NO_STREAM } from '../../shared/ports/event-store';
import type { StoreDeps } from './execute';

/** The page views of a store in an interval, as one event. */
export interface CountedPageViews {
  /** A UUID, which becomes the id of the event. A retry has the same one. */
  readonly id: string;
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** End of the interval, Unix milliseconds. Determines the stream. */
  readonly counted_at_ms: number;
  /** Views by id of the publication. At least one publication, at most `COUNTED_PUBLICATIONS_MAX`. */
  readonly counts: Readonly<Record<string, number>>;
}

/** How often an append that lost a race against another process is retried. */
const RETRIES = 10;
/** How much longer each pause before a retry is than the one before. */
const PAUSE_STEP_MS = 5;
const STREAMS_MAX = 10_000;

/**
 * Appends page views to the stream of their store and day. Any number of processes append to the same stream.
 *
 * No view is lost or counted twice: after a failure, the event may be stored or not. So `append` is repeated at the same
 * expected revision. If that succeeds, the event is stored once. If another event has that revision, the first attempt
 * can no longer succeed, and the event is appended after the other one.
 */
export class PageViewLog {
  private readonly events: StoreDeps['events'];
  /** The last known revision of each stream. */
  private readonly revisions = new LRUCache<StreamName, number>({ max: STREAMS_MAX });
  /** The expected revisions of appends whose outcome is unknown, by id of the event. */
  private readonly unanswered = new Map<string, number>();

  constructor({ events }: Pick<StoreDeps, 'events'>) {
    this.events = events;
  }

  /**
   * Appends the views as one event. Repeat the call with the same views if it rejects. Rejects with the errors of the
   * event store, and with `lost_race` if other processes are always faster.
   */
  async append(views: CountedPageViews): Promise<void> {
    const { environment, store_id, counted_at_ms, id } = views;
    const stream = pageViewStream(environment, store_id, counted_at_ms);
    const event = encode(views);
    for (let attempt = 0; attempt <= RETRIES; attempt++) {
      const expected = this.unanswered.get(id) ?? this.revisions.get(stream) ?? NO_STREAM;
      this.unanswered.set(id, expected);
      const result = await this.events[environment].append(stream, expected, [event]);
      this.unanswered.delete(id);
      this.revisions.set(stream, result.outcome === 'appended' ? result.revision : result.actual);
      if (result.outcome === 'appended') return;
      await pause(withJitter(attempt * PAUSE_STEP_MS));
    }
    throw new CatalogError('lost_race');
  }
}

function encode({ id, store_id, counted_at_ms, counts }: CountedPageViews): EncodedEvent {
  const metadata = {
    occurred_at: timestamp(counted_at_ms),
    partition_key: store_id,
    source: 'system',
    request_id: id,
    store_id,
  } as const;
  return { id, ...encodeEvent({ type: 'PageViewsCounted', data: { counts: packCounts(counts) } }), metadata };
}
