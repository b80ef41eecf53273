import type { EncodedEvent, StreamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import type { AppendResult, EventStore } from '../../../shared/ports/event-store';
import { WAIT_MS_MAX, within } from '../wait-for';

/** Repeats an append until it is answered, as a caller does when the store is unavailable. */
export async function appendInTheEnd(
  store: EventStore,
  stream: StreamName,
  expected_revision: number,
  events: readonly EncodedEvent[],
): Promise<AppendResult> {
  const deadline_ms = Date.now() + WAIT_MS_MAX;
  for (;;) {
    try {
      return await within(store.append(stream, expected_revision, events), 'an append to be answered');
    } catch (error) {
      if (!(error instanceof CatalogError) || Date.now() > deadline_ms) throw error;
    }
  }
}
