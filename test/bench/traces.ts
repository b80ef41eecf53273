import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endAll, type RunningProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { Load } from './load-generator';
import { requestsOf } from './requests';
import { compare, printHead, type Round } from './rounds';
import { type Seeded, seed } from './seed';
import { startServiceUnderTest } from './service-process';

const PUBLICATIONS = 500;
const ROUNDS = 5;
const ROUND_MS = 2_000;

/** One process of the service, with its own data, and the requests to it. */
interface Side {
  readonly running: RunningProcess;
  readonly requests: ReturnType<typeof requestsOf>;
}

async function startSide(folder: string, traces: Record<string, string>): Promise<Side> {
  const settings = { DATA_DIR: folder };
  const keys = await seed(settings, PUBLICATIONS);
  const running = await startServiceUnderTest('services/boot/main.js', { ...settings, ...traces });
  const seeded: Seeded = await keys.tokens(running.url);
  return { running, requests: requestsOf(seeded) };
}

/**
 * Measures the service without traces against the same service with traces, in two processes: once with a sampler that
 * records nothing, once with every span exported to a receiver that discards them. Without traces, a request must cost
 * less CPU time than with either.
 */
export async function benchTraces(): Promise<void> {
  const receiver = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const load = new Load();
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
  try {
    for (const [name, settings] of [
      ['sampled never', { ...on, OTEL_TRACES_SAMPLER: 'always_off' }],
      ['exported', on],
    ] as const)
      await withTempDir((off_folder) =>
        withTempDir(async (on_folder) => {
          const off = await startSide(off_folder, { OTEL_SDK_DISABLED: 'true' });
          const traced = await startSide(on_folder, settings);
          printHead(`answers per second, traces off : ${name}`);
          const pids = { service: off.running.child.pid!, baseline: traced.running.child.pid! };
          const rate = async ({ running, requests }: Side, kind: keyof Side['requests']): Promise<Round> => {
            const run = await load.plan(running.url, requests[kind]);
            return async () => (await run({ concurrency: 16, duration_ms: ROUND_MS })).per_second;
          };
          for (const [label, request] of [
            ['read by id', 'byId'],
            ['write, respond-async', 'writeAsync'],
          ] as const) {
            const sides = { service: await rate(off, request), baseline: await rate(traced, request) };
            await compare({ name: label, ...sides, pids }, ROUNDS);
          }
          for (const { running } of [off, traced]) await running.end('SIGTERM');
        }),
      );
  } finally {
    load.end();
    receiver.close();
    receiver.closeAllConnections();
    endAll();
  }
}
