import type { Environment } from '../../shared/catalog/realm';
import { withTimeout } from '../../shared/kernel/async';
import { isOutage } from '../../shared/kernel/errors';
import { generateId, type PublicationId } from '../../shared/kernel/ids';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';

/** One GET of a publication with a public key. */
export interface PageView {
  readonly environment: Environment;
  readonly publication_id: PublicationId;
}

/** Counts a page view in memory. Never throws and never waits, because reads call it. */
export type RecordPageView = (view: PageView) => void;

/** The page views of one publication in one interval. */
export interface PageViewBatch extends PageView {
  /** A UUID. A retry has the same one. */
  readonly id: string;
  readonly count: number;
  /** True if an earlier attempt failed. The event store may have stored the batch in that attempt. */
  readonly retried: boolean;
}

export interface PageViewCounterOptions {
  /** Stores a batch durably. Must be idempotent by `id`. Rejects if it cannot store it. */
  readonly append: (batch: PageViewBatch) => Promise<void>;
  readonly interval_ms: number;
  readonly system: System;
  readonly log: Logger;
  /** Maximum number of publications with unsaved views. Views of further publications are dropped. */
  readonly publications_max?: number;
  /** Called for every dropped view. */
  readonly onDropped?: () => void;
}

/** The views of one publication that are not appended yet. */
interface PendingViews extends PageView {
  /** Views since the last batch was created. */
  count: number;
  /** The batch to store, until `append` succeeds. */
  batch: PageViewBatch | undefined;
}

const PUBLICATIONS_MAX = 50_000;
/** Concurrent appends. Enough for appends to share a commit; more would slow down the reads of this process. */
const CONCURRENCY = 16;

/**
 * Counts views in memory and appends them as one batch per publication and interval (docs/interface.md#views). A batch
 * that fails is retried in the next interval. A crash loses the views that were counted since the last interval.
 */
export class PageViewCounter {
  private readonly options: PageViewCounterOptions;
  private readonly publications_max: number;
  private readonly pending = new Map<string, PendingViews>();
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

  readonly record: RecordPageView = ({ environment, publication_id }) => {
    const key = `${environment}.${publication_id}`;
    const pending_views = this.pending.get(key);
    if (pending_views) pending_views.count++;
    else if (this.pending.size < this.publications_max)
      this.pending.set(key, { environment, publication_id, count: 1, batch: undefined });
    else {
      this.dropped++;
      this.options.onDropped?.();
    }
  };

  /**
   * Appends all counted views. Resolves when every batch was tried once. Never rejects. Concurrent calls share one
   * flush.
   */
  flush(): Promise<void> {
    this.flushing ??= this.flushAll().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  /** Stops the timer and appends all counted views, within `timeout_ms`. */
  async stop(timeout_ms: number): Promise<void> {
    clearInterval(this.timer);
    await withTimeout(this.drain(), timeout_ms, () => undefined);
    const views = this.unsaved;
    if (views > 0)
      this.options.log.warn({ views }, 'views lost at shutdown; they could not be appended in time');
  }

  private async drain(): Promise<void> {
    await this.flushing;
    // The first flush appends the batches that failed before. The second one appends the views that were counted meanwhile.
    await this.flush();
    await this.flush();
  }

  /** Number of views that are counted but not appended. */
  get unsaved(): number {
    let views = 0;
    for (const { count, batch } of this.pending.values()) views += count + (batch?.count ?? 0);
    return views;
  }

  private async flushAll(): Promise<void> {
    const { log } = this.options;
    if (this.dropped > 0)
      log.warn({ views: this.dropped }, 'views dropped; too many publications were viewed in one interval');
    this.dropped = 0;
    // All calls of `appendPending` share one iterator: each takes the next publication.
    const queue = [...this.pending].values();
    const failures: unknown[] = [];
    await Promise.all(Array.from({ length: CONCURRENCY }, () => this.appendPending(queue, failures)));
    if (failures.length > 0)
      log.warn(
        { err: failures[0], publications: failures.length },
        'views could not be appended; retrying in the next interval',
      );
  }

  private async appendPending(queue: Iterable<[string, PendingViews]>, failures: unknown[]): Promise<void> {
    for (const [key, pending_views] of queue) {
      // The event store is unavailable: each further attempt would only wait for its timeout.
      if (failures.some(isOutage)) return;
      try {
        await this.appendBatch(key, pending_views);
      } catch (error) {
        failures.push(error);
      }
    }
  }

  private async appendBatch(key: string, pending_views: PendingViews): Promise<void> {
    const batch = pending_views.batch ?? this.createBatch(pending_views);
    pending_views.batch = { ...batch, retried: true };
    await this.options.append(batch);
    pending_views.batch = undefined;
    if (pending_views.count === 0) this.pending.delete(key);
  }

  private createBatch(pending_views: PendingViews): PageViewBatch {
    const { environment, publication_id, count } = pending_views;
    const { now, random } = this.options.system;
    pending_views.count = 0;
    return { environment, publication_id, count, id: generateId(now(), random), retried: false };
  }
}
