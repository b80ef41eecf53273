import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchOptions } from './options';
import { folderName } from './options';
import { type JudgedRow, judge, type Row, tableHead, tableLine } from './table';
import { TARGETS } from './targets';

const FILE = 'results.json';

/** Collects rows, prints each as soon as it is measured, and keeps those of a full run for later comparisons. */
export class Report {
  private readonly options: BenchOptions;
  private readonly rows: JudgedRow[] = [];
  private readonly of_1000: readonly Row[] | undefined;

  constructor(options: BenchOptions) {
    this.options = options;
    this.of_1000 = options.quick ? undefined : readRows(join(options.data, folderName(1_000), FILE));
    if (!options.json) console.log(tableHead());
  }

  /** Whether a row of this name is asked for. */
  wants(...names: readonly string[]): boolean {
    const { only } = this.options;
    return only === undefined || names.some((name) => name.toLowerCase().includes(only));
  }

  add(row: Row): void {
    if (!this.wants(row.name)) return;
    const judged = judge(row, this.options.size, this.of_1000);
    this.rows.push(judged);
    if (!this.options.json) console.log(tableLine(judged));
  }

  /** Prints the rows with `--json`. Throws if a full run has not measured everything that has a target. */
  finish(): void {
    const { json, quick, data, size, only } = this.options;
    const missing = Object.keys(TARGETS).filter((name) => !this.rows.some((row) => row.name === name));
    if (only === undefined && missing.length > 0) throw new Error(`not measured: ${missing.join('; ')}`);
    if (json) console.log(JSON.stringify({ size, quick, node: process.version, rows: this.rows }, null, 2));
    if (quick) return;
    const file = join(data, folderName(size), FILE);
    const measured = new Set(this.rows.map(({ name }) => name));
    const others = (readRows(file) ?? []).filter(({ name }) => !measured.has(name));
    writeFileSync(file, JSON.stringify([...others, ...this.rows], null, 2));
  }
}

function readRows(file: string): Row[] | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Row[];
  } catch {
    return undefined;
  }
}
