import type { ActiveStores } from './active-stores';
import type { StoreDeps } from './context';
import type { SettleDeps } from './settle';

/** What the handlers of writes work with. */
export interface RouteDeps extends StoreDeps, SettleDeps {
  readonly stores: ActiveStores;
}
