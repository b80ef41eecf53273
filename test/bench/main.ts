import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { type Load, requestsPerSecond } from './load';
import { projectionRates } from './projection';
import { type Seeded, seed } from './seed';

/**
 * `npm run bench`: the service beside bare loops that do only what must be done, on the same machine in the same run,
 * in turns. What counts is the ratio; the absolute figures are this machine's at this moment.
 */
const PUBLICATIONS = 2_000;
const ROUNDS = 5;
const ROUND_MS = 2_000;
const UNLIMITED = '100000000/1000000000/100000000';

interface Pair {
  readonly name: string;
  readonly concurrency: number;
  readonly service: Load;
  readonly bare: Load;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

async function measure({ name, concurrency, service, bare }: Pair): Promise<void> {
  const rates = { service: [] as number[], bare: [] as number[], ratio: [] as number[] };
  await requestsPerSecond(service, concurrency, 500);
  await requestsPerSecond(bare, concurrency, 500);
  for (let round = 0; round < ROUNDS; round++) {
    const a = await requestsPerSecond(service, concurrency, ROUND_MS);
    const b = await requestsPerSecond(bare, concurrency, ROUND_MS);
    rates.service.push(a);
    rates.bare.push(b);
    rates.ratio.push(a / b);
  }
  const columns = [
    median(rates.service).toFixed(0),
    median(rates.bare).toFixed(0),
    median(rates.ratio).toFixed(2),
  ];
  console.log([name.padEnd(34), ...columns.map((text) => text.padStart(10))].join(''));
}

function pairs(url: string, bare_url: string, seeded: Seeded): Pair[] {
  const read = { authorization: `Bearer ${seeded.public_token}` };
  const write = { authorization: `Bearer ${seeded.secret_token}` };
  let next = 0;
  const pick = <T>(items: readonly T[]): T => items[next++ % items.length]!;
  const get = (base: string, headers: Record<string, string>, path: () => string): Load => {
    return { url: base, method: 'GET', headers, path };
  };
  const body = (): string =>
    JSON.stringify({ title: `Bench ${next++}`, price_currency: 'USD', price_amount: 999 });
  const post = (base: string, headers: Record<string, string>, path: string): Load => {
    return { url: base, method: 'POST', headers, path: () => path, body };
  };
  const quick = { ...write, prefer: 'respond-async' };
  return [
    {
      name: 'read by id',
      concurrency: 16,
      service: get(url, read, () => `/api/publication/${pick(seeded.publication_ids)}`),
      bare: get(bare_url, {}, () => `/one/${1 + (next++ % PUBLICATIONS)}`),
    },
    {
      name: 'listing page of 20',
      concurrency: 16,
      service: get(url, read, () => `/api/listing/${pick(seeded.listing_ids)}/publications`),
      bare: get(bare_url, {}, () => '/page'),
    },
    {
      name: 'write, 64 at once, projected',
      concurrency: 64,
      service: post(url, write, '/api/publication'),
      bare: post(bare_url, {}, '/append'),
    },
    {
      name: 'write, 64 at once, respond-async',
      concurrency: 64,
      service: post(url, quick, '/api/publication'),
      bare: post(bare_url, {}, '/append'),
    },
  ];
}

async function startBare(folder: string, body_bytes: number): Promise<{ url: string; child: ChildProcess }> {
  const args = [join(__dirname, 'bare.js'), folder, String(PUBLICATIONS), String(body_bytes)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { url: `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`, child };
}

async function main(): Promise<void> {
  await withTempDir(async (folder) => {
    const keys = await seed(folder, PUBLICATIONS);
    const limits = { RATE_LIMIT_PUBLIC: UNLIMITED, RATE_LIMIT_SECRET: UNLIMITED };
    const service = await startProcess('services/main.js', {
      DATA_DIR: folder,
      LOG_LEVEL: 'info',
      ...limits,
    });
    const seeded = await keys.tokens(service.url);
    const bare = await startBare(folder, seeded.body_bytes);
    console.log(
      `${'answers per second'.padEnd(34)}${['service', 'bare', 'ratio'].map((text) => text.padStart(10)).join('')}`,
    );
    try {
      for (const pair of pairs(service.url, bare.url, seeded)) await measure(pair);
    } finally {
      bare.child.kill('SIGKILL');
      await service.end('SIGTERM');
      endAll();
    }
    console.log(`log: ${(statSync(join(folder, 'live', 'events.sqlite')).size / 1e6).toFixed(1)} MB`);
    await projectionRates(folder);
  });
}

void main();
