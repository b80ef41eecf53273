import type { Realm } from '../../shared/catalog/realm';
import { withMethods } from '../../shared/kernel/with-methods';
import type { AppendResult, EventStore } from '../../shared/ports/event-store';
import type { ServiceMetrics } from './service-metrics';

/** Shows whether the log is the one that the documents were made from (`LogMatch`). */
export interface LogGuard {
  /** Throws if it is not, as far as is known. */
  confirm(): Promise<void>;
}

/**
 * Wraps the log of a realm: records its appends in the metrics. Refuses to append to another log than the one that the
 * documents were made from, and to read its streams: a command would decide on resources that are missing or older there.
 */
export function countedEventStore(
  store: EventStore,
  realm: Realm,
  metrics: ServiceMetrics,
  guard: LogGuard,
): EventStore {
  const append: EventStore['append'] = async (...call) => {
    await guard.confirm();
    const started_ms = performance.now();
    let outcome: AppendResult['outcome'] | 'failed' = 'failed';
    try {
      const result = await store.append(...call);
      outcome = result.outcome;
      return result;
    } finally {
      const [, , events] = call;
      metrics.appendFinished(realm, outcome, events.length, performance.now() - started_ms);
    }
  };
  const readStream: EventStore['readStream'] = async (...call) => {
    await guard.confirm();
    return store.readStream(...call);
  };
  return withMethods(store, { append, readStream });
}
