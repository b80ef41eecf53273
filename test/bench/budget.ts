import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endAll } from '../support/processes';
import { stagesOf } from './budget-stages';
import { openData } from './data-folder';
import type { CpuProfile } from './flame-graph';
import { Load } from './load-generator';
import type { BenchOptions } from './options';
import { CONCURRENCY } from './parts/reads';
import { cpuUs, mainThreadUs } from './process-usage';
import { coldReadsOf, PublicProducts } from './reads';
import { Service } from './service';
import { figure, line } from './table';

const HOT_PATHS = 200;
const HOT_REQUESTS = 30_000;
const COLD_REQUESTS = 3_000;
/** Requests before the measurement. */
const WARM_UP = { hot: 10_000, cold: 1_000 };
/** Longer than any round takes. */
const ROUND_MS_MAX = 600_000;

/** One kind of read: when its requests were sent, and what they cost. */
interface Measured {
  readonly from_us: number;
  readonly to_us: number;
  /** CPU time for a read: of the thread that serves HTTP, and of the others. */
  readonly main_us: number;
  readonly others_us: number;
}

/** Prints what a hot and a cold read of one publication cost, by stage (docs/performance.md#the-budget-of-a-read). */
export async function benchBudget(options: BenchOptions): Promise<void> {
  const { path, catalog } = await openData(options.data, options.size);
  const profile = mkdtempSync(join(tmpdir(), 'catalog-bench-profile-'));
  const load = new Load();
  try {
    const service = await Service.start(path, { profile });
    const token = await service.token(catalog.public_keys[0]!);
    const products = new PublicProducts(catalog);
    await service.caughtUp(catalog, token, products.count());
    const headers = { Authorization: `Bearer ${token}` };
    const { paths } = coldReadsOf(catalog, products)[0]!;
    const measure = async (
      requested: readonly string[],
      warm_up: number,
      count: number,
    ): Promise<Measured> => {
      const requests = requested.map((one) => ({ path: one, headers }));
      const run = await load.plan(service.url, requests);
      const round = (responses_max: number) =>
        run({ concurrency: CONCURRENCY, duration_ms: ROUND_MS_MAX, responses_max });
      await round(warm_up);
      const used = () => ({ all: cpuUs(service.pid)!, main: mainThreadUs(service.pid)!, at_us: nowUs() });
      const before = used();
      const { responses } = await round(count);
      const after = used();
      const main_us = (after.main - before.main) / responses;
      const others_us = (after.all - before.all) / responses - main_us;
      return { from_us: before.at_us, to_us: after.at_us, main_us, others_us };
    };
    const cold = await measure(paths, WARM_UP.cold, COLD_REQUESTS);
    const hot = await measure(paths.slice(0, HOT_PATHS), WARM_UP.hot, HOT_REQUESTS);
    const { pid } = service;
    await service.stop();
    printBudget(mainProfile(profile, pid), hot, cold);
  } finally {
    rmSync(profile, { recursive: true, force: true });
    load.end();
    endAll();
  }
}

/** Returns the clock of CPU profiles. */
const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n);

/** Returns the profile of the thread that serves HTTP. Node names the files `CPU.<date>.<time>.<pid>.<thread>.<number>`. */
function mainProfile(folder: string, pid: number): CpuProfile {
  const file = readdirSync(folder).find((name) => name.includes(`.${pid}.0.`))!;
  return JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
}

function printBudget(profile: CpuProfile, hot: Measured, cold: Measured): void {
  const us = ({ from_us, to_us, main_us, others_us }: Measured): Map<string, number> => {
    const shares = stagesOf(profile, from_us, to_us);
    const of_main = [...shares].map(([stage, share]): [string, number] => [stage, share * main_us]);
    return new Map([...of_main, ['other threads', others_us]]);
  };
  const [of_hot, of_cold] = [us(hot), us(cold)];
  console.log(line('CPU µs of a read by id', ['hot', 'cold']));
  for (const stage of of_hot.keys())
    console.log(
      line(
        stage,
        [of_hot, of_cold].map((one) => figure(one.get(stage))),
      ),
    );
  console.log(
    line(
      'all',
      [hot, cold].map(({ main_us, others_us }) => figure(main_us + others_us)),
    ),
  );
}
