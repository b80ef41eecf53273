import { ownNames, SERVER_SETTINGS, serversOfEnvironment } from '../support/own-servers';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { startBare } from './bare-process';
import { BareHops } from './hops';
import { LiveProjection } from './live';
import { type Load, requestsPerSecond } from './load';
import { startMeasured } from './measured';
import { requestsOf } from './requests';
import { compare, median, printHead, printRow, type Round } from './rounds';
import { seed } from './seed';

const PUBLICATIONS = 500;
const PAGE_LENGTH = 20;
const ROUNDS = 5;
const ROUND_MS = 2_000;
const HOP_MS = 1_000;
const BURST = 400;
const ALONE = 40;

/** What every hop got done per second, round by round, and what it took alone. */
type Figures = Record<'append' | 'subscription' | 'job' | 'write', number[]>;

const noFigures = (): Figures => ({ append: [], subscription: [], job: [], write: [] });

/**
 * The service on the servers that the environment names, beside bare loops on the same servers. What it stores is its
 * own by name, and removed; a log cannot be emptied. Answers the process' exit code.
 */
export async function benchServers(): Promise<number> {
  const urls = serversOfEnvironment();
  const missing = SERVER_SETTINGS.filter((name) => !urls[name]);
  if (missing.length > 0) {
    console.error(`there is nothing to measure: ${missing.join(', ')} must name a server`);
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
  const service = await startMeasured('services/boot/main.js', settings);
  const seeded = await keys.tokens(service.url);
  // Writes alone; what they write the first one projects.
  const apart = await startMeasured('services/boot/main-command.js', settings);
  const { EVENTSTORE_URL, REDIS_URL, MONGODB_URL, REDIS_PREFIX } = settings;
  const name = REDIS_PREFIX!;
  const at = { EVENTSTORE_URL: EVENTSTORE_URL!, REDIS_URL: REDIS_URL!, MONGODB_URL: MONGODB_URL!, name };
  const bare = await startBare('bare-mongo.js', [
    at.MONGODB_URL,
    `${name}_bare`,
    PUBLICATIONS,
    seeded.body_bytes,
    PAGE_LENGTH,
  ]);
  const bareRoute = await startBare('bare-append.js', [at.EVENTSTORE_URL, `${name}.route-`]);
  const hops = new BareHops(at);
  const live = await LiveProjection.open(settings);
  const ask = requestsOf(service.url, seeded);
  const loaded = (load: Load, at_once: number): Round => {
    return () => requestsPerSecond(load, at_once, ROUND_MS);
  };
  // What is still to be projected would take its time from the round after it.
  const settle = (): Promise<void> => live.level(seeded.store_id);
  // Rests while a command process is measured, which in a cluster has cores of its own.
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
    const byId = ask.bareById(bare.url, PUBLICATIONS);
    const read = { name: 'read by id', service: loaded(ask.byId, 16), bare: loaded(byId, 16) };
    const pids = { service: service.child.pid!, bare: bare.child.pid! };
    await compare({ ...read, target: 0.7, pids }, ROUNDS);
    const page = { service: loaded(ask.page, 16), bare: loaded(ask.barePage(bare.url), 16) };
    await compare({ name: 'listing page of 20', ...page, target: 0.7, pids }, ROUNDS);
    const append = { bare: () => hops.append(ROUND_MS), target: 0.6 };
    const route = { bare: loaded(ask.bareAppend(bareRoute.url), 64), target: 0.6 };
    // What HTTP alone leaves of the bare loop: no service behind it can reach more.
    await compare({ name: 'bare append in a route: alone', service: route.bare, bare: append.bare }, ROUNDS);
    const modes = { projected: ask.write, 'respond-async': ask.writeAsync };
    for (const [mode, load] of Object.entries(modes)) {
      const write = { service: loaded(load, 64), settle };
      await compare({ name: `write, ${mode}: bare append in a route`, ...write, ...route }, ROUNDS);
      await compare({ name: `write, ${mode}: bare append alone`, ...write, ...append }, ROUNDS);
    }
    const pidsApart = { service: apart.child.pid!, bare: bareRoute.child.pid! };
    const writes = undisturbed(loaded(requestsOf(apart.url, seeded).writeAsync, 64));
    const inApart = {
      name: 'write, a command process: bare in a route',
      service: writes,
      settle,
      pids: pidsApart,
    };
    await compare({ ...inApart, ...route }, ROUNDS);
    const projection = { service: () => live.burst(BURST), bare: slowestHop, target: 0.5 };
    await compare({ name: 'live projection, slowest bare hop', ...projection }, ROUNDS);
    await printHops(rates, hops, live);
  } finally {
    for (const { child } of [bare, bareRoute]) child.kill('SIGKILL');
    await live.close();
    await hops.close();
    for (const one of [apart, service]) await one.end('SIGTERM');
  }
}

async function printHops(rates: Figures, hops: BareHops, live: LiveProjection): Promise<void> {
  const alone = noFigures();
  const ours = { write: [] as number[], project: [] as number[] };
  for (let n = 0; n < ALONE; n++) {
    const round = await hops.alone();
    for (const hop of Object.keys(alone) as (keyof Figures)[]) alone[hop].push(round[hop]);
    const { write_us, project_us } = await live.alone();
    ours.write.push(write_us);
    ours.project.push(project_us);
  }
  console.log();
  printRow('bare hop', ['per second', 'µs each', 'µs alone']);
  const titles = {
    append: 'append, 64 at once',
    subscription: 'subscription, catching up',
    job: 'BullMQ job, empty handler, 8 lanes',
    write: 'findOne and bulkWrite, 8 at once',
  };
  for (const [hop, title] of Object.entries(titles) as [keyof Figures, string][]) {
    const rate = median(rates[hop]);
    printRow(title, [rate.toFixed(0), (1e6 / rate).toFixed(0), median(alone[hop]).toFixed(0)]);
  }
  printRow('the service, decide and append', ['', '', median(ours.write).toFixed(0)]);
  printRow('the service, appended to projected', ['', '', median(ours.project).toFixed(0)]);
}
