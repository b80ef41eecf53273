import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { LoadGenerator, LoadPlan, LoadResult, LoadRound } from './load-process';

const SCRIPT = join(__dirname, '..', '..', '..', 'test', 'bench', 'wrk.lua');

/** Whether `wrk` is installed (https://github.com/wg/wrk, Debian package `wrk`). */
export const hasWrk = (): boolean => spawnSync('wrk', ['--version']).error === undefined;

const SIGNAL_AGAIN_MS = 100;

/** Calls `action` now and at intervals. */
function repeat(action: () => void): NodeJS.Timeout {
  action();
  return setInterval(action, SIGNAL_AGAIN_MS);
}

/** Generates load with `wrk`, which sends several times what a server on Node.js can answer. */
export class Wrk implements LoadGenerator {
  private readonly folder = mkdtempSync(join(tmpdir(), 'catalog-bench-wrk-'));
  private readonly plans: { readonly url: string; next: number }[] = [];

  async add({ host, port, requests }: LoadPlan): Promise<number> {
    const plan = this.plans.push({ url: `http://${host}:${port}`, next: 0 }) - 1;
    writeFileSync(this.fileOf(plan), requests.join('\0'));
    return plan;
  }

  async run({ plan, concurrency, duration_ms, responses_max }: LoadRound): Promise<LoadResult> {
    const of_plan = this.plans[plan]!;
    const connections = ['-t1', `-c${concurrency}`, '--timeout', '600s'];
    const limits = responses_max === undefined ? [duration_ms] : [duration_ms, responses_max];
    const script_args = [this.fileOf(plan), of_plan.next, concurrency, ...limits].map(String);
    // The script ends the round. The duration of wrk, in whole seconds, ends earlier with SIGINT.
    const args = [...connections, '-d', '24h', '-s', SCRIPT, of_plan.url, '--', ...script_args];
    const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let [elapsed_ms, last_line, is_running] = [0, '', false];
    let timer: NodeJS.Timeout | undefined;
    for await (const line of createInterface({ input: child.stdout })) {
      last_line = line;
      is_running ||= line.startsWith('Running');
      if (line.startsWith('stopped')) elapsed_ms = Number(line.split('\t')[1]);
      // SIGINT would kill wrk before it runs, and has no effect between its first line and its sleep.
      if (is_running && elapsed_ms > 0) timer ??= repeat(() => child.kill('SIGINT'));
    }
    clearInterval(timer);
    if (!last_line.startsWith('{')) throw new Error(`wrk failed: ${last_line}`);
    const counts = JSON.parse(last_line) as Omit<LoadResult, 'elapsed_ms'>;
    of_plan.next += counts.responses;
    return { ...counts, elapsed_ms };
  }

  private fileOf(plan: number): string {
    return join(this.folder, String(plan));
  }

  end(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
