import { join } from 'node:path';
import { withTempDir } from '../../support/temp-dir';
import type { AppendRound } from '../appends-process';
import { AskedProcess } from '../asked-process';
import type { Session } from '../embedded';
import type { LoadFigures } from '../load-generator';
import { median, ratios } from '../statistics';

const AT_ONCE = 64;
/** Different bodies, used in turn. */
const BODIES = 1_000;
const NAMES = {
  one: 'writes, one at a time',
  many: 'writes, 64 at once',
  async: 'writes, 64 at once, respond-async',
  gain: 'writes, 64 at once, of one at a time',
};

/** Measures writes over HTTP against appends to a log of the same kind without a service. */
export async function measureWrites(session: Session): Promise<void> {
  const { report, options } = session;
  if (!report.wants(...Object.values(NAMES))) return;
  // On the same disk as the data, so that both wait for the same one.
  await withTempDir(async (folder) => {
    const raw = new AskedProcess('appends-process.js', [join(folder, 'raw.sqlite')]);
    try {
      const one = await compareWithAppends(session, raw, NAMES.one, 1, {});
      const many = await compareWithAppends(session, raw, NAMES.many, AT_ONCE, {});
      await compareWithAppends(session, raw, NAMES.async, AT_ONCE, { Prefer: 'respond-async' });
      report.add({ name: NAMES.gain, unit: 'times', value: many / one });
    } finally {
      raw.end();
    }
  }, options.data);
}

/** Returns writes per second. */
async function compareWithAppends(
  { load, service, secret_token, data, rounds, report }: Session,
  raw: AskedProcess,
  name: string,
  concurrency: number,
  more_headers: Readonly<Record<string, string>>,
): Promise<number> {
  const headers = { Authorization: `Bearer ${secret_token}`, ...more_headers };
  const bodyOf = (n: number): string =>
    JSON.stringify({
      ...{ title: `Written ${n}`, description: 'x'.repeat(200), price_currency: 'USD', price_amount: n },
      store_id: data.catalog.writes.id,
    });
  const requests = Array.from({ length: BODIES }, (_, n) => {
    return { method: 'POST', path: '/api/publication', headers, body: bodyOf(n) } as const;
  });
  const write = await load.plan(service.url, requests, service.pid, service.projections_pid);
  const figures: LoadFigures[] = [];
  const appends: number[] = [];
  const { duration_ms } = rounds;
  for (let n = 0; n <= rounds.count; n++) {
    const written = await write({ concurrency, duration_ms });
    const appended = await raw.ask<number>({ concurrency, duration_ms } satisfies AppendRound);
    if (n === 0) continue;
    figures.push(written);
    appends.push(appended);
  }
  const rates = figures.map(({ per_second }) => per_second);
  report.add({
    name,
    unit: 'per second',
    value: median(rates),
    raw: median(appends),
    ratio: median(ratios(rates, appends)),
    cpu_us: median(figures.map(({ cpu_us }) => cpu_us)),
    p99_ms: median(figures.map(({ p99_ms }) => p99_ms)),
    note: `projection process ${median(figures.map(({ beside_cpu_us }) => beside_cpu_us)).toFixed(0)} µs`,
  });
  return median(rates);
}
