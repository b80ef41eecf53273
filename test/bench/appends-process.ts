import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import type { EncodedEvent } from '../../shared/catalog/events/envelope';
import { streamName } from '../../shared/catalog/events/envelope';
import { generateId } from '../../shared/kernel/ids';
import { realSystem, timestamp } from '../../shared/kernel/system';
import { NO_STREAM } from '../../shared/ports/event-store';

export interface AppendRound {
  readonly concurrency: number;
  readonly duration_ms: number;
}

const DATA = { title: 'A product', description: 'x'.repeat(200), price_currency: 'USD', price_amount: 999 };

const newId = (): string => generateId(realSystem.now(), realSystem.random);

function eventOf(id: string): EncodedEvent {
  const occurred_at = timestamp(realSystem.now());
  const metadata = { occurred_at, partition_key: id, source: 'system' } as const;
  return { id: newId(), type: 'Happened', schema_version: 1, data: DATA, metadata };
}

/** Keeps `concurrency` appends running, each to a stream of its own. Returns appends per second. */
async function appendsPerSecond(
  log: SqliteEventStore,
  { concurrency, duration_ms }: AppendRound,
): Promise<number> {
  const started_ms = performance.now();
  let appended = 0;
  const writer = async (): Promise<void> => {
    while (performance.now() - started_ms < duration_ms) {
      const id = newId();
      await log.append(streamName('live', 'publication', id), NO_STREAM, [eventOf(id)]);
      appended++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, writer));
  return (1_000 * appended) / (performance.now() - started_ms);
}

/** Appends to a log without a service: the same adapter and durability. Run as `node appends-process.js FILE`. */
const opened = SqliteEventStore.open({ file: process.argv[2]! });
process.on('message', async (round: AppendRound) => {
  process.send!({ value: await appendsPerSecond(await opened, round) });
});
process.on('disconnect', () => process.exit());
