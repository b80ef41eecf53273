import {
  type AllStreamRecordedEvent,
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  streamNameFilter,
} from '@eventstore/db-client';
import type { Position } from '../../catalog/events/envelope';
import type { Lease } from './connection';
import { toServersPosition } from './reading';

/**
 * The server reports how far its filter has come after this many times 32 events: as often as it can, for one report
 * costs less than to look at what the filter passed over.
 */
const CHECKPOINT_INTERVAL = 1;

/** What arrives, in the server's order: an event, how far the filter has come, or that there is no more for now. */
export type FeedItem =
  | { readonly kind: 'event'; readonly event: AllStreamRecordedEvent }
  | { readonly kind: 'checkpoint'; readonly position: Position }
  | { readonly kind: 'caught_up' };

/** Stands between the events in the client's own buffer, so that it is taken only after all that came before it. */
class Mark {
  readonly item: FeedItem;
  constructor(item: FeedItem) {
    this.item = item;
  }
}

/**
 * One subscription on the server, until it ends for whatever reason. Events wait in the client's buffer of `buffer`
 * items; while that is full the server is held back.
 */
export class Feed {
  private readonly subscription: AllStreamSubscription;
  private readonly retired: AbortSignal;
  private over = false;
  private error: Error | undefined;
  private wake: () => unknown = () => {};

  constructor(lease: Lease, options: { prefix: string; after: Position; buffer: number }) {
    const filter = streamNameFilter({
      prefixes: [options.prefix],
      checkpointInterval: CHECKPOINT_INTERVAL,
      checkpointReached: (subscription, { commit }) => {
        subscription.push(new Mark({ kind: 'checkpoint', position: commit }));
      },
    });
    const from = { fromPosition: toServersPosition(options.after), filter };
    this.subscription = lease.client.subscribeToAll(from, { highWaterMark: options.buffer });
    this.subscription.on('caughtUp', () => this.subscription.push(new Mark({ kind: 'caught_up' })));
    this.subscription.on('readable', () => this.wake());
    this.subscription.on('end', () => this.end());
    this.subscription.on('close', () => this.end());
    // For good: an error that nobody listens to would end the process.
    this.subscription.on('error', (error) => this.end(error));
    this.retired = lease.retired;
    this.retired.addEventListener('abort', this.end);
  }

  get empty(): boolean {
    return this.subscription.readableLength === 0;
  }

  /** Nothing comes any more; what had arrived can still be taken. */
  get ended(): boolean {
    return this.over && this.empty;
  }

  /** Why it ended; undefined also where the server ended it without a reason. */
  get failure(): Error | undefined {
    return this.error;
  }

  /** What has arrived, at most `max` items, without waiting. */
  take(max: number): FeedItem[] {
    const items: FeedItem[] = [];
    while (items.length < max) {
      const next = this.subscription.read() as AllStreamResolvedEvent | Mark | null;
      if (next === null) break;
      if (next instanceof Mark) items.push(next.item);
      else if (next.event) items.push({ kind: 'event', event: next.event });
    }
    return items;
  }

  /** Until there are `enough` items to take, the end, `signal`, or `at_most_ms`. */
  async wait(enough: number, at_most_ms: number, signal: AbortSignal): Promise<void> {
    const isDue = (): boolean => this.subscription.readableLength >= enough || this.over || signal.aborted;
    if (isDue()) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.wake = () => {};
        resolve();
      };
      const timer = setTimeout(done, at_most_ms);
      signal.addEventListener('abort', done, { once: true });
      this.wake = () => isDue() && done();
    });
  }

  /** Ends the call on the server: leaving off reading would not. */
  close(): void {
    this.retired.removeEventListener('abort', this.end);
    this.over = true;
    this.subscription.unsubscribe().catch(() => {});
    this.subscription.destroy();
  }

  private readonly end = (reason?: unknown): void => {
    this.over = true;
    if (reason instanceof Error) this.error ??= reason;
    this.wake();
  };
}
