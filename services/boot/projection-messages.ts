import type { RebuildProgress } from '../../projections/pipeline';
import type { Realm } from '../../shared/catalog/realm';
import type { Config } from '../../shared/kernel/config';
import type { StoreHealth } from '../../shared/ports/event-store';
import type { Committed } from './commit-relay';
import type { CommittedFile } from './pipeline-runtime';

/* The messages between the service and its projection process (`projection-process.ts`, `main-projections.ts`). */

/** What the service sends. `start` comes first and once. */
export type ToProjections =
  | { readonly type: 'start'; readonly config: Config; readonly has_traces: boolean }
  | { readonly type: 'caught_up'; readonly call: number; readonly timeout_ms: number }
  | { readonly type: 'stop' }
  | Committed;

/** What the projection process sends. `caught_up` is the reply to the call of this number. */
export type FromProjections =
  /** A file has turned out to be damaged. */
  | { readonly type: 'damaged'; readonly file: string; readonly message: string }
  | { readonly type: 'pipelines'; readonly pipelines: readonly PipelineReport[] }
  | { readonly type: 'caught_up'; readonly call: number; readonly caught_up: boolean }
  | Committed;

/** The state of a pipeline. The process sends it when it changes. */
export interface PipelineReport {
  readonly realm: Realm;
  readonly state: 'starting' | 'running';
  /** Undefined while nothing is rebuilt. */
  readonly rebuilding: RebuildProgress | undefined;
  readonly health: StoresHealth;
}

/** The health of a realm's stores, as the process that projects sees it. */
export type StoresHealth = Readonly<Record<CommittedFile, StoreHealth>>;
