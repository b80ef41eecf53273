import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endAll } from '../support/processes';
import { AskedProcess } from './asked-process';
import { type DataFolder, openData } from './data-folder';
import { type CpuProfile, flameGraph, foldedStacks } from './flame-graph';
import { Load } from './load-generator';
import { type BenchOptions, folderName } from './options';
import { measureBulk } from './parts/bulk';
import { measureChannels } from './parts/channels';
import { measureDearRequests } from './parts/dear-requests';
import { measureCatchUp, measureMaintenance } from './parts/holds';
import { measureImport } from './parts/import';
import { measureLive, measureReadable } from './parts/live-projection';
import { measureLogGrowth } from './parts/log-growth';
import { measureReads, measureTokens, measureWalk } from './parts/reads';
import { measureDisk, measureRebuild } from './parts/rebuild';
import { measureStart } from './parts/start';
import { measureWrites } from './parts/writes';
import { type CountItems, PublicProducts } from './reads';
import { Report } from './report';
import { Service } from './service';

/** How long and how often each side is measured. */
export interface Rounds {
  readonly count: number;
  readonly duration_ms: number;
}

/** What the parts of the benchmark measure with. */
export interface Bench {
  readonly options: BenchOptions;
  readonly report: Report;
  readonly rounds: Rounds;
  readonly data: DataFolder;
  readonly products: PublicProducts;
  readonly load: Load;
  /** Fixed answers by Express and by bare `node:http`. */
  readonly express: AskedProcess;
  readonly bare: AskedProcess;
}

/** A bench whose service runs, with tokens of the main store's keys. */
export interface Session extends Bench {
  readonly service: Service;
  readonly public_tokens: readonly string[];
  readonly secret_token: string;
  readonly countItems: CountItems;
}

const ROUNDS: Rounds = { count: 5, duration_ms: 1_500 };
const QUICK_ROUNDS: Rounds = { count: 3, duration_ms: 400 };

/** Measures the service with embedded stores. Prints a row for each figure as soon as it is known. */
export async function benchEmbedded(options: BenchOptions): Promise<void> {
  const data = await openData(options.data, options.size);
  const bench: Bench = {
    options,
    report: new Report(options),
    rounds: options.quick ? QUICK_ROUNDS : ROUNDS,
    data,
    products: new PublicProducts(data.catalog),
    load: new Load(),
    express: new AskedProcess('answers-process.js', ['express']),
    bare: new AskedProcess('answers-process.js', ['bare']),
  };
  try {
    await measureDisk(bench);
    await measureStart(bench);
    await withService(bench, async (session) => {
      await measureReads(session);
      await measureWalk(session);
      await measureTokens(session);
      await measureDearRequests(session);
      await measureChannels(session);
      await measureWrites(session);
      await measureBulk(session);
      await measureReadable(session);
      await measureLive(session);
      await measureImport(session);
      await measureMaintenance(session);
    });
    await measureCatchUp(bench);
    await measureLogGrowth(bench);
    await measureImport(bench);
    await measureRebuild(bench);
  } finally {
    for (const helper of [bench.load, bench.express, bench.bare]) helper.end();
    endAll();
  }
  bench.report.finish();
}

/** Runs the work with a service on the kept data, then stops the service. With `--profile`, profiles the service. */
async function withService(bench: Bench, work: (session: Session) => Promise<void>): Promise<void> {
  const { data, options } = bench;
  const folder = join(options.data, 'profiles', `${folderName(options.size)}-${Date.now()}`);
  if (options.profile) mkdirSync(folder, { recursive: true });
  const service = await Service.start(data.path, {
    // A shop for agents and feeds. The profile of the service stands for that of a platform.
    settings: { SHOP_KEY: data.catalog.public_keys[0]!, WEBHOOKS: 'private' },
    ...(options.profile && { profile: folder }),
  });
  await work(await openSession(bench, service));
  await service.stop();
  if (options.profile) writeFlameGraphs(folder);
}

/** Returns the session of a service that has projected the whole catalog. */
export async function openSession(bench: Bench, service: Service): Promise<Session> {
  const { catalog } = bench.data;
  const public_tokens: string[] = [];
  for (const key of catalog.public_keys) public_tokens.push(await service.token(key));
  const secret_token = await service.token(catalog.secret_key);
  await service.caughtUp(catalog, public_tokens[0]!, bench.products.count());
  const countItems = countItemsOf(service, public_tokens[0]!);
  return { ...bench, service, public_tokens, secret_token, countItems };
}

export function countItemsOf({ url }: Service, token: string): CountItems {
  return async (path) => {
    const headers = { authorization: `Bearer ${token}` };
    const reply = (await (await fetch(url + path, { headers })).json()) as {
      meta?: { item_count?: number; pagination?: { total?: number } };
    };
    return reply.meta?.item_count ?? reply.meta?.pagination?.total ?? 0;
  };
}

/** Writes a picture and the folded stacks next to each CPU profile of the folder. */
function writeFlameGraphs(folder: string): void {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile;
    const base = join(folder, name.replace(/\.cpuprofile$/, ''));
    writeFileSync(`${base}.folded`, foldedStacks(profile));
    writeFileSync(`${base}.svg`, flameGraph(profile));
    console.error(`flame graph: ${base}.svg`);
  }
}
