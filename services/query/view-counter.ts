import type { Environment } from '../../shared/catalog/realm';
import { withTimeout } from '../../shared/kernel/async';
import { isOutage } from '../../shared/kernel/errors';
import { generateId, type PublicationId } from '../../shared/kernel/ids';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';

export interface Viewed {
  readonly environment: Environment;
  readonly publication_id: PublicationId;
}

/** Called by the reads: cheap, never throws, never waits. */
export type RecordView = (viewed: Viewed) => void;

/** One publication's views of one interval. */
export interface ViewBatch extends Viewed {
  /** A UUID, the same when it is tried again. */
  readonly id: string;
  readonly count: number;
  /** It was tried before, and may have been taken. */
  readonly retried: boolean;
}

export interface ViewCounterOptions {
  /** Takes a batch for good; one that was taken already is taken once. Throws where it cannot. */
  readonly append: (batch: ViewBatch) => Promise<void>;
  readonly interval_ms: number;
  readonly system: System;
  readonly log: Logger;
  /** How many publications are counted at once; the views of others are lost, and that is told. */
  readonly publications_max?: number;
  readonly onDropped?: () => void;
}

interface Entry extends Viewed {
  /** Views since the batch was closed. */
  count: number;
  batch: ViewBatch | undefined;
}

const PUBLICATIONS_MAX = 50_000;
/** So many appends share a commit; more would hold up the reads of this process. */
const CONCURRENCY = 16;

/**
 * Counts views and hands them on, one batch per publication and interval (decisions §5). What cannot be handed on
 * stays counted and is tried again with the next interval; a crash loses what was counted since the last one.
 */
export class ViewCounter {
  private readonly options: ViewCounterOptions;
  private readonly publications_max: number;
  private readonly entries = new Map<string, Entry>();
  private dropped = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;

  constructor(options: ViewCounterOptions) {
    this.options = options;
    this.publications_max = options.publications_max ?? PUBLICATIONS_MAX;
  }

  start(): void {
    this.timer = setInterval(() => void this.flush(), this.options.interval_ms);
    this.timer.unref();
  }

  readonly record: RecordView = ({ environment, publication_id }) => {
    const key = `${environment}.${publication_id}`;
    const entry = this.entries.get(key);
    if (entry) entry.count++;
    else if (this.entries.size < this.publications_max)
      this.entries.set(key, { environment, publication_id, count: 1, batch: undefined });
    else {
      this.dropped++;
      this.options.onDropped?.();
    }
  };

  /** Hands on what is counted; resolves when all was taken or tried. Never throws. One at a time. */
  flush(): Promise<void> {
    this.flushing ??= this.flushAll().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  /** Counts no more on its own and hands on what is there, within `timeout_ms`. */
  async stop(timeout_ms: number): Promise<void> {
    clearInterval(this.timer);
    await withTimeout(this.flushEverything(), timeout_ms, () => undefined);
    const views = this.views;
    if (views > 0) this.options.log.warn({ views }, 'views could not be handed on before the end');
  }

  private async flushEverything(): Promise<void> {
    await this.flushing;
    // Twice: a batch that had failed before goes first, and what was counted since then after it.
    await this.flush();
    await this.flush();
  }

  /** How many are counted and not handed on. */
  get views(): number {
    let views = 0;
    for (const { count, batch } of this.entries.values()) views += count + (batch?.count ?? 0);
    return views;
  }

  private async flushAll(): Promise<void> {
    const { log } = this.options;
    if (this.dropped > 0)
      log.warn({ views: this.dropped }, 'too many publications at once: views were dropped');
    this.dropped = 0;
    // One iterator for all: each takes the next.
    const queue = [...this.entries].values();
    const failures: unknown[] = [];
    await Promise.all(Array.from({ length: CONCURRENCY }, () => this.work(queue, failures)));
    if (failures.length > 0)
      log.warn({ err: failures[0], publications: failures.length }, 'views are kept and handed on later');
  }

  private async work(queue: Iterable<[string, Entry]>, failures: unknown[]): Promise<void> {
    for (const [key, entry] of queue) {
      if (failures.some(isOutage)) return;
      try {
        await this.handOn(key, entry);
      } catch (error) {
        failures.push(error);
      }
    }
  }

  private async handOn(key: string, entry: Entry): Promise<void> {
    const batch = entry.batch ?? this.closeBatch(entry);
    entry.batch = { ...batch, retried: true };
    await this.options.append(batch);
    entry.batch = undefined;
    if (entry.count === 0) this.entries.delete(key);
  }

  private closeBatch(entry: Entry): ViewBatch {
    const { environment, publication_id, count } = entry;
    const { now, random } = this.options.system;
    entry.count = 0;
    return { environment, publication_id, count, id: generateId(now(), random), retried: false };
  }
}
