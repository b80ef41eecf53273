import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTempDir } from '../../support/temp-dir';
import { ListingPicker, productAt } from '../catalog/product';
import { runCommand } from '../command';
import type { Bench, Session } from '../embedded';

const ROWS_MAX = 100_000;
const QUICK_ROWS = 2_000;

/**
 * Measures an import of new rows until all are in the log, and until all can be read: into the service's data while it runs, or without a service.
 */
export async function measureImport(bench: Bench | Session): Promise<void> {
  const { report, data, options } = bench;
  const service = 'service' in bench ? bench.service : undefined;
  const name = service ? 'import, server running' : 'import, no server';
  const readable = service ? 'import, readable, server running' : 'import, readable, no server';
  const held = 'loop held, import';
  const memory = service ? 'import, peak memory, server running' : 'import, peak memory';
  if (!report.wants(name, readable, memory, ...(service ? [held] : []))) return;
  const rows = options.quick ? QUICK_ROWS : Math.max(10_000, Math.min(options.size, ROWS_MAX));
  await withTempDir(async (folder) => {
    const file = join(folder, 'rows.jsonl');
    writeFileSync(file, rowsOf(rows));
    const flags = ['--format', 'jsonl', '--store', data.catalog.writes.id, '--images', 'skip', '--json'];
    let used = { elapsed_ms: 0, printed_ms: 0, peak_mb: 0 };
    const work = async (): Promise<void> => {
      used = await runCommand(['import', file, ...flags], { DATA_DIR: data.path });
    };
    if (service) report.add({ name: held, unit: 'ms', value: await service.loopHeldMs(work) });
    else await work();
    report.add({ name, unit: 'rows/s', value: (1_000 * rows) / used.printed_ms, note: `${rows} rows` });
    report.add({ name: readable, unit: 'rows/s', value: (1_000 * rows) / used.elapsed_ms });
    report.add({ name: memory, unit: 'MB', value: used.peak_mb });
  });
}

/** Returns a file of rows that no earlier import has had. */
function rowsOf(count: number): string {
  const run = Date.now().toString(36);
  const listings = new ListingPicker([null] as never);
  const lines = Array.from({ length: count }, (_, index) => {
    const { listing_id: _listing_id, ...fields } = productAt(1, index, listings);
    return JSON.stringify({ external_id: `${run}-${index}`, ...fields, listing: `Imported ${index % 20}` });
  });
  return lines.join('\n');
}
