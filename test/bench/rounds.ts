import { cpuUs } from './process-usage';
import { median } from './statistics';

/** One side of a comparison. Runs for one round and returns its rate per second. */
export type Round = () => Promise<number>;

export interface Comparison {
  readonly name: string;
  readonly service: Round;
  readonly baseline: Round;
  /** The lowest acceptable ratio. */
  readonly target?: number;
  /** Called after each round of the service. Waits for its remaining work, which counts for no round. */
  readonly settle?: () => Promise<void>;
  /** Process ids, if the CPU time of both is reported as well. */
  readonly pids?: { readonly service: number; readonly baseline: number };
}

const NAME_WIDTH = 44;

export function printRow(name: string, columns: readonly (string | number)[]): void {
  console.log(name.padEnd(NAME_WIDTH) + columns.map((text) => String(text).padStart(10)).join(''));
}

export const printHead = (what: string): void =>
  printRow(what, ['service', 'baseline', 'ratio', 'target', 'reached']);

/** Runs both sides in alternating rounds, after one round each to warm up. Prints medians. */
export async function compare(comparison: Comparison, rounds: number): Promise<void> {
  const { name, service, baseline, settle, target, pids } = comparison;
  const rates = { service: [] as number[], baseline: [] as number[], ratio: [] as number[] };
  const cpu = { service: [] as number[], baseline: [] as number[], ratio: [] as number[] };
  await service();
  await settle?.();
  await baseline();
  for (let round = 0; round < rounds; round++) {
    const a = await withCpu(service, pids?.service);
    await settle?.();
    const b = await withCpu(baseline, pids?.baseline);
    rates.service.push(a.rate);
    rates.baseline.push(b.rate);
    rates.ratio.push(a.rate / b.rate);
    cpu.service.push(a.cpu_us);
    cpu.baseline.push(b.cpu_us);
    cpu.ratio.push(b.cpu_us / a.cpu_us);
  }
  const ratio = median(rates.ratio);
  const judged = target === undefined ? [] : [target.toFixed(2), ratio >= target ? 'yes' : 'no'];
  printRow(name, [
    median(rates.service).toFixed(0),
    median(rates.baseline).toFixed(0),
    ratio.toFixed(2),
    ...judged,
  ]);
  if (!Number.isFinite(median(cpu.ratio))) return;
  const used = [
    median(cpu.service).toFixed(0),
    median(cpu.baseline).toFixed(0),
    median(cpu.ratio).toFixed(2),
  ];
  printRow('  µs of CPU for each', used);
}

/** Runs a round. Returns its rate per second and the CPU time of the process per call, NaN if it is unknown. */
async function withCpu(round: Round, pid: number | undefined): Promise<{ rate: number; cpu_us: number }> {
  const used = (): number => (pid === undefined ? undefined : cpuUs(pid)) ?? Number.NaN;
  const [started_ms, before] = [performance.now(), used()];
  const rate = await round();
  const done = (rate * (performance.now() - started_ms)) / 1000;
  return { rate, cpu_us: (used() - before) / done };
}
