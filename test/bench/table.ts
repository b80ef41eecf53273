import { isMet, SLOWDOWN_MAX, TARGETS, type Target } from './targets';

/** One line of the report. All rates are medians over the rounds. */
export interface Row {
  readonly name: string;
  readonly unit: string;
  /** The service's figure. */
  readonly value: number;
  /** The same figure of Express with fixed bytes, of bare `node:http`, or of raw work without the service. */
  readonly express?: number;
  readonly bare?: number;
  readonly raw?: number;
  /** The service against Express, or against raw work. */
  readonly ratio?: number;
  /** CPU time of the service's process per answer. */
  readonly cpu_us?: number;
  readonly p99_ms?: number;
  /** How many times higher the ratio was with 1,000 publications. */
  readonly slowdown?: number;
  readonly note?: string;
}

/** A row with its target. */
export interface JudgedRow extends Row {
  readonly target?: Target;
  readonly met?: boolean;
}

/** Adds the row's target and whether it is met, and for larger sizes the slow-down against 1,000 publications. */
export function judge(row: Row, size: number, of_1000?: readonly Row[]): JudgedRow {
  const small = size > 1_000 ? of_1000?.find(({ name }) => name === row.name) : undefined;
  const is_read = row.express !== undefined && row.bare !== undefined;
  const slowdown = is_read && small?.ratio && row.ratio ? small.ratio / row.ratio : undefined;
  const with_slowdown = slowdown === undefined ? row : { ...row, slowdown };
  const target = TARGETS[row.name];
  if (target === undefined || (target.only_million && size < 1_000_000)) return with_slowdown;
  return {
    ...with_slowdown,
    target,
    met: isMet(target, (target.of === 'ratio' ? row.ratio : row.value) ?? Number.NaN),
  };
}

const NAME_WIDTH = 38;
const COLUMNS = ['value', 'express', 'bare', 'raw', 'ratio', 'CPU µs', 'p99 ms', 'target', 'met', '1k:this'];
const COLUMN_WIDTH = 10;

/** Returns a name and columns that are aligned to the right. */
export const line = (name: string, columns: readonly string[]): string =>
  (name.padEnd(NAME_WIDTH) + columns.map((text) => text.padStart(COLUMN_WIDTH)).join('')).trimEnd();

export const tableHead = (): string => line('', COLUMNS);

/** Returns the row as a line of text. */
export function tableLine(row: JudgedRow): string {
  const { name, unit, value, express, bare, raw, ratio, cpu_us, p99_ms, target, met, slowdown, note } = row;
  const text = line(`${name} (${unit})`, [
    figure(value),
    ...[express, bare, raw, ratio, cpu_us, p99_ms].map(figure),
    target ? targetText(target) : '',
    met === undefined ? '' : met ? 'yes' : 'NO',
    slowdown === undefined ? '' : `${slowdown.toFixed(2)}${slowdown > SLOWDOWN_MAX ? '!' : ''}`,
  ]);
  return note === undefined ? text : `${text}  ${note}`;
}

function targetText({ at_least, at_most }: Target): string {
  return at_least === undefined ? `≤ ${at_most}` : `≥ ${at_least}`;
}

/** Three significant digits, and no fraction from 100 on. Nothing for an unknown figure. */
export function figure(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '';
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return String(Number(value.toPrecision(3)));
}
