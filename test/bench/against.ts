import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { AskedProcess } from './asked-process';
import { type Catalog, readCatalog } from './catalog/write-log';
import { type ComparedRow, comparedHead, comparedLine } from './compared-row';
import { countItemsOf } from './embedded';
import { Load, type LoadFigures, type PlannedRequest } from './load-generator';
import type { LoadRound } from './load-process';
import { GROWTH_MAX, type Growth, growthOf } from './losses';
import type { BenchOptions } from './options';
import { type Build, buildOf, catalogOf, THIS_BUILD } from './other-build';
import { CONCURRENCY, fixedUrls, slug } from './parts/reads';
import { cpuUs, memoryMb } from './process-usage';
import { coldReadsOf, PublicProducts, readsOf, storefrontWalk } from './reads';
import { Service } from './service';
import { median } from './statistics';

const STARTS = 4;
/** Many short rounds, so that both builds share what else the machine does. */
const ROUNDS = 20;
/** How often a row is measured at most. */
const REPEATS_MAX = 3;
/** Requests of a round. They are counted, so that a round of a slow machine has the same work. */
const HOT_REQUESTS = 400;
const COLD_REQUESTS_MAX = 50;
const WRITES = 192;
/** Hot reads before the first round, until V8 has optimised what they run. */
const HOT_WARM_UP = 4_000;
/** Writes at once, and their different bodies. */
const WRITERS = 64;
const BODIES = 1_000;
/** Steps of the walk of visitors, and how many a round has. */
const WALK_STEPS = 100_000;
const WALK_WARM_UP = 30_000;
const WALK_REQUESTS = 1_000;
/** The hot reads of the short form. */
const SHORT: ReadonlySet<string> = new Set(['by id', 'page of 20', 'search, two words', 'related']);
/** Longer than any round takes. */
const ROUND_MS_MAX = 600_000;

const SIDES = ['now', 'before'] as const;
type Side = (typeof SIDES)[number];
type Pair<Value> = Record<Side, Value>;

/** Reads or writes that both builds answer alike. */
interface Kind {
  readonly name: string;
  readonly requests: (own: Tokens) => readonly PlannedRequest[];
  readonly concurrency?: number;
  readonly requests_per_round: number;
  /** Requests before the first round. Default: those of a round. */
  readonly warm_up?: number;
}

/** The servers with fixed answers, and the load generator. */
interface Helpers {
  readonly load: Load;
  readonly express: AskedProcess;
  readonly bare: AskedProcess;
}

interface Tokens {
  readonly public: readonly string[];
  readonly secret: string;
}

interface Comparison extends Helpers {
  readonly options: BenchOptions;
  readonly catalog: Catalog;
  readonly products: PublicProducts;
  readonly add: (row: ComparedRow) => void;
}

/**
 * Measures this build against the build of another commit, and both against Express, in alternating rounds. Both have
 * documents that they made from the same log, which the other commit wrote. Returns the exit code: 1 if a figure is a
 * loss.
 */
export async function benchAgainst(options: BenchOptions, ref: string): Promise<number> {
  const other = buildOf(ref, join(options.data, 'builds'));
  const log = catalogOf(other, options.size, `${other.root}-data`);
  const catalog = readCatalog(log, options.size);
  if (!catalog) throw new Error(`${ref} makes another catalog than this commit, so they cannot be compared`);
  const helpers: Helpers = {
    load: new Load(),
    express: new AskedProcess('answers-process.js', ['express']),
    bare: new AskedProcess('answers-process.js', ['bare']),
  };
  const rows: ComparedRow[] = [];
  const add = (row: ComparedRow): void => {
    rows.push(row);
    if (!options.json) console.log(comparedLine(row));
  };
  if (!options.json) console.log(comparedHead(other.name));
  try {
    await withTempDir(async (folder) => {
      const data = { now: join(folder, 'now'), before: join(folder, 'before') };
      for (const side of SIDES) cpSync(log, data[side], { recursive: true });
      const comparison = { ...helpers, options, catalog, products: new PublicProducts(catalog), add };
      await compareBuilds(comparison, { now: THIS_BUILD, before: other }, data);
    }, options.data);
  } finally {
    for (const helper of Object.values(helpers)) helper.end();
    endAll();
  }
  const lost = rows.filter(({ is_loss }) => is_loss).map(({ name }) => name);
  if (options.json)
    console.log(JSON.stringify({ against: other.name, node: process.version, rows }, null, 2));
  else if (lost.length > 0) console.log(`\nMore than 10 % dearer (!): ${lost.join('; ')}`);
  return lost.length > 0 ? 1 : 0;
}

