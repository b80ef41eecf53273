import type { VersionStatus, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { fedVersions } from './view-schema';

/** How old the list may be that events are given out by. */
const KEPT_MS = 100;

/** Within so long after a version has begun to follow, every process gives it what it gives to the active one. */
export const FOLLOWED_WITHIN_MS = 2 * KEPT_MS;

export interface FedVersion {
  readonly version: ViewVersion;
  readonly status: VersionStatus;
}

/**
 * The versions that new events go to, the active one last. Looked up once for all who ask within a while, which a
 * version that begins to follow waits for before it may become the active one.
 */
export class FedVersions {
  private readonly views: ViewStore;
  private readonly opened = new Map<number, ViewVersion>();
  private found: Promise<readonly FedVersion[]> | undefined;
  private asked_at_ms = Number.NEGATIVE_INFINITY;

  constructor(views: ViewStore) {
    this.views = views;
  }

  list(): Promise<readonly FedVersion[]> {
    if (this.found && performance.now() - this.asked_at_ms < KEPT_MS) return this.found;
    this.asked_at_ms = performance.now();
    const looking = this.look();
    this.found = looking;
    looking.catch(() => this.forget());
    return looking;
  }

  /** The active one; undefined while there is none that is fed. */
  async active(): Promise<ViewVersion | undefined> {
    return (await this.list()).find(({ status }) => status === 'active')?.version;
  }

  /** The next one who asks is told what is so now. */
  forget(): void {
    this.found = undefined;
  }

  private async look(): Promise<readonly FedVersion[]> {
    const infos = fedVersions(await this.views.versions());
    for (const number of this.opened.keys())
      if (!infos.some(({ version }) => version === number)) this.opened.delete(number);
    const fed: FedVersion[] = [];
    for (const { version: number, status } of infos) {
      const version = this.opened.get(number) ?? (await this.views.open(number));
      this.opened.set(number, version);
      fed.push({ version, status });
    }
    return fed;
  }
}
