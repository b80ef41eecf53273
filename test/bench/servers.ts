import { ownNames, SERVER_SETTINGS, serversOfEnvironment } from '../support/own-servers';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { startBaseline } from './baseline-process';
import { BaselineHops } from './hops';
import { LiveProjection } from './live';
import { Load, type PlannedRequest } from './load-generator';
import { requestsOf } from './requests';
import { compare, printHead, printRow, type Round } from './rounds';
import { seed } from './seed';
import { startServiceUnderTest } from './service-process';
import { median } from './statistics';

const PUBLICATIONS = 500;
const PAGE_LENGTH = 20;
const ROUNDS = 5;
const ROUND_MS = 2_000;
const HOP_MS = 1_000;
const BURST = 400;
const ALONE = 40;
/** Requests of one round that sends them one at a time. */
const ONE_BY_ONE = 40;
const ONE_BY_ONE_MS_MAX = 60_000;

/** The lowest acceptable ratio of each rate to its baseline. */
const TARGETS = { by_id: 1.5, page: 2.5, write: 0.5, command_process: 0.8, projection: 0.5 };
/** The longest acceptable time of a write that is sent alone and projected by another process. */
const ACROSS_PROCESSES_MS_MAX = 12;

/** Rates per second of each step, one per round, or durations in µs. */
type Figures = Record<'append' | 'subscription' | 'job' | 'write', number[]>;

const noFigures = (): Figures => ({ append: [], subscription: [], job: [], write: [] });

/**
 * Measures the service on the environment's servers against a baseline on the same servers. Uses names that no other
 * program uses, and removes its data, except the log, which cannot be emptied. Returns the exit code of the process.
 */
export async function benchServers(): Promise<number> {
  const urls = serversOfEnvironment();
  const missing = SERVER_SETTINGS.filter((name) => !urls[name]);
  if (missing.length > 0) {
    console.error(`Nothing to measure. Set ${missing.join(', ')} to the address of a server.`);
    return 2;
  }
  const names = ownNames(urls);
  try {
    await withTempDir((folder) => measure({ ...names.settings, DATA_DIR: folder }));
  } finally {
    endAll();
    await names.dispose();
  }
  return 0;
}

async function measure(settings: Record<string, string>): Promise<void> {
  const keys = await seed(settings, PUBLICATIONS);
  const service = await startServiceUnderTest('services/boot/main.js', settings);
  const seeded = await keys.tokens(service.url);
  // A command process, which only writes. The first process projects its events.
  const command_process = await startServiceUnderTest('services/boot/main.js command', settings);
  const { EVENTSTORE_URL, REDIS_URL, MONGODB_URL, REDIS_PREFIX } = settings;
  const name = REDIS_PREFIX!;
  const servers = { EVENTSTORE_URL: EVENTSTORE_URL!, REDIS_URL: REDIS_URL!, MONGODB_URL: MONGODB_URL!, name };
  const baseline = await startBaseline('baseline-mongo.js', [
    servers.MONGODB_URL,
    `${name}_bare`,
    PUBLICATIONS,
    seeded.body_bytes,
    PAGE_LENGTH,
  ]);
  const baseline_route = await startBaseline('baseline-eventstore.js', [
    servers.EVENTSTORE_URL,
    `${name}.route-`,
  ]);
  const hops = new BaselineHops(servers);
  const live = await LiveProjection.open(settings);
  const requests = requestsOf(seeded);
  const load = new Load();
  const roundOf = async (
    url: string,
    planned: readonly PlannedRequest[],
    concurrency: number,
  ): Promise<Round> => {
    const run = await load.plan(url, planned);
    return async () => (await run({ concurrency, duration_ms: ROUND_MS })).per_second;
  };
  // Projections that are still running would slow down the next round.
  const settle = (): Promise<void> => live.caughtUp(seeded.store_id);
  // The first process is stopped while the command process is measured, because in a cluster the command process has
  // its own cores.
  const undisturbed = (round: Round): Round => {
    return () => {
      service.child.kill('SIGSTOP');
      return round().finally(() => service.child.kill('SIGCONT'));
    };
  };
  const rates = noFigures();
  const slowestHop: Round = async () => {
    const append = await hops.append(HOP_MS);
    const subscription = await hops.subscription();
    const job = await hops.jobs(HOP_MS);
    const write = await hops.write(HOP_MS);
    const round = { append, subscription, job, write };
    for (const hop of Object.keys(rates) as (keyof Figures)[]) rates[hop].push(round[hop]);
    return Math.min(...Object.values(round));
  };
  try {
    printHead('per second');
    const read = {
      service: await roundOf(service.url, requests.byId, 16),
      baseline: await roundOf(baseline.url, requests.baselineById, 16),
    };
    const pids = { service: service.child.pid!, baseline: baseline.child.pid! };
    await compare({ name: 'read by id', ...read, target: TARGETS.by_id, pids }, ROUNDS);
    const page = {
      service: await roundOf(service.url, requests.page, 16),
      baseline: await roundOf(baseline.url, requests.baselinePage, 16),
    };
    await compare({ name: 'listing page of 20', ...page, target: TARGETS.page, pids }, ROUNDS);
    const append = { baseline: () => hops.append(ROUND_MS) };
    const route = {
      baseline: await roundOf(baseline_route.url, requests.baselineAppend, 64),
      target: TARGETS.write,
    };
    // Shows what HTTP costs: the baseline's append behind a route, against the same append without HTTP.
    await compare(
      {
        name: 'baseline append in a route, against without HTTP',
        service: route.baseline,
        baseline: append.baseline,
      },
      ROUNDS,
    );
    const modes = { projected: requests.write, 'respond-async': requests.writeAsync };
    for (const [mode, planned] of Object.entries(modes)) {
      const write = { service: await roundOf(service.url, planned, 64), settle };
      await compare({ name: `write, ${mode}: baseline append in a route`, ...write, ...route }, ROUNDS);
      await compare({ name: `write, ${mode}: baseline append without HTTP`, ...write, ...append }, ROUNDS);
    }
    const command_pids = { service: command_process.child.pid!, baseline: baseline_route.child.pid! };
    const writes = undisturbed(await roundOf(command_process.url, requests.writeAsync, 64));
    const on_command_process = {
      name: 'write, a command process: baseline in a route',
      service: writes,
      settle,
      pids: command_pids,
    };
    await compare({ ...on_command_process, ...route, target: TARGETS.command_process }, ROUNDS);
    const projection = { service: () => live.burst(BURST), baseline: slowestHop, target: TARGETS.projection };
    await compare({ name: 'live projection, slowest baseline hop', ...projection }, ROUNDS);
    await printHops(rates, hops, live);
    await printOneByOne({
      baseline: await load.plan(baseline_route.url, requests.baselineAppend),
      one_process: await load.plan(service.url, requests.write),
      across_processes: await load.plan(command_process.url, requests.write),
    });
  } finally {
    load.end();
    for (const { child } of [baseline, baseline_route]) child.kill('SIGKILL');
    await live.close();
    await hops.close();
    for (const running of [command_process, service]) await running.end('SIGTERM');
  }
}

