import type { EncodedEvent, StreamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import type { AppendResult, EventStore } from '../../../shared/ports/event-store';

/** The same call until it is answered, as a caller does who was told that the store is unavailable. */
export async function appendInTheEnd(
  store: EventStore,
  stream: StreamName,
  expected_revision: number,
  events: readonly EncodedEvent[],
): Promise<AppendResult> {
  for (;;) {
    try {
      return await store.append(stream, expected_revision, events);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
    }
  }
}
