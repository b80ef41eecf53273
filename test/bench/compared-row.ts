import type { Growth } from './losses';
import { figure, line } from './table';

/** A line of the comparison of two builds. The figures are medians. */
export interface ComparedRow extends Growth {
  readonly name: string;
  readonly unit: string;
  readonly now: number;
  readonly before: number;
  /** Rates of the servers with fixed answers of the same size. */
  readonly express?: number;
  readonly bare?: number;
  /** CPU time of Express for an answer, divided by that of the build. */
  readonly of_express?: { readonly now: number; readonly before: number };
  /** CPU time for an answer, with the process that projects. If there is none, `now` and `before` are compared. */
  readonly cpu_us?: { readonly now: number; readonly before: number };
}

export const comparedHead = (before: string): string =>
  line('', ['this', before, 'express', 'bare', ': express', before, 'CPU µs', before, 'growth']);

/** Returns the row as a line of text. `!` marks a loss. */
export function comparedLine(row: ComparedRow): string {
  const { name, unit, now, before, express, bare, of_express, cpu_us, times, is_loss } = row;
  const figures = [
    now,
    before,
    express,
    bare,
    of_express?.now,
    of_express?.before,
    cpu_us?.now,
    cpu_us?.before,
  ];
  const growth = `${times.toFixed(2)}${is_loss ? '!' : ' '}`;
  return line(`${name} (${unit})`, [...figures.map(figure), growth]);
}