type Plan = Awaited<ReturnType<Load['plan']>>;

/** Prints the median time of writes that are sent one at a time, in alternating rounds. */
async function printOneByOne(
  plans: Record<'baseline' | 'one_process' | 'across_processes', Plan>,
): Promise<void> {
  const durations = {
    baseline: [] as number[],
    one_process: [] as number[],
    across_processes: [] as number[],
  };
  const one_by_one = { concurrency: 1, duration_ms: ONE_BY_ONE_MS_MAX, responses_max: ONE_BY_ONE };
  for (let round = 0; round < ROUNDS; round++)
    for (const name of Object.keys(durations) as (keyof typeof durations)[])
      durations[name].push((await plans[name](one_by_one)).p50_ms);
  const ms = (name: keyof typeof durations): string => median(durations[name]).toFixed(1);
  console.log();
  printRow('one write at a time, ms', ['service', 'baseline', '', 'at most', 'reached']);
  printRow('write, projected by the same process', [ms('one_process'), ms('baseline')]);
  const is_reached = median(durations.across_processes) <= ACROSS_PROCESSES_MS_MAX;
  const judged = [ACROSS_PROCESSES_MS_MAX, is_reached ? 'yes' : 'no'];
  printRow('write, projected by another process', [ms('across_processes'), ms('baseline'), '', ...judged]);
}

async function printHops(rates: Figures, hops: BaselineHops, live: LiveProjection): Promise<void> {
  const durations = noFigures();
  const ours = { write: [] as number[], project: [] as number[] };
  for (let n = 0; n < ALONE; n++) {
    const round = await hops.alone();
    for (const hop of Object.keys(durations) as (keyof Figures)[]) durations[hop].push(round[hop]);
    const { write_us, project_us } = await live.alone();
    ours.write.push(write_us);
    ours.project.push(project_us);
  }
  console.log();
  printRow('baseline hop', ['per second', 'µs each', 'µs alone']);
  const titles = {
    append: 'append, 64 concurrent',
    subscription: 'subscription, catching up',
    job: 'BullMQ job, empty handler, 8 partitions',
    write: 'findOne and bulkWrite, 8 concurrent',
  };
  for (const [hop, title] of Object.entries(titles) as [keyof Figures, string][]) {
    const rate = median(rates[hop]);
    printRow(title, [rate.toFixed(0), (1e6 / rate).toFixed(0), median(durations[hop]).toFixed(0)]);
  }
  printRow('the service, decide and append', ['', '', median(ours.write).toFixed(0)]);
  printRow('the service, appended to projected', ['', '', median(ours.project).toFixed(0)]);
}
