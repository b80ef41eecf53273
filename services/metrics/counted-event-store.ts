import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import type {
  AppendResult,
  EventStore,
  LogBatch,
  LogMark,
  StoreHealth,
} from '../../shared/ports/event-store';
import type { SnapshotStore } from '../../shared/ports/snapshot-store';
import type { ServiceMetrics } from './service-metrics';

/** Whether the documents were made from the log (`LogMatch`). If they were not, a write would never be read. */
export interface AppendGuard {
  readonly mismatch: Error | undefined;
  /** When the last check began, in `performance.now()`. */
  readonly checked_at_ms: number;
  recheckForAppend(): Promise<void>;
}

/** How long a check is valid. A log is not replaced faster, because its server must be stopped for that. */
const CHECK_COUNTS_MS = 10_000;
/** How long a check counts that found a mismatch: a server that is not the leader any more may have answered it. */
const MISMATCH_COUNTS_MS = 1_000;

/** Wraps the log of a realm: records its appends in the metrics, and refuses them if `guard` has a mismatch. */
export class CountedEventStore implements EventStore {
  constructor(
    private readonly store: EventStore,
    private readonly realm: Realm,
    private readonly metrics: ServiceMetrics,
    private readonly guard: AppendGuard,
  ) {}

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    const started_ms = performance.now();
    let outcome: AppendResult['outcome'] | 'failed' = 'failed';
    try {
      const counts_ms = this.guard.mismatch ? MISMATCH_COUNTS_MS : CHECK_COUNTS_MS;
      if (performance.now() - this.guard.checked_at_ms > counts_ms) await this.guard.recheckForAppend();
      if (this.guard.mismatch) throw this.guard.mismatch;
      const result = await this.store.append(stream, expected_revision, events);
      outcome = result.outcome;
      return result;
    } finally {
      this.metrics.appendFinished(this.realm, outcome, events.length, performance.now() - started_ms);
    }
  }

  readStream(stream: StreamName, from?: number, count?: number): Promise<RecordedEvent[]> {
    return this.store.readStream(stream, from, count);
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