async function compareBuilds(bench: Comparison, builds: Pair<Build>, data: Pair<string>): Promise<void> {
  await project(bench, builds, data);
  const services = await compareStarts(bench, builds, data);
  const tokens = {
    now: await signIn(bench, services.now),
    before: await signIn(bench, services.before),
  };
  for (const kind of await kindsOf(bench, services.now, tokens.now))
    await compareAnswers(bench, services, tokens, kind);
  const memory = { now: [total(services.now, mbOf)], before: [total(services.before, mbOf)] };
  bench.add({ name: 'memory at the end', unit: 'MB', ...comparedCosts(memory) });
  for (const side of SIDES) await services[side].stop();
}

/** Lets both builds make their documents. */
async function project(bench: Comparison, builds: Pair<Build>, data: Pair<string>): Promise<void> {
  await Promise.all(
    SIDES.map(async (side) => {
      const service = await Service.start(data[side], builds[side]);
      await signIn(bench, service);
      await service.stop();
    }),
  );
}

/** Exchanges the keys of the main store for tokens, and waits until the whole catalog can be read. */
async function signIn({ catalog, products }: Comparison, service: Service): Promise<Tokens> {
  const public_tokens: string[] = [];
  for (const key of catalog.public_keys) public_tokens.push(await service.token(key));
  await service.caughtUp(catalog, public_tokens[0]!, products.count());
  return { public: public_tokens, secret: await service.token(catalog.secret_key) };
}

/** Compares the starts of both builds with their documents. Returns the services that were started last. */
async function compareStarts(
  { add }: Comparison,
  builds: Pair<Build>,
  data: Pair<string>,
): Promise<Pair<Service>> {
  const [ready_ms, cpu_ms, memory_mb] = [noFigures(), noFigures(), noFigures()];
  const services: Partial<Pair<Service>> = {};
  const measure = async (): Promise<void> => {
    for (let n = 0; n < STARTS; n++)
      for (const side of inTurn(n)) {
        await services[side]?.stop();
        const service = await Service.start(data[side], builds[side]);
        services[side] = service;
        ready_ms[side].push(service.started.ready_ms);
        cpu_ms[side].push(total(service, cpuUs) / 1_000);
        memory_mb[side].push(total(service, mbOf));
      }
  };
  await measureUntilClear(measure, () =>
    [ready_ms, cpu_ms, memory_mb].map((costs) => growthOf(costs.now, costs.before)),
  );
  add({ name: 'start', unit: 'ms', ...comparedCosts(ready_ms) });
  add({ name: 'start', unit: 'ms of CPU', ...comparedCosts(cpu_ms) });
  add({ name: 'memory after start', unit: 'MB', ...comparedCosts(memory_mb) });
  return services as Pair<Service>;
}

/** Returns the rows to compare. Hot reads come first: V8 then has optimised the code that cold reads run, too. */
async function kindsOf(bench: Comparison, service: Service, tokens: Tokens): Promise<Kind[]> {
  const { options, catalog, products } = bench;
  const readsAs = (paths: readonly string[]) => (own: Tokens) => {
    return paths.map((path) => ({ path, headers: authorization(own.public[0]!) }));
  };
  const hot_reads = (await readsOf(catalog, products, countItemsOf(service, tokens.public[0]!))).filter(
    ({ name, is_conditional }) => !is_conditional && (!options.short || SHORT.has(name)),
  );
  const hot = hot_reads.map(({ name, paths }): Kind => {
    return {
      name,
      requests: readsAs(paths),
      requests_per_round: HOT_REQUESTS,
      warm_up: HOT_WARM_UP,
    };
  });
  const hot_paths = new Set(hot_reads.flatMap(({ paths }) => paths));
  const cold = coldReadsOf(catalog, products).map(({ name, paths }): Kind => {
    const new_paths = paths.filter((path) => !hot_paths.has(path));
    const enough = Math.floor(new_paths.length / (1 + ROUNDS * REPEATS_MAX));
    return { name, requests: readsAs(new_paths), requests_per_round: Math.min(enough, COLD_REQUESTS_MAX) };
  });
  const walk: Kind = {
    name: 'storefront walk',
    requests: (own) =>
      storefrontWalk(catalog, products, WALK_STEPS).map(({ path }, n) => {
        return { path, headers: authorization(own.public[n % own.public.length]!) };
      }),
    requests_per_round: WALK_REQUESTS,
    warm_up: WALK_WARM_UP,
  };
  const bodies = Array.from({ length: BODIES }, (_, n) =>
    JSON.stringify({
      ...{ title: `Written ${n}`, description: 'x'.repeat(200), price_currency: 'USD', price_amount: n },
      store_id: catalog.writes.id,
    }),
  );
  const writes: Kind = {
    name: 'writes, 64 at once',
    requests: (own) =>
      bodies.map((body) => {
        return { method: 'POST', path: '/api/publication', headers: authorization(own.secret), body };
      }),
    concurrency: WRITERS,
    requests_per_round: WRITES,
  };
  const kinds = [...hot, ...cold, ...(options.short ? [] : [walk]), writes];
  return kinds.filter(({ name }) => options.only === undefined || name.toLowerCase().includes(options.only));
}

