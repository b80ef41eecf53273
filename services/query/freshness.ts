import type { Position } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { least } from '../../shared/catalog/events/positions';
import type { ApiRequest } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import { type DocumentReader, typed } from '../../shared/ports/document-reader';
import type { ActiveView, ViewVersion } from '../../shared/ports/view-store';

/** How long a read waits for the state it asks for (decisions §6, "Read your writes"). */
const MIN_POSITION_WAIT_MS = 2_000;
const RETRY_AFTER_S = 1;

/** No log gets there; stores that count in 64 bits need not be asked for more. */
const BEYOND_ALL: Position = 10n ** 19n;

/** The version that this whole read is answered from. Throws `unavailable` before anything was projected. */
export async function activeVersion(view: ActiveView): Promise<DocumentReader> {
  const version = await view.current();
  if (version) return typed(version);
  throw new CatalogError('unavailable', { retry_after_s: RETRY_AFTER_S });
}

/** `X-Catalog-Min-Position`, undefined where it was not sent. Throws `invalid_query` where it is no position. */
export function minPositionOf(request: ApiRequest): Position | undefined {
  const text = request.header('x-catalog-min-position');
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return least([BEYOND_ALL, BigInt(text)]);
  const constraint = 'a position as X-Catalog-Position gave it, in decimal digits';
  throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'X-Catalog-Min-Position', constraint }]);
}

/**
 * Waits until everything of these stores up to `position` is in the version's documents. Throws `unavailable`
 * after 2 s, so also for a position that the log has not reached.
 */
export async function waitForStores(
  version: Pick<ViewVersion, 'waitFor'>,
  lane_count: number,
  stores: readonly string[],
  position: Position,
): Promise<void> {
  const lanes = new Set(stores.map((store_id) => laneOf(store_id, lane_count)));
  const arrived = await Promise.all(
    [...lanes].map((lane) => version.waitFor(lane, position, MIN_POSITION_WAIT_MS)),
  );
  if (arrived.includes(false)) throw new CatalogError('unavailable', { retry_after_s: RETRY_AFTER_S });
}
