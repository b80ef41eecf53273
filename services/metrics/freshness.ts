import { type Position, START } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { least } from '../../shared/catalog/events/positions';
import type { Environment } from '../../shared/catalog/realm';
import type { FreshnessHeaders } from '../../shared/http/pipeline';
import { withTimeout } from '../../shared/kernel/async';
import { TtlCache } from '../../shared/kernel/cache';
import { type ReadParts, readLags } from './pipeline-reading';

/** How far the documents of one environment are. */
interface Reading {
  /** By partition. */
  readonly checkpoints: readonly Position[];
  /** By partition, in seconds. Undefined if the log could not be read in time. */
  readonly lags_s: readonly number[] | undefined;
}

/** How old a reading may be. */
const READING_MS = 1_000;
/** How long a read waits for the lag, once per reading, so that an outage of the log does not delay the others. */
const LAG_TIMEOUT_MS = 100;
const NOTHING_READ: Reading = { checkpoints: [], lags_s: undefined };

/**
 * The headers of reads (docs/interface.md#freshness). If the documents may be behind their checkpoints, the position is 0.
 */
export function freshnessHeaders(parts: ReadParts): FreshnessHeaders {
  const readings = new TtlCache<Reading>({
    ...{ ttl_ms: READING_MS, entries_max: 2, now: parts.system.now },
    load: (environment) => read(parts, environment as Environment).catch(() => NOTHING_READ),
  });
  return async ({ environment, stores }) => {
    const { checkpoints, lags_s } = (await readings.get(environment)) ?? NOTHING_READ;
    if (checkpoints.length === 0) return { 'X-Catalog-Position': String(START) };
    const partitions = stores.map((store_id) => partitionOf(store_id, checkpoints.length));
    const position = least(partitions.map((partition) => checkpoints[partition] ?? START));
    const lag_s = lags_s && Math.max(...partitions.map((partition) => lags_s[partition] ?? 0));
    return {
      'X-Catalog-Position': String(position),
      ...(lag_s !== undefined && { 'X-Catalog-Lag-Ms': String(Math.round(lag_s * 1_000)) }),
    };
  };
}

async function read(parts: ReadParts, environment: Environment): Promise<Reading> {
  const version = await parts.views[environment].current();
  // Another version answers reads that need the newest documents: this one is a copy that may be behind.
  if (version === undefined || version.upToDate) return NOTHING_READ;
  const checkpoints = await version.checkpoints();
  const reading = readLags(parts, environment, checkpoints);
  const lags = await withTimeout(reading, LAG_TIMEOUT_MS, () => undefined).catch(() => undefined);
  return { checkpoints, lags_s: lags?.map(({ seconds }) => seconds) };
}