/** Compares the CPU time of both builds for an answer. Express sends a fixed text of the size of one of the answers. */
async function compareAnswers(
  bench: Comparison,
  services: Pair<Service>,
  tokens: Pair<Tokens>,
  kind: Kind,
): Promise<void> {
  const { load, express, bare, add } = bench;
  const { name, concurrency = CONCURRENCY, requests_per_round, warm_up = requests_per_round } = kind;
  const round: RoundOf = { concurrency, duration_ms: ROUND_MS_MAX, responses_max: requests_per_round };
  const fixed_round: RoundOf = { ...round, responses_max: HOT_REQUESTS };
  const requests = { now: kind.requests(tokens.now), before: kind.requests(tokens.before) };
  const planOf = ({ url, pid, projections_pid }: Service, side: Side) =>
    load.plan(url, requests[side], pid, projections_pid);
  const plans = {
    now: await planOf(services.now, 'now'),
    before: await planOf(services.before, 'before'),
  };
  const text = await answerOf(services.now, requests.now.at(-1)!);
  const urls = await fixedUrls(bench, { name: slug(name), text });
  const fixed = [{ ...requests.now[0]!, path: `/${slug(name)}` }];
  const expressRound = await load.plan(urls.express, fixed, express.pid);
  const bareRound = await load.plan(urls.bare, fixed, bare.pid);

  const figures: Record<Side | 'express', LoadFigures[]> = { now: [], before: [], express: [] };
  const measure = async (): Promise<void> => {
    for (let n = 0; n < ROUNDS; n++) {
      for (const side of inTurn(n)) figures[side].push(await plans[side](round));
      figures.express.push(await expressRound(fixed_round));
    }
  };
  const growth = (): Growth => growthOf(figures.now.map(cpuOf), figures.before.map(cpuOf));
  for (const side of SIDES) await plans[side]({ ...round, responses_max: warm_up });
  await expressRound(fixed_round);
  await measureUntilClear(measure, () => [growth()]);

  const rate = (of: keyof typeof figures): number => median(figures[of].map(({ per_second }) => per_second));
  const cpu = (of: keyof typeof figures): number => median(figures[of].map(cpuOf));
  add({
    ...{ name, unit: 'per second', now: rate('now'), before: rate('before'), express: rate('express') },
    bare: (await bareRound(fixed_round)).per_second,
    of_express: { now: cpu('express') / cpu('now'), before: cpu('express') / cpu('before') },
    cpu_us: { now: cpu('now'), before: cpu('before') },
    ...growth(),
  });
}

/**
 * Measures once if nothing looks dearer. Otherwise measures a second time, and a third time while it is still not clear
 * whether what looks dearer is a loss.
 */
async function measureUntilClear(
  measure: () => Promise<void>,
  growths: () => readonly Growth[],
): Promise<void> {
  await measure();
  for (let times = 1; times < REPEATS_MAX; times++) {
    const dearer = growths().filter((growth) => growth.times > GROWTH_MAX);
    if (dearer.length === 0 || (times > 1 && dearer.every(({ is_loss }) => is_loss))) return;
    await measure();
  }
}

type RoundOf = Omit<LoadRound, 'plan'>;

/** CPU time for an answer, with that of the process that projects. */
const cpuOf = ({ cpu_us, beside_cpu_us }: LoadFigures): number => cpu_us + (beside_cpu_us || 0);

const authorization = (token: string) => ({ Authorization: `Bearer ${token}` });

const mbOf = (pid: number): number | undefined => memoryMb(pid)?.now;

const noFigures = (): Pair<number[]> => ({ now: [], before: [] });

/** Returns both sides. Each comes first in every other round. */
const inTurn = (round: number): readonly Side[] => (round % 2 === 0 ? SIDES : SIDES.toReversed());

function comparedCosts({ now, before }: Pair<number[]>): Growth & Pair<number> {
  return { now: median(now), before: median(before), ...growthOf(now, before) };
}

/** Returns what the service and its projection process use together. */
function total(service: Service, used: (pid: number) => number | undefined): number {
  const { pid, projections_pid } = service;
  return (used(pid) ?? Number.NaN) + ((projections_pid && used(projections_pid)) || 0);
}

async function answerOf(
  { url }: Service,
  { method = 'GET', path, headers, body }: PlannedRequest,
): Promise<string> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const reply = await fetch(url + path, { method, headers: { ...headers, ...json }, body: body ?? null });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path} returned ${reply.status}: ${text}`);
  return text;
}
