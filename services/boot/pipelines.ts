import { leaseOwner } from '../../projections/engine/lease';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { RealmPipeline } from './realm-pipeline';
import type { Runtime } from './runtime';

export interface Pipelines {
  of(realm: Realm): RealmPipeline;
  /** Resolves true when every realm's documents are level with its log as it stands now, false after `timeout_ms`. */
  caughtUp(timeout_ms: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** Feeder and workers of every realm, in this process; they start in the background, each when its stores are there. */
export function startPipelines(runtime: Runtime): Pipelines {
  const owner = leaseOwner();
  const pipelines = new Map(REALMS.map((realm) => [realm, new RealmPipeline(runtime, realm, owner)]));
  const all = [...pipelines.values()];
  return {
    of: (realm) => pipelines.get(realm)!,
    stop: async () => {
      await Promise.all(all.map((pipeline) => pipeline.stop()));
    },
    caughtUp: async (timeout_ms) => {
      const late = AbortSignal.timeout(timeout_ms);
      await Promise.all(all.map((pipeline) => pipeline.caughtUp(late)));
      return !late.aborted;
    },
  };
}
