import { longTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { EventStore } from '../../shared/ports/event-store';
import { type Place, unlessMismatch } from '../../shared/ports/log-offset';
import { ChangeCollector, type Filter, type KeyNames, type Page, withKeyNames } from './change-collector';
import { type Hold, holdLiveChanges, type LiveChanges } from './live-changes';

const BATCH_SIZE = 500;
/** How long a long poll waits. Shorter than the time that each answer has. */
export const POLL_MS = 4_000;
/** Maximum age of the last read of the head. A recent one proves that the log can be read. */
const HEAD_AGE_MS = 1_000;

/** Reads the changes of one store. */
export class Feed {
  constructor(
    private readonly deps: KeyNames,
    private readonly events: EventStore,
    private readonly filter: Filter,
    /** Aborts when the process stops. */
    readonly stopping?: AbortSignal,
  ) {}

  /** Follows the store. `readOrWait` then shares what it reads with all who follow the store. */
  follow(): Hold {
    return holdLiveChanges(this.deps, this.events, this.filter.store_id);
  }

  /** Returns the changes of the log after a place. */
  read(after: Place): Promise<Page> {
    return unlessMismatch(() => this.readLog(after));
  }

  /** Returns the changes after a place. If there is none, waits for the next one at most `wait_ms`, or until the process stops. */
  async readOrWait(after: Place, wait_ms: number, live: LiveChanges): Promise<Page> {
    const until_ms = performance.now() + wait_ms;
    for (let place = after; ; ) {
      // An event wakes all readers of a store.
      const turn = longTurn();
      if (turn) await turn;
      const { page, seen } = await this.readShared(place, live);
      const left_ms = this.stopping?.aborted ? 0 : until_ms - performance.now();
      if (page.entries.length > 0 || !page.is_up_to_date) return page;
      if (left_ms <= 0) {
        // Without a change, nothing else shows that the log can be read.
        await this.events.head(HEAD_AGE_MS);
        return page;
      }
      place = page.next;
      await live.next([this.filter.store_id], seen, left_ms, this.stopping);
    }
  }

  /** Returns the changes after a place, and the number of wake-ups before the read. All followers of the log share what is read. */
  async readShared(after: Place, live: LiveChanges): ReturnType<LiveChanges['shared']> {
    const { seen } = live;
    const page = live.pageAfter(after, this.filter);
    if (page) return { page, seen };
    const { store_id, key } = this.filter;
    return live.shared([store_id, after.position, key].join(' '), () => this.read(after));
  }

  private async readLog(after: Place): Promise<Page> {
    const page = new ChangeCollector(this.events, this.filter, after);
    if (after.position >= (await this.events.head())) return page.end(true);
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), POLL_MS);
    let is_up_to_date: boolean | undefined;
    let is_ended = false;
    let reached = after.position;
    try {
      const options = { after: after.position, signal: ended.signal, batch_size: BATCH_SIZE };
      for await (const { events, position, caught_up } of this.events.subscribe(options)) {
        for (const event of events) {
          // A full page ends with its last write, of which the next batch may have the rest.
          is_ended = page.isFull() && !page.continuesWith(event);
          if (is_ended) break;
          await page.add(event);
        }
        is_up_to_date = caught_up && !page.isFull();
        reached = position;
        if (is_ended || caught_up) break;
      }
      // No batch in all the time: the log cannot be read now.
      if (is_up_to_date === undefined) throw new CatalogError('unavailable');
      // The next page then does not examine events of other realms again.
      if (!page.isFull()) await page.moveTo(reached);
      const { entries, ...rest } = page.end(is_up_to_date);
      return { ...rest, entries: await withKeyNames(this.deps, entries) };
    } finally {
      clearTimeout(timer);
      ended.abort();
    }
  }
}
