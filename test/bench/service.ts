import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningProcess } from '../support/processes';
import { waitFor } from '../support/wait-for';
import type { Catalog } from './catalog/write-log';
import { childPid } from './process-usage';
import { startServiceUnderTest } from './service-process';

const READY_WITHIN_MS = 3_600_000;
const TOKEN_MINUTES = 60;
const MONITOR = join(__dirname, 'loop-monitor.js');

export interface ServiceOptions {
  /** A folder for the CPU profile, which is written when the service stops. */
  readonly profile?: string;
  /** The built tree that the service is started from. Default: this one. */
  readonly root?: string;
  /** Further variables of its environment. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The service under test on a data folder, with tokens of the catalog's keys. */
export class Service {
  private readonly running: RunningProcess;
  private readonly scratch: string;
  /** From the start of the process until it listened, and until it was ready. */
  readonly started: { readonly listening_ms: number; ready_ms: number };

  private constructor(running: RunningProcess, scratch: string, listening_ms: number) {
    this.running = running;
    this.scratch = scratch;
    this.started = { listening_ms, ready_ms: Number.NaN };
  }

  /** Starts the service and waits until it is ready. */
  static async start(folder: string, options?: ServiceOptions): Promise<Service> {
    const service = await Service.listen(folder, options);
    await service.ready();
    return service;
  }

  /** Starts the service and waits until it listens. */
  static async listen(
    folder: string,
    { profile, root, settings: own = {} }: ServiceOptions = {},
  ): Promise<Service> {
    const scratch = mkdtempSync(join(tmpdir(), 'catalog-bench-'));
    const settings = { ...own, DATA_DIR: folder, BENCH_LOOP_FILE: join(scratch, 'loop') };
    const profiled = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
    const started_ms = performance.now();
    const node_arguments = ['-r', MONITOR, ...profiled];
    const running = await startServiceUnderTest('services/boot/main.js', settings, node_arguments, root);
    return new Service(running, scratch, performance.now() - started_ms);
  }

  async ready(): Promise<void> {
    const { started } = this;
    const listened_ms = performance.now();
    await waitFor(async () => (await fetch(`${this.url}/health/ready`)).status === 200, {
      timeout_ms: READY_WITHIN_MS,
      what: 'the service to be ready',
    });
    started.ready_ms = started.listening_ms + performance.now() - listened_ms;
  }

  get url(): string {
    return this.running.url;
  }

  get pid(): number {
    return this.running.child.pid!;
  }

  /** The process that projects. Undefined if it cannot be found. */
  get projections_pid(): number | undefined {
    return childPid(this.pid, 'projections');
  }

  /** Exchanges a key for a token. Waits until the service knows the key. */
  async token(key: string): Promise<string> {
    return waitFor(async () => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      const body = JSON.stringify({ ttl_minutes: TOKEN_MINUTES });
      const reply = await fetch(`${this.url}/auth/token`, { method: 'POST', headers, body });
      return ((await reply.json()) as { data?: { token: string } }).data?.token;
    });
  }

  /** Waits until the list of the main store's publications has all that are public. */
  async caughtUp({ main }: Catalog, token: string, public_count: number): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    const path = `/api/publications?limit=1&store_id=${main.id}`;
    await waitFor(
      async () => {
        const reply = await fetch(this.url + path, { headers });
        return ((await reply.json()) as { meta?: { item_count?: number } }).meta?.item_count === public_count;
      },
      { timeout_ms: READY_WITHIN_MS, what: 'all publications to be projected' },
    );
  }

  /** Runs the work. Returns the longest time in ms for which the event loop of the service was held meanwhile. */
  async loopHeldMs(work: () => Promise<unknown>): Promise<number> {
    const file = join(this.scratch, `loop.${this.pid}`);
    rmSync(file, { force: true });
    this.running.child.kill('SIGUSR2');
    await work();
    this.running.child.kill('SIGUSR2');
    await waitFor(() => existsSync(file) && readFileSync(file, 'utf8') !== '');
    return Number(readFileSync(file, 'utf8'));
  }

  async stop(): Promise<void> {
    await this.running.end('SIGTERM');
    rmSync(this.scratch, { recursive: true, force: true });
  }
}
