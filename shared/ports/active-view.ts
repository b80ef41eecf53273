import type { ViewStore, ViewVersion } from './view-store';

/** How long a reader may go on with a version after another was activated; the old one is still fed then. */
const POINTER_TTL_MS = 500;

/** A reader's hold on a view store's active version: one look at the pointer per half second, not one per read. */
export class ActiveView {
  private readonly store: ViewStore;
  private readonly now: () => number;
  private opened: ViewVersion | undefined;
  private looked_at_ms = Number.NEGATIVE_INFINITY;
  private looking: Promise<ViewVersion | undefined> | undefined;

  constructor(store: ViewStore, now: () => number = Date.now) {
    this.store = store;
    this.now = now;
  }

  get lane_count(): number {
    return this.store.lane_count;
  }

  /** The active version; undefined in a store that was never projected to. */
  async current(): Promise<ViewVersion | undefined> {
    if (this.opened && this.now() - this.looked_at_ms < POINTER_TTL_MS) return this.opened;
    this.looking ??= this.look().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private async look(): Promise<ViewVersion | undefined> {
    const active = (await this.store.versions()).find((version) => version.status === 'active');
    if (!active) return undefined;
    if (this.opened?.version !== active.version) this.opened = await this.store.open(active.version);
    this.looked_at_ms = this.now();
    return this.opened;
  }
}
