import type { Logger } from 'pino';
import { LogMatch } from '../../projections/engine/log-match';
import type { CommitNotifier } from '../../shared/adapters/sqlite/commit-notifier';
import { WAL_PAGES_MAX_UNATTENDED } from '../../shared/adapters/sqlite/connection';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import type { Config } from '../../shared/kernel/config';
import type { DamagedFileError } from '../../shared/kernel/errors';
import { Outages } from '../../shared/kernel/outages';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { ViewStore } from '../../shared/ports/view-store';
import type { Tracing } from '../tracing/tracing';
import {
  openEventStore,
  openViewStore,
  type StoreReports,
  type ViewStoreReports,
  type ViewStoreUsage,
} from './open-adapters';

/** What the pipelines of a process need: log and documents of each realm. */
export interface PipelineRuntime {
  readonly config: Config;
  readonly log: Logger;
  readonly system: System;
  readonly events: Readonly<Record<Realm, EventStore>>;
  readonly viewStores: Readonly<Record<Realm, ViewStore>>;
  /** Whether the documents of each realm were made from its log. If not, its log refuses appends. */
  readonly log_matches: Readonly<Record<Realm, LogMatch>>;
  readonly outages: Outages;
  /** Undefined in a process without traces. */
  readonly tracing: Tracing | undefined;
  close(): Promise<void>;
}

export interface RuntimeOptions extends ViewStoreUsage {
  readonly tracing?: Tracing | undefined;
  /** Reports of damaged files. Default: logs them. */
  readonly damage?: DamageReports | undefined;
  /** Exchanges notifications of commits with another process on the same embedded stores. */
  readonly commits?: CommitNotifiers | undefined;
}

/** The files of a realm whose commits another process waits for. */
export type CommittedFile = 'log' | 'documents';

/** Returns the notifier of a file. */
export type CommitNotifiers = (realm: Realm, file: CommittedFile) => CommitNotifier;

/** Closes what was opened so far, the last first. */
export class OpenedStores {
  private readonly opened: { close(): Promise<void> }[] = [];

  readonly track = async <T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> => {
    const resource = await opening;
    this.opened.push(resource);
    return resource;
  };

  readonly close = async (): Promise<void> => {
    await Promise.allSettled(this.opened.reverse().map((resource) => resource.close()));
  };
}

/** Opens log and documents of each realm for a process that only projects. If one fails, closes the others and rethrows. */
export async function openPipelineRuntime(
  config: Config,
  log: Logger,
  system: System,
  options: RuntimeOptions,
): Promise<PipelineRuntime> {
  const stores = new OpenedStores();
  try {
    const outages = new Outages(log, system.now);
    const reports = reportsTo(log, outages, options);
    const opened = await openLogsAndDocuments(config, log, reports, options, stores);
    const { logs: events, viewStores, log_matches } = opened;
    const { tracing } = options;
    return { config, log, system, events, viewStores, log_matches, outages, tracing, close: stores.close };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

export async function openLogsAndDocuments(
  config: Config,
  log: Logger,
  reports: StoreReports,
  { commits, only_reads = false }: RuntimeOptions,
  { track }: OpenedStores,
) {
  const reportsOf = (realm: Realm, file: CommittedFile): StoreReports =>
    commits ? { ...reports, commits: commits(realm, file) } : reports;
  const logs = await forEachName(REALMS, (realm) =>
    track(openEventStore(config, realm, reportsOf(realm, 'log'))),
  );
  const viewStores = await forEachName(REALMS, (realm) =>
    track(
      openViewStore(
        config,
        realm,
        { only_reads },
        { ...reportsOf(realm, 'documents'), ...logIndexing(log, realm) },
      ),
    ),
  );
  const log_matches = await forEachName(
    REALMS,
    async (realm) => new LogMatch({ realm, events: logs[realm], views: viewStores[realm], log }),
  );
  return { logs, viewStores, log_matches };
}

/** Returns the reports of a process. One with `commits` leaves the checkpoints of write-ahead logs to the other process. */
export function reportsTo(
  log: Logger,
  outages: Outages,
  { commits, damage = logDamage(log) }: RuntimeOptions,
): StoreReports {
  return { ...damage, outages, ...(commits && { wal_pages_max: WAL_PAGES_MAX_UNATTENDED }) };
}

/** Takes what adapters notice about damaged files. */
export interface DamageReports extends Pick<StoreReports, 'onRecreated'> {
  readonly onDamage: (damage: Pick<DamagedFileError, 'file' | 'message'>) => void;
}

/** Logs each damaged file once, and each file that was replaced by an empty one. */
export function logDamage(log: Logger): DamageReports {
  const logged = new Set<string>();
  return {
    onDamage: (error) => {
      if (!logged.has(error.file)) log.error({ file: error.file }, error.message);
      logged.add(error.file);
    },
    onRecreated: ({ file, moved_to }) =>
      log.warn({ file, moved_to }, 'file was damaged; moved it aside and created an empty one'),
  };
}

/** Logs how far the indexes of full collections are, which takes hours in a large store. */
function logIndexing(log: Logger, realm: Realm): ViewStoreReports {
  return {
    onIndexing: (version, progress) =>
      log.info({ realm, version, ...progress }, 'creating the indexes of a view version'),
    onCleanUpFailure: (error) =>
      log.warn({ realm, err: error }, 'creating indexes or dropping old view versions failed; retrying'),
  };
}

/** Calls `make` for each name, one after another. */
export async function forEachName<Name extends string, T>(
  names: readonly Name[],
  make: (name: Name) => Promise<T>,
): Promise<Record<Name, T>> {
  const made: Partial<Record<Name, T>> = {};
  for (const name of names) made[name] = await make(name);
  return made as Record<Name, T>;
}
