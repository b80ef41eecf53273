import { type Position, START } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { least } from '../../shared/catalog/events/positions';
import type { Environment } from '../../shared/catalog/realm';
import type { FreshnessHeaders } from '../../shared/http/pipeline';
import type { Reply } from '../../shared/http/route';
import { withTimeout } from '../../shared/kernel/async';
import { TtlCache } from '../../shared/kernel/cache';
import type { StoreId } from '../../shared/kernel/ids';
import { type ReadParts, readLags } from './pipeline-reading';

/** How far the documents of one environment are. */
interface Reading {
  /** By partition. */
  readonly checkpoints: readonly Position[];
  /** The last known lags: earlier ones if the log could not be read in time, undefined if it was never read. */
  readonly lags: Lags | undefined;
  /** The headers for a principal, by its stores. */
  readonly headers: WeakMap<readonly StoreId[], Reply['headers']>;
}

interface Lags {
  /** By partition, in seconds. */
  readonly seconds: readonly number[];
  /** When reading them began, in Unix milliseconds. */
  readonly read_at_ms: number;
}

/** How old a reading may be. */
const READING_MS = 1_000;
/** How long a read waits for the lag, once per reading, so that an outage of the log does not delay the others. */
const LAG_TIMEOUT_MS = 100;
const NOTHING_READ: Reading = { checkpoints: [], lags: undefined, headers: new WeakMap() };

/**
 * The headers of reads (docs/interface/reads.md#freshness). If the documents may be behind their checkpoints, the position is 0.
 */
export function freshnessHeaders(parts: ReadParts): FreshnessHeaders {
  const { now } = parts.system;
  const known = new Map<Environment, Lags>();
  const readings = new TtlCache<Reading>({
    ...{ ttl_ms: READING_MS, entries_max: 2, now },
    load: (environment) => read(parts, environment as Environment, known).catch(() => NOTHING_READ),
  });
  return async ({ environment, stores }) => {
    const reading = (await readings.get(environment)) ?? NOTHING_READ;
    const cached = reading.headers.get(stores);
    const headers = cached ?? headersOf(reading, stores);
    if (!cached) reading.headers.set(stores, headers);
    const age_ms = reading.lags ? now() - reading.lags.read_at_ms : 0;
    return age_ms > READING_MS ? { ...headers, 'X-Catalog-Lag-Age-Ms': String(age_ms) } : headers;
  };
}

/** Returns the headers without the age of the lags. */
function headersOf({ checkpoints, lags }: Reading, stores: readonly StoreId[]): Reply['headers'] {
  if (checkpoints.length === 0) return { 'X-Catalog-Position': String(START) };
  const partitions = stores.map((store_id) => partitionOf(store_id, checkpoints.length));
  const position = String(least(partitions.map((partition) => checkpoints[partition] ?? START)));
  if (!lags) return { 'X-Catalog-Position': position };
  const lag_s = Math.max(...partitions.map((partition) => lags.seconds[partition] ?? 0));
  return { 'X-Catalog-Position': position, 'X-Catalog-Lag-Ms': String(Math.round(lag_s * 1_000)) };
}

/** Reads the checkpoints and the lags. Keeps the lags in `known`, even if they arrive after the time limit. */
async function read(
  parts: ReadParts,
  environment: Environment,
  known: Map<Environment, Lags>,
): Promise<Reading> {
  const version = await parts.views[environment].current();
  // Another version answers reads that need the newest documents: this one is a copy that may be behind.
  if (version === undefined || version.upToDate) return NOTHING_READ;
  const checkpoints = await version.checkpoints();
  const read_at_ms = parts.system.now();
  const reading = readLags(parts, environment, checkpoints).then((lags) => {
    const { read_at_ms: known_ms = 0 } = known.get(environment) ?? {};
    if (read_at_ms < known_ms) return;
    known.set(environment, { seconds: lags.map(({ seconds }) => seconds), read_at_ms });
  });
  await withTimeout(reading, LAG_TIMEOUT_MS, () => undefined).catch(() => undefined);
  return { checkpoints, lags: known.get(environment), headers: new WeakMap() };
}
