import { TtlCache } from '../kernel/cache';
import type { ActiveView, ViewStore, ViewVersion } from '../ports/view-store';

/** How long a reader may go on with a version after another was activated; the old one is still fed then. */
const POINTER_TTL_MS = 500;

/** Looks up which version is active once per half second, not once per read. */
export class CachedActiveView implements ActiveView {
  private readonly store: ViewStore;
  private readonly active: TtlCache<ViewVersion>;

  constructor(store: ViewStore, now: () => number = Date.now) {
    this.store = store;
    this.active = new TtlCache({ ttl_ms: POINTER_TTL_MS, entries_max: 1, now, load: () => this.look() });
  }

  get lane_count(): number {
    return this.store.lane_count;
  }

  current(): Promise<ViewVersion | undefined> {
    return this.active.get('active');
  }

  private async look(): Promise<ViewVersion | undefined> {
    const active = (await this.store.versions()).find(({ status }) => status === 'active');
    return active && this.store.open(active.version);
  }
}
