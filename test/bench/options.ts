import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly mode: 'embedded' | 'servers' | 'traces' | 'generate' | 'budget';
  /** The commit to compare with. */
  readonly against: string | undefined;
  /** Only the reads and the write that show most. For `against`. */
  readonly short: boolean;
  /** Publications of the main store. */
  readonly size: number;
  /** The folder with the data of all sizes, which is kept between runs. */
  readonly data: string;
  /** Only rows whose name contains this text are measured. */
  readonly only: string | undefined;
  /** Shorter and fewer rounds, for development. */
  readonly quick: boolean;
  readonly json: boolean;
  readonly profile: boolean;
}

export const USAGE = `usage: npm run bench -- [options]
  --size N      publications: 1000, 100000 or 1000000; default: 1000, with --against and --budget 5000
  --only TEXT   only the rows whose name contains the text
  --quick       shorter and fewer rounds; compares nothing with 1,000 publications
  --json        prints the rows as JSON
  --profile     writes a flame graph of the service's process
  --data DIR    where catalogs and results are kept; default: ~/.cache/catalog-bench
  --against REF compares with another commit, and exits with 1 if something costs 10 % more
  --short       with --against: only a few rows, in about a minute
  --budget      prints what one read costs, by stage
  --generate    only makes the catalog
  --servers     measures on the configured servers instead
  --traces      measures what traces cost instead`;

const SIZE_MIN = 1_000;
/** Cold reads need so many different paths. */
const COLD_SIZE_MIN = 5_000;

/** Returns the options, or undefined if the arguments are not understood. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        size: { type: 'string' },
        against: { type: 'string' },
        short: { type: 'boolean', default: false },
        budget: { type: 'boolean', default: false },
        only: { type: 'string' },
        data: { type: 'string', default: join(homedir(), '.cache', 'catalog-bench') },
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        profile: { type: 'boolean', default: false },
        generate: { type: 'boolean', default: false },
        servers: { type: 'boolean', default: false },
        traces: { type: 'boolean', default: false },
      },
    });
    const { against, short, data, only, quick, json, profile } = values;
    const modes = (['generate', 'servers', 'traces', 'budget'] as const).filter((mode) => values[mode]);
    const reads_cold = against !== undefined || values.budget;
    const size = Number(values.size ?? (reads_cold ? COLD_SIZE_MIN : SIZE_MIN));
    if (!Number.isInteger(size) || size < (reads_cold ? COLD_SIZE_MIN : SIZE_MIN)) return undefined;
    if (modes.length + (against === undefined ? 0 : 1) > 1 || (short && against === undefined))
      return undefined;
    return {
      mode: modes[0] ?? 'embedded',
      against,
      short,
      size,
      data,
      only: only?.toLowerCase(),
      quick,
      json,
      profile,
    };
  } catch {
    return undefined;
  }
}

/** Name of a size's folder: `1000` → `1k`, `1000000` → `1m`. */
export function folderName(size: number): string {
  if (size % 1_000_000 === 0) return `${size / 1_000_000}m`;
  return size % 1_000 === 0 ? `${size / 1_000}k` : String(size);
}
