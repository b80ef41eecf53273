import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import { CatalogError, isOutage } from '../../shared/kernel/errors';
import type {
  AppendResult,
  EventStore,
  LogBatch,
  LogMark,
  StoreHealth,
} from '../../shared/ports/event-store';
import type { SnapshotStore } from '../../shared/ports/snapshot-store';
import type { ServiceMetrics } from './service-metrics';

/** Shows whether the log is the one that the documents were made from (`LogMatch`). */
export interface LogGuard {
  /** Throws if it is not. Waits for a check if none has shown it over the connection in use. */
  confirm(): Promise<void>;
}

/**
 * Wraps the log of a realm: records its appends in the metrics. Refuses to append to another log than the one that the
 * documents were made from, and to read its streams: a command would decide on resources that are missing or older there.
 */
export class CountedEventStore implements EventStore {
  constructor(
    private readonly store: EventStore,
    private readonly realm: Realm,
    private readonly metrics: ServiceMetrics,
    private readonly guard: LogGuard,
  ) {}

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
    beforeSend?: () => Promise<void>,
  ): Promise<AppendResult> {
    const started_ms = performance.now();
    let outcome: AppendResult['outcome'] | 'failed' = 'failed';
    const confirm = async (): Promise<void> => {
      await this.guard.confirm();
      await beforeSend?.();
    };
    try {
      const result = await this.store.append(stream, expected_revision, events, confirm);
      // The connection may have been lost right before the append was sent.
      await this.guard.confirm().catch((error: unknown) => {
        // The events are stored, so the caller must not be told that nothing was written.
        if (result.outcome !== 'appended' || !isOutage(error)) throw error;
        const { message, retry_after_s = 1 } = error;
        throw new CatalogError('database_timeout', { message, retry_after_s, cause: error });
      });
      outcome = result.outcome;
      return result;
    } finally {
      this.metrics.appendFinished(this.realm, outcome, events.length, performance.now() - started_ms);
    }
  }

  async readStream(stream: StreamName, from?: number, count?: number): Promise<RecordedEvent[]> {
    for (;;) {
      const { connection_number } = this.store;
      const events = await this.store.readStream(stream, from, count);
      await this.guard.confirm();
      if (this.store.connection_number === connection_number) return events;
    }
  }

  get connection_number(): number | undefined {
    return this.store.connection_number;
  }

  subscribe(options: Parameters<EventStore['subscribe']>[0]): AsyncIterable<LogBatch> {
    return this.store.subscribe(options);
  }

  head(max_age_ms?: number): Promise<Position> {
    return this.store.head(max_age_ms);
  }

  markAt(position: Position): Promise<LogMark | undefined> {
    return this.store.markAt(position);
  }

  get snapshots(): SnapshotStore | undefined {
    return this.store.snapshots;
  }

  async health(): Promise<StoreHealth> {
    return this.store.health?.() ?? 'ok';
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
