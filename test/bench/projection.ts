import { pino } from 'pino';
import { rebuild } from '../../projections/rebuild';
import { openRuntime } from '../../services/runtime';
import { START } from '../../shared/contracts/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';

/** Events per second of a rebuild, beside bare reading of the same log. */
export async function projectionRates(folder: string): Promise<void> {
  const log = pino({ level: 'silent' });
  const runtime = await openRuntime(parseConfig({ DATA_DIR: folder, DEMO: 'off' }), log, realSystem);
  const parts = { realm: 'live' as const, events: runtime.events.live, views: runtime.viewStores.live };
  const read = await readRate(runtime.events.live);
  const result = await rebuild({ ...parts, system: realSystem, log, verify: false });
  const projected = result.events / (result.duration_ms / 1000);
  await runtime.close();
  const columns = [projected.toFixed(0), read.toFixed(0), (projected / read).toFixed(2)];
  console.log(
    ['rebuild, events per second'.padEnd(34), ...columns.map((text) => text.padStart(10))].join(''),
  );
}

async function readRate(events: EventStore): Promise<number> {
  const started = performance.now();
  const stop = new AbortController();
  let count = 0;
  for await (const batch of events.subscribe({ after: START, signal: stop.signal })) {
    count += batch.events.length;
    if (batch.caught_up) break;
  }
  stop.abort();
  return count / ((performance.now() - started) / 1000);
}
