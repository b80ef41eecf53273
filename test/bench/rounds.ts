import { cpuUs } from './cpu';

/** One of the two that are compared: runs for a round and gives how much it got done per second. */
export type Round = () => Promise<number>;

export interface Comparison {
  readonly name: string;
  readonly service: Round;
  readonly bare: Round;
  /** What the ratio is to be at least. */
  readonly target?: number;
  /** Waits, after a round of the service, for what it has left to do: no part of any round. */
  readonly settle?: () => Promise<void>;
  /** The two processes, where what they use of the CPU is told as well. */
  readonly pids?: { readonly service: number; readonly bare: number };
}

const NAME_WIDTH = 44;

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1]!;

export function printRow(name: string, columns: readonly (string | number)[]): void {
  console.log(name.padEnd(NAME_WIDTH) + columns.map((text) => String(text).padStart(10)).join(''));
}

export const printHead = (what: string): void =>
  printRow(what, ['service', 'bare', 'ratio', 'target', 'reached']);

/** The two in turns, a round each, after a round each that does not count; prints medians. */
export async function compare(comparison: Comparison, rounds: number): Promise<void> {
  const { name, service, bare, settle, target, pids } = comparison;
  const rates = { service: [] as number[], bare: [] as number[], ratio: [] as number[] };
  const cpu = { service: [] as number[], bare: [] as number[], ratio: [] as number[] };
  await service();
  await settle?.();
  await bare();
  for (let round = 0; round < rounds; round++) {
    const a = await withCpu(service, pids?.service);
    await settle?.();
    const b = await withCpu(bare, pids?.bare);
    rates.service.push(a.rate);
    rates.bare.push(b.rate);
    rates.ratio.push(a.rate / b.rate);
    cpu.service.push(a.cpu_us);
    cpu.bare.push(b.cpu_us);
    cpu.ratio.push(b.cpu_us / a.cpu_us);
  }
  const ratio = median(rates.ratio);
  const judged = target === undefined ? [] : [target.toFixed(2), ratio >= target ? 'yes' : 'no'];
  printRow(name, [
    median(rates.service).toFixed(0),
    median(rates.bare).toFixed(0),
    ratio.toFixed(2),
    ...judged,
  ]);
  if (!Number.isFinite(median(cpu.ratio))) return;
  const used = [median(cpu.service).toFixed(0), median(cpu.bare).toFixed(0), median(cpu.ratio).toFixed(2)];
  printRow('  µs of CPU for each', used);
}

/** What a round got done per second, and the CPU that the process used for each; NaN where nobody can tell. */
async function withCpu(round: Round, pid: number | undefined): Promise<{ rate: number; cpu_us: number }> {
  const used = (): number => (pid === undefined ? undefined : cpuUs(pid)) ?? Number.NaN;
  const [started_ms, before] = [performance.now(), used()];
  const rate = await round();
  const done = (rate * (performance.now() - started_ms)) / 1000;
  return { rate, cpu_us: (used() - before) / done };
}
