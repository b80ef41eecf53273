import { EventEmitter } from 'node:events';
import { pause } from '../../shared/kernel/async';
import type { EventStore } from '../../shared/ports/event-store';

/** Time between two attempts to follow the log. */
const RETRY_MS = 1_000;

/** Wakes those who wait for the next event of a store. One subscription serves all of them. */
export class Wakeups {
  private readonly stores = new EventEmitter<Record<string, []>>().setMaxListeners(0);
  /** By store, the number of its last event. */
  private readonly newest = new Map<string, number>();
  /** The number of events when the subscription began. Those before it are of any store. */
  private unknown_until = 0;
  private count = 0;

  /** Follows the log until `signal` aborts. Never throws. */
  async follow(events: EventStore, signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await pause(RETRY_MS, signal)) {
      try {
        const after = await events.head();
        this.unknown_until = ++this.count;
        for (const store_id of this.stores.eventNames()) this.stores.emit(String(store_id));
        for await (const batch of events.subscribe({ after, signal }))
          for (const { metadata } of batch.events) this.wake(metadata.partition_key);
      } catch {
        // The log cannot be read now. Those who wait read it as well, and report this.
      }
    }
  }

  private wake(store_id: string): void {
    this.newest.set(store_id, ++this.count);
    this.stores.emit(store_id);
  }

  /** The number of events so far. */
  get seen(): number {
    return this.count;
  }

  /** Resolves at an event of the store after the first `seen` ones, after `ms`, or when `signal` aborts. */
  async next(store_id: string, seen: number, ms: number, signal?: AbortSignal): Promise<void> {
    if (Math.max(this.newest.get(store_id) ?? 0, this.unknown_until) > seen) return;
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.stores.off(store_id, end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.stores.on(store_id, end);
      signal?.addEventListener('abort', end);
    });
  }
}

interface Shared {
  readonly wakeups: Wakeups;
  readonly ended: AbortController;
  holders: number;
}

const shared = new WeakMap<EventStore, Shared>();

/** Calls `work` with the wake-ups of a log, which follow the log as long as anybody uses them. */
export async function withWakeups<Result>(
  events: EventStore,
  work: (wakeups: Wakeups) => Promise<Result>,
): Promise<Result> {
  const used = shared.get(events) ?? { wakeups: new Wakeups(), ended: new AbortController(), holders: 0 };
  if (used.holders++ === 0) {
    shared.set(events, used);
    void used.wakeups.follow(events, used.ended.signal);
  }
  try {
    return await work(used.wakeups);
  } finally {
    if (--used.holders === 0) {
      shared.delete(events);
      used.ended.abort();
    }
  }
}
