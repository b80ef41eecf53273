import type { Environment } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { CacheObserver } from '../../shared/http/metrics';
import { TtlCache } from '../../shared/kernel/cache';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import type { StoreDeps } from './context';
import { findStore } from './store/service';

/** How long a change of a store's status may go unnoticed by writes. */
const TTL_MS = 1_000;
const ENTRIES_MAX = 1_000;

/** Which stores may be written to, asked on every write. */
export class ActiveStores {
  private readonly caches: Readonly<Record<Environment, TtlCache<Store>>>;

  constructor(deps: StoreDeps & { readonly onCache?: CacheObserver }) {
    const cacheOf = (environment: Environment): TtlCache<Store> =>
      new TtlCache({
        ttl_ms: TTL_MS,
        entries_max: ENTRIES_MAX,
        now: deps.system.now,
        load: (id) => findStore(deps, { environment, id: id as StoreId }),
        onLookup: (hit) => deps.onCache?.('written_store', hit),
      });
    this.caches = { live: cacheOf('live'), test: cacheOf('test') };
  }

  /** Throws `store_not_found` for a store that is not there, or not active (decisions §3). */
  async require(environment: Environment, id: StoreId): Promise<void> {
    const store = await this.caches[environment].get(id);
    if (store?.status !== 'active') throw new CatalogError('store_not_found');
  }
}
