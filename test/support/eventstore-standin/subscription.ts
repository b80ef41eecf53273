import type { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import type { Database } from './database';
import type { EventFilter } from './filter';
import { caughtUpMessage, confirmationMessage, eventMessage } from './messages';
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
}

/**
 * One subscription to the log: first the stored events, as fast as the reader takes them, then the live
 * ones.
 */
export class AllSubscription {
  private readonly options: SubscriptionOptions;
  private readonly live: ReadResp[] = [];
  private stopped = false;
  private pumping = false;
  private wake: () => void = () => {};

  constructor(options: SubscriptionOptions) {
    this.options = options;
  }

  /** Runs until it is stopped or its reader disconnects. */
  async run(): Promise<void> {
    const { outbox, database, id } = this.options;
    await outbox.send(confirmationMessage(id));
    await this.catchUp();
    const unwatch = database.watch((event) => this.accept(event));
    try {
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
    for (let index = this.options.start; index < database.all.length && !this.over; index++) {
      const event = database.all[index]!;
      if (!filter || filter.allows(event)) await outbox.send(eventMessage(event));
    }
  }

  private accept(event: StoredEvent): void {
    const { filter } = this.options;
    if (!filter || filter.allows(event)) this.live.push(eventMessage(event));
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
}
