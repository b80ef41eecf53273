import type { Position } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import type { Environment } from '../../shared/catalog/realm';
import type { ApiRequest } from '../../shared/http/route';
import type { StoreId } from '../../shared/kernel/ids';
import type { Logger } from '../../shared/kernel/log';
import type { ActiveView } from '../../shared/ports/active-view';

/** How long a write's answer waits for its own event to be projected (design, "Read your writes"). */
const WAIT_MS = 1_000;

export interface SettleDeps {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly log: Logger;
}

/**
 * What every write's answer says of when it can be read: `X-Catalog-Position`. Resolves when the documents hold the
 * write, or after `WAIT_MS`, or at once on `Prefer: respond-async` (RFC 7240 §4.1) and in a store never projected to.
 * `repeated`: an earlier run of the operation wrote it, and the answer says so. Never fails: the write is done.
 */
export async function settle(
  deps: SettleDeps,
  request: ApiRequest,
  store_id: StoreId,
  position: Position,
  repeated = false,
): Promise<Record<string, string>> {
  const headers = {
    'X-Catalog-Position': String(position),
    ...(repeated ? { 'Idempotent-Replayed': 'true' } : {}),
  };
  if (prefersAsync(request.header('prefer'))) return { ...headers, 'Preference-Applied': 'respond-async' };
  try {
    const view = deps.views[request.principal.environment];
    if (!(await within(WAIT_MS, projected(view, store_id, position))))
      deps.log.warn({ store_id, position: headers['X-Catalog-Position'] }, 'write not projected yet');
  } catch (error) {
    deps.log.warn({ err: error, store_id }, 'could not wait for the projection of a write');
  }
  return headers;
}

/** True also where nothing was ever projected: there is nothing to wait for then. */
async function projected(view: ActiveView, store_id: StoreId, position: Position): Promise<boolean> {
  const version = await view.current();
  if (!version) return true;
  return version.waitFor(laneOf(store_id, view.lane_count), position, WAIT_MS);
}

/** A view store that is away may take longer to say so than the answer may wait. */
async function within(timeout_ms: number, work: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeout_ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function prefersAsync(prefer: string | undefined): boolean {
  return (prefer ?? '')
    .split(/[,;]/)
    .some((preference) => preference.trim().toLowerCase() === 'respond-async');
}
