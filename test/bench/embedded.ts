import { statSync } from 'node:fs';
import { join } from 'node:path';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { startBare } from './bare-process';
import { type Load, requestsPerSecond } from './load';
import { startMeasured } from './measured';
import { projectionRates } from './projection';
import { requestsOf } from './requests';
import { type Comparison, compare, printHead } from './rounds';
import { seed } from './seed';

const PUBLICATIONS = 2_000;
const ROUNDS = 5;
const ROUND_MS = 2_000;

/** Both under the same load. */
const pair = (name: string, at_once: number, service: Load, bare: Load): Comparison => ({
  name,
  service: () => requestsPerSecond(service, at_once, ROUND_MS),
  bare: () => requestsPerSecond(bare, at_once, ROUND_MS),
});

/** The service with everything embedded, beside Express routes on the same SQLite. */
export async function benchEmbedded(): Promise<void> {
  await withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const keys = await seed(settings, PUBLICATIONS);
    const service = await startMeasured('services/boot/main.js', settings);
    const seeded = await keys.tokens(service.url);
    const bare = await startBare('bare.js', [folder, PUBLICATIONS, seeded.body_bytes]);
    const ask = requestsOf(service.url, seeded);
    const pids = { service: service.child.pid!, bare: bare.child.pid! };
    printHead('answers per second');
    try {
      for (const one of [
        pair('read by id', 16, ask.byId, ask.bareById(bare.url, PUBLICATIONS)),
        pair('listing page of 20', 16, ask.page, ask.barePage(bare.url)),
        pair('write, 64 at once, projected', 64, ask.write, ask.bareAppend(bare.url)),
        pair('write, 64 at once, respond-async', 64, ask.writeAsync, ask.bareAppend(bare.url)),
      ])
        await compare({ ...one, pids }, ROUNDS);
    } finally {
      bare.child.kill('SIGKILL');
      await service.end('SIGTERM');
      endAll();
    }
    console.log(`log: ${(statSync(join(folder, 'live', 'events.sqlite')).size / 1e6).toFixed(1)} MB`);
    await projectionRates(folder);
  });
}
