import type { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import type { Database } from './database';
import { type EventFilter, SEARCH_WINDOW } from './filter';
import { caughtUpMessage, checkpointMessage, confirmationMessage, eventMessage } from './messages';
import type { Outbox } from './outbox';
import type { StoredEvent } from './records';
import { timedOut } from './rpc-errors';

/** Number of live messages that may wait for a slow consumer. With one more, the server drops it. */
const LIVE_BUFFER = 32;

export interface SubscriptionOptions {
  readonly id: string;
  readonly database: Database;
  readonly outbox: Outbox;
  readonly filter: EventFilter | undefined;
  /** Index of the first event to examine. */
  readonly start: number;
  /** Whether it sends a checkpoint after the log when it has caught up (`FaultPlan`). */
  readonly checkpoint_after_log: boolean;
}

/**
 * One subscription to the log: first the stored events, in pages and as fast as the reader takes them, then the live
 * ones.
 */
export class AllSubscription {
  private readonly options: SubscriptionOptions;
  private readonly live: ReadResp[] = [];
  private considered = 0;
  private checkpoints_sent = 0;
  private stopped = false;
  private pumping = false;
  private wake: () => void = () => {};

  constructor(options: SubscriptionOptions) {
    this.options = options;
  }

  get events_sent(): number {
    return this.options.outbox.sent_events;
  }

  /** Runs until it is stopped or its reader disconnects. */
  async run(): Promise<void> {
    const { outbox, database, id, filter, checkpoint_after_log } = this.options;
    await outbox.send(confirmationMessage(id));
    await this.catchUp();
    const unwatch = database.watch((event) => this.accept(event));
    const { after_log } = database;
    try {
      if (filter && checkpoint_after_log) await outbox.send(checkpointMessage(after_log, 0n));
      await outbox.send(caughtUpMessage());
      await this.pump();
    } finally {
      unwatch();
    }
  }

  stop(): void {
    this.stopped = true;
    this.wake();
  }

  /** Ends the subscription without an error or a reason. */
  end(): void {
    this.stop();
    this.options.outbox.end();
  }

  private async catchUp(): Promise<void> {
    const { database, outbox, filter } = this.options;
    for (let index = this.options.start; index < database.all.length && !this.over; ) {
      const page = database.all.slice(index, index + SEARCH_WINDOW);
      const matching = filter ? page.filter(filter.allows) : page;
      for (const event of matching) await outbox.send(eventMessage(event));
      index += page.length;
      // The position of the last event sent or, if the page had none, of its first event.
      const reached = matching.at(-1) ?? page[0]!;
      const due = this.consider(page.length);
      if (due && index < database.all.length) await outbox.send(this.catchUpCheckpoint(reached.position));
    }
  }

  /** During catch-up, checkpoints have no prepare position, and the first one has no position at all. */
  private catchUpCheckpoint(position: bigint): ReadResp {
    const is_first = this.checkpoints_sent++ === 0;
    return checkpointMessage(is_first ? 0n : position, 0n);
  }

  private accept(event: StoredEvent): void {
    const { filter } = this.options;
    if (!filter || filter.allows(event)) this.live.push(eventMessage(event));
    if (this.consider(1)) this.live.push(checkpointMessage(event.position, event.position));
    // Events that arrive together do not mean that the consumer is slow, so they are sent first.
    if (this.pumping) this.flush();
    if (this.live.length > LIVE_BUFFER) this.drop();
    this.wake();
  }

  private drop(): void {
    const reason = 'Consumer too slow to handle event while live. Client resubscription required.';
    this.stop();
    this.options.outbox.fail(timedOut(reason));
  }

  private async pump(): Promise<void> {
    this.pumping = true;
    while (!this.over) {
      this.flush();
      if (this.live.length > 0) await this.options.outbox.drained();
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  private flush(): void {
    const { outbox } = this.options;
    while (this.live.length > 0 && outbox.room) outbox.post(this.live.shift()!);
  }

  private get over(): boolean {
    return this.stopped || this.options.outbox.closed;
  }

  /** Returns whether a checkpoint is due after this many more events. */
  private consider(events: number): boolean {
    const every = this.options.filter?.checkpoint_every;
    if (every === undefined) return false;
    this.considered += events;
    if (this.considered < every) return false;
    this.considered %= every;
    return true;
  }
}
