import { reasonOf } from '../../projections/engine/errors';
import type { Environment } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/pause';
import type { Runtime } from '../boot/runtime';
import { sweepMedia } from './sweep';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LEASE = 'media-sweep';

export interface SweepTimes {
  /** Until the first look, and between two: a process that just started has other things to do. */
  readonly look_ms: number;
  /** Between two sweeps. */
  readonly rest_ms: number;
}

const TIMES: SweepTimes = { look_ms: HOUR_MS, rest_ms: DAY_MS };

/**
 * Sweeps once a day for as long as the process runs. The lease is kept for the whole day, so that of several processes
 * one sweeps; where that one is gone, or could not, the next hour's first does.
 */
export async function sweepOnceADay(
  parts: Pick<Runtime, 'events' | 'blobs' | 'system' | 'viewStores' | 'log'>,
  environment: Environment,
  owner: string,
  signal: AbortSignal,
  times: Partial<SweepTimes> = {},
): Promise<void> {
  const { look_ms, rest_ms } = { ...TIMES, ...times };
  const { viewStores, log } = parts;
  const views = viewStores[environment];
  await pause(look_ms, signal);
  while (!signal.aborted) {
    try {
      if (await views.lease(LEASE, owner, rest_ms)) {
        const swept = await sweepMedia(parts, environment, { dry_run: false, signal });
        const deleted = swept.reduce((sum, area) => sum + area.deleted, 0);
        if (deleted > 0) log.info({ environment, deleted }, 'media files that nobody refers to were deleted');
        await pause(rest_ms, signal);
        continue;
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ environment, reason: reasonOf(error) }, 'media files were not swept');
      await views.release(LEASE, owner).catch(() => undefined);
    }
    await pause(look_ms, signal);
  }
  await views.release(LEASE, owner).catch(() => undefined);
}
