/** Returns the value below which the part `q` (0 to 1) of the values lies. NaN if there are none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Returns each value divided by the value of `others` with the same index. */
export const ratios = (values: readonly number[], others: readonly number[]): number[] =>
  values.map((value, index) => value / others[index]!);
