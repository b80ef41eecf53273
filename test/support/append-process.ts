/*
 * Appends to a log, as a process for tests with several processes and with crashes.
 * Arguments: the log's file; a stream, or `-` for a new one per append; the number of appends.
 * Sends its parent `{ready}` and waits for any message. Then sends `{acknowledged}` with the event's id after each
 * append, and `{lost_races}` at the end.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import { type EncodedEvent, type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { NO_STREAM } from '../../shared/ports/event-store';

export type AppendReport =
  | { readonly ready: true }
  | { readonly acknowledged: string }
  | { readonly lost_races: number };

const report = (message: AppendReport): void => void process.send?.(message);

const anEvent = (): EncodedEvent => ({
  id: randomUUID(),
  type: 'something_happened',
  schema_version: 1,
  data: { by: process.pid },
  metadata: { occurred_at: '2026-01-31T12:00:00.000Z', partition_key: 'a-store', source: 'system' },
});

/** Appends one event at the end of the stream, and retries after each lost race. Returns the number of lost races. */
async function appendOne(store: SqliteEventStore, stream: StreamName): Promise<number> {
  const event = anEvent();
  let expected = NO_STREAM;
  for (let lost_races = 0; ; lost_races++) {
    const result = await store.append(stream, expected, [event]);
    if (result.outcome === 'appended') {
      report({ acknowledged: event.id });
      return lost_races;
    }
    expected = result.actual;
  }
}

async function main(file: string, stream: string, appends: number): Promise<void> {
  const store = await SqliteEventStore.open({ file });
  report({ ready: true });
  await once(process, 'message');
  let lost_races = 0;
  if (stream === '-') {
    const streams = Array.from({ length: appends }, () => streamName('live', 'listing', randomUUID()));
    await Promise.all(streams.map((one) => appendOne(store, one)));
  } else {
    for (let n = 0; n < appends; n++) lost_races += await appendOne(store, stream as StreamName);
  }
  report({ lost_races });
  await store.close();
  process.disconnect();
}

if (require.main === module) {
  const [file, stream, appends] = process.argv.slice(2) as [string, string, string];
  void main(file, stream, Number(appends));
}
