import { join } from 'node:path';
import { SqliteEventStore } from '../../../shared/adapters/sqlite/event-store';
import { START } from '../../../shared/catalog/events/envelope';
import { bytesOf, rebuildDocuments } from '../data-folder';
import type { Bench } from '../embedded';

const NAMES = {
  rebuild: 'rebuild',
  memory: 'rebuild, peak memory',
  documents: 'documents on disk',
  log: 'log on disk',
};
const BATCH_SIZE = 1_000;

/** Measures a rebuild of all documents against a bare read of the log. */
export async function measureRebuild({ report, data, options }: Bench): Promise<void> {
  if (!report.wants(NAMES.rebuild, NAMES.memory)) return;
  const started_ms = performance.now();
  const events = await readWholeLog(join(data.path, 'live', 'events.sqlite'));
  const read_per_second = (1_000 * events) / (performance.now() - started_ms);
  const { elapsed_ms, peak_mb, cpu_ms } = await rebuildDocuments(data.path);
  const per_second = (1_000 * events) / elapsed_ms;
  report.add({
    ...{ name: NAMES.rebuild, unit: 'events/s', value: per_second, raw: read_per_second },
    ...{ ratio: per_second / read_per_second, cpu_us: (1_000 * cpu_ms) / events },
    note: `${events} events, ${options.size} publications`,
  });
  report.add({ name: NAMES.memory, unit: 'MB', value: peak_mb });
}

/** Returns the number of events. */
async function readWholeLog(file: string): Promise<number> {
  const log = await SqliteEventStore.open({ file });
  const stop = new AbortController();
  let events = 0;
  for await (const batch of log.subscribe({ after: START, signal: stop.signal, batch_size: BATCH_SIZE })) {
    events += batch.events.length;
    if (batch.caught_up) stop.abort();
  }
  await log.close();
  return events;
}

/** Reports the bytes per publication, as long as the folder has only the catalog. */
export async function measureDisk({ report, data, options }: Bench): Promise<void> {
  if (!report.wants(NAMES.documents, NAMES.log)) return;
  const documents = bytesOf(data.path, /^views/);
  report.add({ name: NAMES.documents, unit: 'bytes each', value: documents / options.size });
  report.add({
    name: NAMES.log,
    unit: 'bytes each',
    value: bytesOf(data.path, /^events\.sqlite$/) / options.size,
  });
}
