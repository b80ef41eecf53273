import { randomFrom, Zipf } from '../catalog/random';
import { bytesOf } from '../data-folder';
import { type Bench, openSession } from '../embedded';
import { Service } from '../service';

const NAME = 'log growth of reads';
const READS = 1_000_000;
const QUICK_READS = 20_000;
const CONCURRENCY = 16;
const DISTINCT = 50_000;
const HOUR_MS = 3_600_000;
const SEED = 11;

/**
 * Measures how much the log grows by reads with public keys, up to a graceful stop, which appends the last views. Sends a
 * million reads, because fewer views share an event then.
 */
export async function measureLogGrowth(bench: Bench): Promise<void> {
  const { report, data, options, load, products } = bench;
  if (!report.wants(NAME)) return;
  const logBytes = (): number => bytesOf(data.path, /^events\.sqlite$/);
  const service = await Service.start(data.path);
  const { public_tokens } = await openSession(bench, service);
  const before = logBytes();
  const random = randomFrom(SEED);
  const ranks = new Zipf(options.size, 0.9);
  const requests = Array.from({ length: DISTINCT }, (_, n) => ({
    path: `/api/publication/${products.idAt((ranks.draw(random) * 7_919) % options.size)}`,
    headers: { Authorization: `Bearer ${public_tokens[n % public_tokens.length]}` },
  }));
  const read = await load.plan(service.url, requests);
  const reads = options.quick ? QUICK_READS : READS;
  const { elapsed_ms } = await read({ concurrency: CONCURRENCY, duration_ms: HOUR_MS, responses_max: reads });
  await service.stop();
  const mb = (logBytes() - before) / 1e6;
  const note = `${reads} reads in ${(elapsed_ms / 1_000).toFixed(0)} s`;
  report.add({ name: NAME, unit: 'MB per million', value: (mb * 1e6) / reads, note });
}
