import { type Position, type RecordedEvent, START } from '../../../shared/catalog/events/envelope';
import type { EventStore, LogBatch } from '../../../shared/ports/event-store';
import { waitFor, within } from '../wait-for';

export interface FollowerOptions {
  readonly after?: Position;
  readonly batch_size?: number;
  /** Called between two batches, as a consumer's work. */
  readonly handle?: (batch: LogBatch) => Promise<void> | void;
}

/** Follows a log in the background and checks that positions only increase. */
export class Follower {
  readonly events: RecordedEvent[] = [];
  position: Position;
  caught_up = false;
  private readonly ending = new AbortController();
  private readonly done: Promise<void>;

  constructor(store: EventStore, options: FollowerOptions = {}) {
    this.position = options.after ?? START;
    this.done = this.follow(store, options);
    this.done.catch(() => {});
  }

  async until(count: number): Promise<void> {
    await waitFor(() => this.events.length >= count, { what: `a follower to receive ${count} events` });
  }

  async untilCaughtUp(): Promise<void> {
    await waitFor(() => this.caught_up, { what: 'the end of the log' });
  }

  /** Ends the subscription. Rejects with its error, if it had one. */
  async end(): Promise<void> {
    this.ending.abort();
    await within(this.done, 'the subscription to end after its abort');
  }

  /** Resolves when the subscription has ended by itself. Rejects with its error. */
  async ended(): Promise<void> {
    await within(this.done, 'the subscription to end by itself');
  }

  private async follow(store: EventStore, { batch_size, handle }: FollowerOptions): Promise<void> {
    const size = batch_size === undefined ? {} : { batch_size };
    for await (const batch of store.subscribe({
      after: this.position,
      signal: this.ending.signal,
      ...size,
    })) {
      if (batch.position < this.position) throw new Error(`back from ${this.position} to ${batch.position}`);
      this.events.push(...batch.events);
      this.position = batch.position;
      this.caught_up = batch.caught_up;
      await handle?.(batch);
    }
  }
}
