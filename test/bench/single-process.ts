import { statSync } from 'node:fs';
import { join } from 'node:path';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { startBaseline } from './baseline-process';
import { type RequestTemplate, requestsPerSecond } from './load';
import { projectionRates } from './projection';
import { requestsOf } from './requests';
import { type Comparison, compare, printHead } from './rounds';
import { seed } from './seed';
import { startServiceUnderTest } from './service-process';

const PUBLICATIONS = 2_000;
const ROUNDS = 5;
const ROUND_MS = 2_000;

/** Returns a comparison whose two sides run with the same concurrency, for the same time. */
const compareRequests = (
  name: string,
  concurrency: number,
  service: RequestTemplate,
  baseline: RequestTemplate,
): Comparison => ({
  name,
  service: () => requestsPerSecond(service, concurrency, ROUND_MS),
  baseline: () => requestsPerSecond(baseline, concurrency, ROUND_MS),
});

/** Measures the service with embedded stores against Express routes on the same SQLite. */
export async function benchSingleProcess(): Promise<void> {
  await withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const keys = await seed(settings, PUBLICATIONS);
    const service = await startServiceUnderTest('services/boot/main.js', settings);
    const seeded = await keys.tokens(service.url);
    const baseline = await startBaseline('baseline-sqlite.js', [folder, PUBLICATIONS, seeded.body_bytes]);
    const requests = requestsOf(service.url, seeded);
    const pids = { service: service.child.pid!, baseline: baseline.child.pid! };
    printHead('answers per second');
    try {
      for (const one of [
        compareRequests('read by id', 16, requests.byId, requests.baselineById(baseline.url, PUBLICATIONS)),
        compareRequests('listing page of 20', 16, requests.page, requests.baselinePage(baseline.url)),
        compareRequests(
          'write, 64 concurrent, projected',
          64,
          requests.write,
          requests.baselineAppend(baseline.url),
        ),
        compareRequests(
          'write, 64 concurrent, respond-async',
          64,
          requests.writeAsync,
          requests.baselineAppend(baseline.url),
        ),
      ])
        await compare({ ...one, pids }, ROUNDS);
    } finally {
      baseline.child.kill('SIGKILL');
      await service.end('SIGTERM');
      endAll();
    }
    console.log(`log: ${(statSync(join(folder, 'live', 'events.sqlite')).size / 1e6).toFixed(1)} MB`);
    await projectionRates(folder);
  });
}
