/** One of the two that are compared: runs for a round and gives how much it got done per second. */
export type Round = () => Promise<number>;

export interface Comparison {
  readonly name: string;
  readonly service: Round;
  readonly bare: Round;
  /** What the ratio is to be at least. */
  readonly target?: number;
}

const NAME_WIDTH = 40;

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1]!;

export function printRow(name: string, columns: readonly (string | number)[]): void {
  console.log(name.padEnd(NAME_WIDTH) + columns.map((text) => String(text).padStart(10)).join(''));
}

export const printHead = (what: string): void =>
  printRow(what, ['service', 'bare', 'ratio', 'target', 'reached']);

/** The two in turns, a round each, after a round each that does not count; prints medians. */
export async function compare({ name, service, bare, target }: Comparison, rounds: number): Promise<void> {
  const rates = { service: [] as number[], bare: [] as number[], ratio: [] as number[] };
  await service();
  await bare();
  for (let round = 0; round < rounds; round++) {
    const a = await service();
    const b = await bare();
    rates.service.push(a);
    rates.bare.push(b);
    rates.ratio.push(a / b);
  }
  const ratio = median(rates.ratio);
  const judged = target === undefined ? [] : [target.toFixed(2), ratio >= target ? 'yes' : 'no'];
  printRow(name, [
    median(rates.service).toFixed(0),
    median(rates.bare).toFixed(0),
    ratio.toFixed(2),
    ...judged,
  ]);
}
