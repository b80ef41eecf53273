import type { AroundProjection } from '../../projections/engine/worker';
import type { Realm } from '../../shared/catalog/realm';
import type { TraceRequest } from '../../shared/http/pipeline';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import type { JobQueue } from '../../shared/ports/job-queue';
import type { MediaTaskQueue } from '../../shared/ports/media-tasks';

/**
 * Wraps the parts of a process, so that they record spans (docs/operations/tracing.md). `services/boot` applies it when
 * it connects the parts. A process without traces has no `Tracing` and no wrappers, so it pays nothing for them.
 */
export interface Tracing {
  /** Records a span for each request. */
  readonly traceRequest: TraceRequest;
  /** Records a span for each projection of a job. */
  readonly aroundProjection: AroundProjection;
  /** Records a span for each append, and adds its context to the metadata of the events. */
  eventStore(store: EventStore, realm: Realm): EventStore;
  /** Records a span for each read of documents within a request. */
  view(view: ActiveView, realm: Realm): ActiveView;
  /** Records spans for adding and running jobs. */
  jobQueue(queue: JobQueue): JobQueue;
  /** Runs each media task outside of any trace. A queue in memory would run it in that of a request. */
  mediaTasks(queue: MediaTaskQueue): MediaTaskQueue;
  /** `trace_id` and `span_id` of the current span for a log line; empty outside of spans. */
  logFields(): { readonly trace_id?: string; readonly span_id?: string };
  /** Exports what is left, for at most 2 s. Call it after everything else has stopped. Never rejects. */
  stop(): Promise<void>;
}
