import type { Position } from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
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
  private readonly stopping = new AbortController();
  private readonly targets = new Map<Realm, { readonly from: Position; readonly to: Position }>();
  private awaited = true;

  constructor(
    private readonly runtime: Pick<Runtime, 'config' | 'log' | 'events' | 'views'>,
    private readonly pipelines: Pipelines,
  ) {
    void this.wait();
    void this.logProgress();
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
    this.stopping.abort();
  }

  private async wait(): Promise<void> {
    const { config, log } = this.runtime;
    const { START_TIMEOUT_S: timeout_s } = config;
    const caught_up = await this.pipelines.caughtUp(timeout_s * 1000);
    this.awaited = false;
    if (this.stopping.signal.aborted) return;
    if (caught_up) log.info('the documents have caught up with the log');
    else
      log.warn(
        { timeout_s },
        'the documents have not caught up with the log; reads may be out of date until they have',
      );
  }

  private async logProgress(): Promise<void> {
    const { signal } = this.stopping;
    await this.readTargets().catch(() => this.targets.clear());
    for (let is_behind = true; is_behind; ) {
      await pause(LOG_EVERY_MS, signal);
      if (signal.aborted) return;
      is_behind = await this.logRealms().catch(() => true);
    }
  }

  private async readTargets(): Promise<void> {
    const { events, views } = this.runtime;
    for (const realm of REALMS) {
      const version = await views[realm].current();
      const from = version ? least(await version.checkpoints()) : 0n;
      this.targets.set(realm, { from, to: await events[realm].head() });
    }
  }

  /** Logs how far the realms are that have not caught up. Returns false if all have. */
  private async logRealms(): Promise<boolean> {
    let is_behind = false;
    for (const realm of this.targets.keys()) {
      const version = await this.runtime.views[realm].current();
      const progress = version && this.progressOf(realm, await version.checkpoints());
      if (version && !progress) continue;
      is_behind = true;
      this.runtime.log.info({ realm, ...progress }, 'catching up with the log');
    }
    return is_behind;
  }
}
