import { SpanKind, trace } from '@opentelemetry/api';
import type { EncodedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { parseStreamName } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import { withMethods } from '../../shared/kernel/with-methods';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import type { AppendResult, EventStore } from '../../shared/ports/event-store';
import { inSpan, writeContext } from './spans';

/**
 * Wraps the log of a realm: each append is a span, and its events carry the context of the span in their metadata.
 * `system` is the kind of the database, such as `sqlite`.
 */
export function traceEventStore(store: EventStore, realm: Realm, system: string): EventStore {
  const append = (
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
    beforeSend?: () => Promise<void>,
  ): Promise<AppendResult> => {
    const attributes = {
      'db.system.name': system,
      'db.operation.name': 'append',
      'catalog.realm': realm,
      'catalog.stream.category': parseStreamName(stream)?.category,
      'catalog.event.count': events.length,
    };
    return inSpan('event_store.append', { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const stored = writeContext(span);
      const with_context = events.map((event) => ({ ...event, metadata: { ...event.metadata, ...stored } }));
      const result = await store.append(stream, expected_revision, with_context, beforeSend);
      span.setAttribute('catalog.append.outcome', result.outcome);
      return result;
    });
  };
  return withMethods(store, { append });
}

/** Methods of a view version that read documents. All have the collection as their first argument. */
const READS = [
  'get',
  'getMany',
  'find',
  'count',
  'search',
  'related',
  'matchingWords',
  'countWords',
] as const;

/** Wraps the active version of a realm: each read of documents within a span is a span. */
export function traceView(view: ActiveView, realm: Realm, system: string): ActiveView {
  const traced = new WeakMap<DocumentReader, DocumentReader>();
  const tracedVersion = (version: DocumentReader): DocumentReader => {
    const known = traced.get(version) ?? traceReads(version, realm, system);
    traced.set(version, known);
    return known;
  };
  const current = async (): Promise<DocumentReader | undefined> => {
    const version = await view.current();
    return version && tracedVersion(version);
  };
  return withMethods(view, { current });
}

function traceReads(version: DocumentReader, realm: Realm, system: string): DocumentReader {
  type Read = (collection: string, ...rest: unknown[]) => Promise<unknown>;
  const traced = READS.map((operation) => {
    const read = (version[operation] as Read).bind(version);
    const inReadSpan: Read = (collection, ...rest) => {
      if (trace.getActiveSpan() === undefined) return read(collection, ...rest);
      const attributes = {
        'db.system.name': system,
        'db.namespace': realm,
        'db.collection.name': collection,
        'db.operation.name': operation,
      };
      const options = { kind: SpanKind.CLIENT, attributes };
      return inSpan(`${operation} ${collection}`, options, () => read(collection, ...rest));
    };
    return [operation, inReadSpan] as const;
  });
  const { upToDate } = version;
  return withMethods(version, {
    ...(Object.fromEntries(traced) as Partial<DocumentReader>),
    ...(upToDate && { upToDate: traceReads(upToDate, realm, system) }),
  });
}
