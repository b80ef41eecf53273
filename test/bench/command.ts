import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { environmentWithoutServers } from '../support/own-servers';
import { cpuUs, memoryMb } from './process-usage';

const CLI = join(__dirname, '..', '..', 'services', 'cli', 'main.js');
const SAMPLE_MS = 50;

/** What a command has used. CPU time and memory as last seen, at most 50 ms before its end. */
export interface CommandUse {
  readonly elapsed_ms: number;
  readonly cpu_ms: number;
  readonly peak_mb: number;
  /** From the start of the command until it began to print. */
  readonly printed_ms: number;
  readonly output: string;
}

/** Runs a command of `catalog` to its end. Rejects if it fails. */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CommandUse> {
  const env = { ...environmentWithoutServers(), DEMO: 'off', ...environment };
  const started_ms = performance.now();
  const child = spawn(process.execPath, [CLI, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, errors] = ['', ''];
  let printed_ms = Number.NaN;
  child.stdout.on('data', (chunk) => {
    if (output === '') printed_ms = performance.now() - started_ms;
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  let [cpu_us, peak_mb] = [0, 0];
  const timer = setInterval(() => {
    cpu_us = Math.max(cpu_us, cpuUs(child.pid!) ?? 0);
    peak_mb = Math.max(peak_mb, memoryMb(child.pid!)?.peak ?? 0);
  }, SAMPLE_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(timer);
  if (code !== 0) throw new Error(`catalog ${args.join(' ')} failed: ${errors || output}`);
  return { elapsed_ms: performance.now() - started_ms, cpu_ms: cpu_us / 1_000, peak_mb, printed_ms, output };
}
