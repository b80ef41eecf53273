import { COUNTED_PUBLICATIONS_MAX } from '../../shared/catalog/publication/page-views';
import type { Environment } from '../../shared/catalog/realm';
import { pause, withTimeout } from '../../shared/kernel/async';
import { isOutage } from '../../shared/kernel/errors';
import { generateId, type PublicationId, type StoreId } from '../../shared/kernel/ids';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';

/** One GET of a publication with a public key. */
export interface PageView {
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly publication_id: PublicationId;
}

/** Counts a page view in memory. Never throws and never waits, because reads call it. */
export type RecordPageView = (view: PageView) => void;

/** Page views of a store's publications in one interval. */
export interface PageViewBatch {
  /** A UUID. A retry has the same one. */
  readonly id: string;
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** Time at which the interval ended, Unix milliseconds. */
  readonly counted_at_ms: number;
  /** Views by id of the publication, of at most `COUNTED_PUBLICATIONS_MAX` publications. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface PageViewCounterOptions {
  /** Stores a batch durably. Must be idempotent by `id`. Rejects if it cannot store it. */
  readonly append: (batch: PageViewBatch) => Promise<void>;
  /** A store's views are appended after this time. A crash loses the views of one interval. */
  readonly interval_ms: number;
  readonly system: System;
  readonly log: Logger;
  /** Maximum number of publications with unsaved views. Views of further publications are dropped. */
  readonly publications_max?: number;
  /** Called for every dropped view. */
  readonly onDropped?: () => void;
}

/** The views of one store that are not appended yet. */
interface PendingViews {
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** Views since the last batches were created. */
  counts: Map<PublicationId, number>;
  /** The batches to store, in order. */
  batches: readonly PageViewBatch[];
}

/** An entry takes about 100 bytes: at most 20 MB. */
const PUBLICATIONS_MAX = 200_000;
/** Concurrent appends. Enough for appends to share a commit; more would slow down the reads of this process. */
const CONCURRENCY = 16;
const RETRY_PAUSE_MS = 250;

/**
 * Counts views in memory. After each interval, appends them as one batch per store (docs/interface/publications.md#views), or as
 * several if many publications were viewed. A batch that fails is retried in the next interval.
 */
export class PageViewCounter {
  private readonly options: PageViewCounterOptions;
  private readonly publications_max: number;
  private readonly pending = new Map<string, PendingViews>();
  /** Number of counts in `pending`. */
  private publications = 0;
  private dropped = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;

  constructor(options: PageViewCounterOptions) {
    this.options = options;
    this.publications_max = options.publications_max ?? PUBLICATIONS_MAX;
  }

  start(): void {
    this.timer = setInterval(() => void this.flush(), this.options.interval_ms);
    this.timer.unref();
  }

  readonly record: RecordPageView = ({ environment, store_id, publication_id }) => {
    const key = `${environment}.${store_id}`;
    const views = this.pending.get(key) ?? { environment, store_id, batches: [], counts: new Map() };
    const count = views.counts.get(publication_id) ?? 0;
    if (count === 0 && this.publications >= this.publications_max) {
      this.dropped++;
      this.options.onDropped?.();
      return;
    }
    if (count === 0) this.publications++;
    views.counts.set(publication_id, count + 1);
    this.pending.set(key, views);
  };

  /**
   * Appends all counted views. Resolves when every store was tried once. Never rejects. Concurrent calls share one
   * flush.
   */
  flush(): Promise<void> {
    this.flushing ??= this.flushStores([...this.pending]).finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  /** Stops the timer and appends all counted views. Retries what fails, for at most `timeout_ms`. */
  async stop(timeout_ms: number): Promise<void> {
    clearInterval(this.timer);
    const ending = new AbortController();
    await withTimeout(this.drain(ending.signal), timeout_ms, () => ending.abort());
    const views = this.unsaved;
    if (views > 0)
      this.options.log.warn({ views }, 'views lost at shutdown; they could not be appended in time');
  }

  private async drain(signal: AbortSignal): Promise<void> {
    // The running flush may have begun before the last views were counted.
    await this.flushing;
    await this.flush();
    while (this.unsaved > 0 && !signal.aborted) {
      await pause(RETRY_PAUSE_MS, signal);
      await this.flush();
    }
  }

  /** Number of views that are counted but not appended. */
  get unsaved(): number {
    let views = 0;
    for (const { counts, batches } of this.pending.values())
      for (const group of [counts.values(), ...batches.map((batch) => Object.values(batch.counts))])
        for (const count of group) views += count;
    return views;
  }

  private async flushStores(stores: readonly [string, PendingViews][]): Promise<void> {
    const { log } = this.options;
    if (this.dropped > 0)
      log.warn({ views: this.dropped }, 'views dropped; too many publications were viewed in one interval');
    this.dropped = 0;
    // All calls of `appendPending` share one iterator: each takes the next store.
    const queue = stores.values();
    const failures: unknown[] = [];
    await Promise.all(Array.from({ length: CONCURRENCY }, () => this.appendPending(queue, failures)));
    if (failures.length > 0)
      log.warn(
        { err: failures[0], stores: failures.length },
        'views could not be appended; retrying in the next interval',
      );
  }

  private async appendPending(queue: Iterable<[string, PendingViews]>, failures: unknown[]): Promise<void> {
    for (const [key, pending_views] of queue) {
      // The event store is unavailable: each further attempt would only wait for its timeout.
      if (failures.some(isOutage)) return;
      try {
        // First the batches that failed before. Until they are stored, no others are created, so that they stay few.
        await this.appendBatches(pending_views);
        pending_views.batches = this.createBatches(pending_views);
        await this.appendBatches(pending_views);
        if (pending_views.counts.size === 0) this.pending.delete(key);
      } catch (error) {
        failures.push(error);
      }
    }
  }

  private async appendBatches(pending_views: PendingViews): Promise<void> {
    for (const batch of pending_views.batches) {
      await this.options.append(batch);
      pending_views.batches = pending_views.batches.slice(1);
      this.publications -= Object.keys(batch.counts).length;
    }
  }

  private createBatches(pending_views: PendingViews): PageViewBatch[] {
    const { environment, store_id, counts } = pending_views;
    const { system } = this.options;
    pending_views.counts = new Map();
    const counted_at_ms = system.now();
    const entries = [...counts];
    const batches: PageViewBatch[] = [];
    while (entries.length > 0)
      batches.push({
        ...{ id: generateId(counted_at_ms, system.random), environment, store_id, counted_at_ms },
        counts: Object.fromEntries(entries.splice(0, COUNTED_PUBLICATIONS_MAX)),
      });
    return batches;
  }
}
