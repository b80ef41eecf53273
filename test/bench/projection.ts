import { join } from 'node:path';
import Database from 'libsql';
import { pino } from 'pino';
import { rebuild } from '../../projections/maintenance/rebuild';
import { openRuntime } from '../../services/boot/runtime';
import { START } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import { printRow } from './rounds';

/** Number of events per transaction of the baseline. */
const BATCH_SIZE = 2_000;

/** Measures a rebuild against a loop that writes one document per event: events per second of time and of CPU. */
export async function projectionRates(folder: string): Promise<void> {
  const log = pino({ level: 'silent' });
  const runtime = await openRuntime(parseConfig({ DATA_DIR: folder, DEMO: 'off' }), log, realSystem);
  const parts = { realm: 'live' as const, events: runtime.events.live, views: runtime.viewStores.live };
  const baseline = await measure(() =>
    writeEachEvent(runtime.events.live, join(folder, 'baseline-documents.sqlite')),
  );
  const rebuilt = await measure(
    async () => (await rebuild({ ...parts, system: realSystem, log, verify: false })).events,
  );
  await runtime.close();
  const columns = (of: 'wall' | 'cpu'): string[] => [
    rebuilt[of].toFixed(0),
    baseline[of].toFixed(0),
    (rebuilt[of] / baseline[of]).toFixed(2),
  ];
  printRow('rebuild, events per second', columns('wall'));
  printRow('  per second of CPU', columns('cpu'));
}

async function measure(work: () => Promise<number>): Promise<{ wall: number; cpu: number }> {
  const [started_ms, before] = [performance.now(), process.cpuUsage()];
  const events = await work();
  const { user, system } = process.cpuUsage(before);
  return { wall: events / ((performance.now() - started_ms) / 1000), cpu: events / ((user + system) / 1e6) };
}

/** Reads the log and writes the data of each event as a document, without any logic of the catalog. */
async function writeEachEvent(events: EventStore, file: string): Promise<number> {
  const database = new Database(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec('CREATE TABLE documents (id TEXT PRIMARY KEY, rank TEXT, body TEXT)');
  database.exec('CREATE INDEX by_rank ON documents (rank, id)');
  const write = database.prepare('INSERT OR REPLACE INTO documents (id, rank, body) VALUES (?, ?, ?)');
  const stop = new AbortController();
  let count = 0;
  const span = { after: START, signal: stop.signal, batch_size: BATCH_SIZE };
  for await (const batch of events.subscribe(span)) {
    database.exec('BEGIN');
    for (const { stream, metadata, data } of batch.events)
      write.run(stream, metadata.occurred_at, JSON.stringify(data));
    database.exec('COMMIT');
    count += batch.events.length;
    if (batch.caught_up) break;
  }
  stop.abort();
  database.close();
  return count;
}
