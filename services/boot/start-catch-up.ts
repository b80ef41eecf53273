import type { Position } from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import type { Pipelines } from './pipelines';
import type { Runtime } from './runtime';

/** How far the documents of a realm are on the way to the head that its log had at the start, in log positions. */
export interface CatchUpProgress {
  readonly done: number;
  readonly total: number;
}

/** How often a catch-up that takes longer than this is logged. */
const LOG_EVERY_MS = 5_000;

/**
 * The projection of what was in the log when this process started. Only when it has ended, all reads include the writes
 * from before the restart. The process is therefore not ready until then, but for at most START_TIMEOUT_S, because a long
 * log must not keep it out of service.
 */
export class StartCatchUp {
  private readonly targets = new Map<Realm, { readonly from: Position; readonly to: Position }>();
  private readonly logging: NodeJS.Timeout;
  private awaited = true;
  private stopped = false;

  constructor(
    private readonly runtime: Pick<Runtime, 'config' | 'log' | 'events' | 'views'>,
    pipelines: Pipelines,
  ) {
    void this.readTargets().catch(() => this.targets.clear());
    this.logging = setInterval(() => void this.logProgress().catch(() => {}), LOG_EVERY_MS);
    const { log, config } = runtime;
    const { START_TIMEOUT_S: timeout_s } = config;
    void pipelines.caughtUp(timeout_s * 1000).then((caught_up) => {
      this.awaited = false;
      if (this.stopped) return;
      if (caught_up) log.info('the documents have caught up with the log');
      else
        log.warn(
          { timeout_s },
          'the documents have not caught up with the log; reads may be out of date until they have',
        );
    });
  }

  /** Whether readiness waits for the catch-up. */
  get is_awaited(): boolean {
    return this.awaited;
  }

  /** Returns undefined if the documents have reached the head that the log had at the start. */
  progressOf(realm: Realm, checkpoints: readonly Position[]): CatchUpProgress | undefined {
    const target = this.targets.get(realm);
    const reached = least(checkpoints);
    if (!target || reached >= target.to) return undefined;
    const done = reached > target.from ? reached - target.from : 0n;
    return { done: Number(done), total: Number(target.to - target.from) };
  }

  /** Logs nothing any more. */
  stop(): void {
    this.stopped = true;
    clearInterval(this.logging);
  }

  private async readTargets(): Promise<void> {
    const { events, views } = this.runtime;
    for (const realm of REALMS) {
      const version = await views[realm].current();
      const from = version ? least(await version.checkpoints()) : 0n;
      this.targets.set(realm, { from, to: await events[realm].head() });
    }
  }

  /** Logs how far the realms are that have not caught up. */
  private async logProgress(): Promise<void> {
    let is_behind = false;
    for (const realm of this.targets.keys()) {
      const version = await this.runtime.views[realm].current();
      const progress = version && this.progressOf(realm, await version.checkpoints());
      if (version && !progress) continue;
      is_behind = true;
      if (!this.stopped) this.runtime.log.info({ realm, ...progress }, 'catching up with the log');
    }
    if (!is_behind) clearInterval(this.logging);
  }
}
