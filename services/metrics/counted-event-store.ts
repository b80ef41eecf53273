import type { Realm } from '../../shared/catalog/realm';
import { withMethods } from '../../shared/kernel/with-methods';
import type { AppendResult, EventStore } from '../../shared/ports/event-store';
import type { ServiceMetrics } from './service-metrics';

/** Checks before a call that the log is the one that the documents were made from. Throws if it is another one (`LogMatch`). */
export interface LogGuard {
  run<Result>(call: () => Promise<Result>): Promise<Result>;
  append(event_id: string, call: () => Promise<AppendResult>): Promise<AppendResult>;
}

/**
 * Wraps the log of a realm: records its appends in the metrics. If the documents were made from another log, refuses to
 * append to this log and to read its streams: a command would decide on resources that are missing or older here.
 */
export function countedEventStore(
  store: EventStore,
  realm: Realm,
  metrics: ServiceMetrics,
  guard: LogGuard,
): EventStore {
  const counted: EventStore['append'] = async (stream, expected, events, beforeSend) => {
    const started_ms = performance.now();
    let outcome: AppendResult['outcome'] | 'failed' = 'failed';
    try {
      const result = await store.append(stream, expected, events, beforeSend);
      outcome = result.outcome;
      return result;
    } finally {
      metrics.appendFinished(realm, outcome, events.length, performance.now() - started_ms);
    }
  };
  const append: EventStore['append'] = (stream, expected, events, beforeSend) =>
    guard.append(events.at(-1)?.id ?? '', () => counted(stream, expected, events, beforeSend));
  const readStream: EventStore['readStream'] = (...call) => guard.run(() => store.readStream(...call));
  return withMethods(store, { append, readStream });
}
